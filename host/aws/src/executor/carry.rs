//! Carrying out one intent: its calls of EC2, and what each says.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;

use super::action::Action;
use super::calls::{Place, not_sent};
use super::core::AwsCore;
use crate::budget::Unit;
use crate::guards;
use crate::names;
use crate::port::{self, Assign, CallError, Failure};
use crate::steps::{
    self, Aim, Answer, IntentMemory, IntentOrder, IntentProgress, Request, StepEvent, StepFacts, Taking,
};

/// The wait before a describe is repeated that failed: that was not answered, and that was refused.
const AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15));

/// For how long the witnesses' word about a call counts. A full disk may hold the call up for longer.
const CURRENT: Duration = Duration::from_secs(5);

/// An intent that is being carried out.
pub(super) struct Work {
    pub(super) order: IntentOrder,
    /// The range that it takes, if it takes one.
    pub(super) range: String,
    pub(super) reached: IntentProgress,
    pub(super) memory: IntentMemory,
    /// Further facts that the next step depends on.
    pub(super) facts: StepFacts,
    /// The time at which the witnesses were asked about the next call; `None` if it takes nothing away.
    pub(super) witnessed: Option<Duration>,
}

impl Work {
    pub(super) fn hear(&mut self, what: &StepEvent<'_>) {
        steps::heard(&self.order, &mut self.reached, &mut self.memory, &self.facts, what);
    }
}

impl AwsCore {
    /// Checks an action once more, and writes down what must be durable before it begins.
    pub(super) async fn prepared(&self, work: &mut Work, action: &Action) -> Result<(), String> {
        let Action::Call(request) = action else { return Ok(()) };
        let Work { order, range, reached, facts, witnessed, .. } = work;
        *witnessed = None;
        if let Some(taking) = steps::takes(order, request, reached) {
            // Somebody may come during the wait.
            self.until_allowed(removing(&order.aim)).await;
            match taking {
                Taking::First => self.may_take(order, range).await?,
                Taking::Again => self.until_unused(order).await,
            }
            *witnessed = Some(self.now());
        }
        if let Request::Attach { device, .. } = request {
            self.state().devices.insert(order.id.clone(), *device);
        }
        steps::prepare(request, reached, facts);
        Ok(())
    }

    /// Acts on EC2, and takes in what it says.
    pub(super) async fn acted(&self, work: &mut Work, action: Action) {
        match action {
            Action::Look(which) => match self.look_for(&work.order, &which).await {
                Ok((shown, asked)) => {
                    let shown = shown.first();
                    if let Some(shown) = shown {
                        self.state().seen.shown(shown, asked);
                    }
                    work.facts.now = self.now();
                    work.hear(&StepEvent::Shown(shown));
                }
                Err(error) => {
                    let is_refused = !matches!(error.failure, Failure::Unknown | Failure::Throttled);
                    let wait = if is_refused { AGAIN.1 } else { AGAIN.0 };
                    let wait = self.state().budget.around(wait);
                    self.tools.sleep(wait).await;
                }
            },
            Action::Call(request) => {
                let is_old = |at: Duration| self.now().saturating_sub(at) > CURRENT;
                let answer = match work.witnessed {
                    Some(at) if is_old(at) => {
                        Err(not_sent(removing(&work.order.aim), "the witnesses' word is old"))
                    }
                    _ => self.send(&work.order, &request).await,
                };
                self.learn_from(&work.order, &request, &answer);
                work.facts.now = self.now();
                work.hear(&StepEvent::Answer(&request, &answer));
            }
        }
    }

    /// Asks both witnesses once more, right before something is taken.
    async fn may_take(&self, order: &IntentOrder, range: &str) -> Result<(), String> {
        let book = self.tools.book().await.ok_or("the network is gone")?;
        let (situation, mut taken) = (self.situation_of(&book), BTreeMap::new());
        match &order.aim {
            Aim::Detach { interface } => {
                guards::detach(&situation, &*self.witness, interface, &book, &mut taken)
            }
            _ => guards::release(&situation, &*self.witness, range, &book, &mut taken),
        }
    }

    /// Waits until nobody uses what a call takes that was made before. Somebody may have come since whom the ledger does not know, such as a pod
    /// of another IPAM, and what EC2 has done meanwhile is not known: neither is it taken again, nor is it given back.
    async fn until_unused(&self, order: &IntentOrder) {
        let mut told = None;
        loop {
            let Some(book) = self.tools.book().await else { return };
            let checked = match &order.aim {
                Aim::Detach { interface } => {
                    guards::in_use(&self.situation_of(&book), &*self.witness, interface, None, &book)
                }
                Aim::Release { interface, net } => {
                    guards::in_use(&self.situation_of(&book), &*self.witness, interface, Some(*net), &book)
                }
                Aim::Attach { .. } | Aim::Assign { .. } => Ok(()),
            };
            drop(book);
            let Err(why) = checked else { return };
            if told.as_ref() != Some(&why) {
                tracing::warn!(intent = order.id, why, "waiting before taking it again");
            }
            told = Some(why);
            let wait = self.state().budget.around(AGAIN.1);
            self.tools.sleep(wait).await;
        }
    }

