//! Carrying out one intent: its steps, one after the other, until it is done or undone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_ledger::Intent;

use super::calls::Place;
use super::core::Core;
use crate::budget::Unit;
use crate::guards;
use crate::names;
use crate::port::{self, Assign, CallError, Failure};
use crate::steps::{self, Aim, Answer, Heard, Memory, Order, Reached, Request, Step};

/// The wait before a describe is repeated that failed.
const AGAIN: Duration = Duration::from_secs(2);

impl Core {
    /// Carries out an intent to its end.
    pub(super) async fn carry(&self, intent: Arc<Intent>, is_resumed: bool) {
        let order = match self.order(&intent).await {
            Ok(order) => order,
            Err(wrong) => return self.undone(&intent, &wrong.to_string(), None).await,
        };
        let mut reached = Reached::of(&intent.reached);
        let mut memory = if is_resumed { Memory::resumed() } else { Memory::new() };
        let mut kept = reached.clone();
        loop {
            if reached != kept {
                self.keep(&intent, &reached).await;
                kept.clone_from(&reached);
            }
            let facts = self.facts(&order, &reached).await;
            let step = steps::next(&order, &reached, &memory, &facts);
            self.note(&intent, &step);
            match step {
                Step::Wait(wait) => {
                    self.rest(wait).await;
                    steps::heard(&order, &mut reached, &mut memory, &facts, &Heard::Waited);
                }
                Step::Look(which) => match self.describe(&which).await {
                    Ok((shown, asked)) => {
                        let shown = shown.first();
                        if let Some(shown) = shown {
                            self.state().seen.shown(shown, asked);
                        }
                        let facts = steps::Facts { now: self.now(), ..facts };
                        steps::heard(&order, &mut reached, &mut memory, &facts, &Heard::Shown(shown));
                    }
                    Err(_) => self.rest(AGAIN).await,
                },
                Step::Call(request) => {
                    if steps::takes(&order, &request, &reached)
                        && let Err(why) = self.may_take(&order, &intent).await
                    {
                        return self.undone(&intent, &why, None).await;
                    }
                    if let Request::Attach { device, .. } = &request {
                        self.state().devices.insert(order.id.clone(), *device);
                    }
                    steps::prepare(&request, &mut reached, &facts);
                    if reached != kept {
                        self.keep(&intent, &reached).await;
                        kept.clone_from(&reached);
                    }
                    let answer = self.send(&order, &request).await;
                    self.learn_from(&order, &request, &answer);
                    let facts = steps::Facts { now: self.now(), ..facts };
                    let heard = Heard::Answer(&request, &answer);
                    steps::heard(&order, &mut reached, &mut memory, &facts, &heard);
                }
                Step::Done(change) => return self.done(&intent, &change).await,
                Step::Undone(why) => return self.undone(&intent, &why, reached.interface.as_deref()).await,
            }
        }
    }

    /// Asks both witnesses once more, right before something is taken.
    async fn may_take(&self, order: &Order, intent: &Intent) -> Result<(), String> {
        let book = self.book().await.ok_or("the network is gone")?;
        let (situation, mut taken) = (self.situation(&book), BTreeMap::new());
        match &order.aim {
            Aim::Detach { interface } => {
                guards::detach(&situation, &*self.witness, interface, &book, &mut taken)
            }
            _ => {
                let range = intent.attributes.get(names::RANGE).unwrap_or_default();
                guards::release(&situation, &*self.witness, range, &book, &mut taken)
            }
        }
    }

    /// Makes what an intent has reached durable.
    async fn keep(&self, intent: &Intent, reached: &Reached) {
        loop {
            let kept = match reached.attributes() {
                Ok(attributes) => self.engine.effect_reached(&intent.id, attributes).await,
                Err(error) => {
                    tracing::error!(intent = %intent.id, %error, "what an intent has reached cannot be kept");
                    return;
                }
            };
            match kept {
                Ok(()) => return,
                // Without it, the next call must not be made.
                Err(error) => tracing::warn!(intent = %intent.id, %error, "waiting for the checkpoint"),
            }
            self.rest(AGAIN).await;
        }
    }

    async fn send(&self, order: &Order, request: &Request) -> Result<Answer, CallError> {
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
            (Request::Detach { attachment }, _) => {
                let sent = self.call("DetachNetworkInterface", None, || ec2.detach(attachment)).await;
                sent.map(|()| Answer::Done)
            }
            (Request::Delete { interface }, _) => {
                let sent = self.call("DeleteNetworkInterface", None, || ec2.delete(interface)).await;
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

    /// What an assignment brought. An answer may name all addresses of the interface, and its own is no pod's.
    fn without_own(&self, interface: &str, mut new: Vec<IpNet>) -> Vec<IpNet> {
        let state = self.state();
        let facts = state.seen.get(interface).and_then(|known| known.facts.as_ref());
        if let Some(own) = facts.and_then(|facts| facts.primary_address) {
            new.retain(|net| !net.contains(&own));
        }
        new
    }

    /// The answer to a call is evidence of its own effect.
    fn learn_from(&self, order: &Order, request: &Request, answer: &Result<Answer, CallError>) {
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
                self.look_again.notify_one();
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
                    Assign::Nothing | Assign::Ipv6Prefixes(_) => return,
                };
                state.full = Some((interface.clone(), asked));
                self.look_again.notify_one();
            }
            (_, Err(error), _) if error.failure == Failure::NotFound => self.look_again.notify_one(),
            _ => {}
        }
    }

    /// Remembers what an intent is doing, for people.
    fn note(&self, intent: &Intent, step: &Step) {
        let words = match step {
            Step::Call(request) => match request {
                Request::Create => "create".to_owned(),
                Request::Attach { interface, device } => format!("attach {interface} at {device}"),
                Request::DeleteWithInstance { interface, .. } => {
                    format!("delete {interface} with the instance")
                }
                Request::Assign => "assign".to_owned(),
                Request::Unassign => "unassign".to_owned(),
                Request::Detach { attachment } => format!("detach {attachment}"),
                Request::Delete { interface } => format!("delete {interface}"),
            },
            Step::Look(_) => "look".to_owned(),
            Step::Wait(wait) => format!("wait {} s", wait.as_secs()),
            Step::Done(_) => "done".to_owned(),
            Step::Undone(why) => format!("undone: {why}"),
        };
        tracing::debug!(intent = %intent.id, kind = intent.kind.name(), step = words);
        let now = self.now();
        self.state().steps.insert(intent.id.to_string(), (words, now));
    }
}