    async fn send(&self, order: &IntentOrder, request: &Request) -> Result<Answer, CallError> {
        let ec2 = &*self.ec2;
        match (request, &order.aim) {
            (Request::Create, Aim::Attach { creation, .. }) => {
                let place = Some((creation.subnet.clone(), Unit::of(&creation.carries)));
                let created = self.call("CreateNetworkInterface", place, || ec2.create(creation)).await;
                created.map(|created| Answer::Created(Box::new(created)))
            }
            (Request::Attach { interface, device }, _) => {
                let attach = port::Attach {
                    interface: interface.clone(),
                    instance: order.instance.clone(),
                    card: 0,
                    device: *device,
                };
                let attached = self.call("AttachNetworkInterface", None, || ec2.attach(&attach)).await;
                attached.map(Answer::Attached)
            }
            (Request::DeleteWithInstance { interface, attachment }, _) => {
                let send = || ec2.delete_with_instance(interface, attachment);
                self.call("ModifyNetworkInterfaceAttribute", None, send).await.map(|()| Answer::Done)
            }
            (Request::Assign, Aim::Assign { interface, what }) => {
                let action = match what {
                    Assign::Ipv6Prefixes(_) => "AssignIpv6Addresses",
                    _ => "AssignPrivateIpAddresses",
                };
                let place = self.place_of(interface, Unit::of(what));
                let sent = self.call(action, place, || ec2.assign(interface, what)).await;
                sent.map(|new| Answer::Assigned(self.without_own(interface, new)))
            }
            (Request::Unassign, Aim::Release { interface, net }) => {
                self.unassign(interface, *net).await.map(|()| Answer::Done)
            }
            (Request::Detach { attachment }, aim) => {
                let send = || ec2.detach(attachment);
                let sent = match aim {
                    Aim::Detach { .. } => self.take(names::DETACH, send).await,
                    // What an intent has just made is nobody's.
                    _ => self.call(names::DETACH, None, send).await,
                };
                sent.map(|()| Answer::Done)
            }
            (Request::Delete { interface }, _) => {
                let sent = self.call(names::DELETE, None, || ec2.delete(interface)).await;
                sent.map(|()| Answer::Done)
            }
            (Request::Create | Request::Assign | Request::Unassign, _) => Err(CallError {
                action: "none",
                failure: Failure::Refused,
                code: "Internal".to_owned(),
                message: "the step is not one of this intent".to_owned(),
                retry_after: None,
            }),
        }
    }

    fn place_of(&self, interface: &str, unit: Unit) -> Place {
        let state = self.state();
        let facts = state.seen.get(interface).and_then(|known| known.facts.as_ref());
        facts.map(|facts| (facts.subnet.clone(), unit))
    }

    /// Removes the interface's own address, which pods cannot use, from the result of an assignment: an answer may name all addresses.
    fn without_own(&self, interface: &str, mut new: Vec<IpNet>) -> Vec<IpNet> {
        let state = self.state();
        let facts = state.seen.get(interface).and_then(|known| known.facts.as_ref());
        if let Some(own) = facts.and_then(|facts| facts.primary_address) {
            new.retain(|net| !net.contains(&own));
        }
        new
    }

    /// The answer to a call is evidence of its own effect.
    fn learn_from(&self, order: &IntentOrder, request: &Request, answer: &Result<Answer, CallError>) {
        let now = self.now();
        let mut state = self.state();
        match (request, answer, &order.aim) {
            (Request::Assign, Ok(Answer::Assigned(new)), Aim::Assign { interface, .. }) => {
                state.seen.assigned(interface, new, now);
            }
            (Request::Unassign, Ok(_), Aim::Release { interface, net }) => {
                state.seen.unassigned(interface, *net, now);
            }
            (Request::Attach { .. }, Err(error), _) if error.failure == Failure::InstanceFull => {
                state.is_full = true;
                state.questions.hint();
                self.tools.look_again();
            }
            (Request::Attach { .. }, Err(error), Aim::Attach { creation, .. })
                if error.failure == Failure::InterfaceFull =>
            {
                // So many do not fit beside the interface's own.
                if let (Assign::Addresses(most) | Assign::Prefixes(most), Some(limits)) =
                    (&creation.carries, &mut state.limits)
                {
                    limits.addresses = limits.addresses.min(*most);
                }
            }
            (_, Err(error), Aim::Assign { interface, what }) if error.failure == Failure::InterfaceFull => {
                let asked = match what {
                    Assign::Addresses(count) | Assign::Prefixes(count) => *count,
                    Assign::Ipv6Prefixes(count) => return state.ipv6_is_full(interface, *count),
                    Assign::Nothing => return,
                };
                state.full = Some((interface.clone(), asked));
                state.questions.hint();
                self.tools.look_again();
            }
            (_, Err(error), _) if error.failure == Failure::NotFound => {
                state.questions.hint();
                self.tools.look_again();
            }
            _ => {}
        }
    }
}

/// The call that takes away what an intent removes.
fn removing(aim: &Aim) -> &'static str {
    match aim {
        Aim::Release { net, .. } => names::unassigning(*net),
        Aim::Attach { .. } | Aim::Assign { .. } | Aim::Detach { .. } => names::DETACH,
    }
}
