//! Addresses of claims on this node.
//!
//! ```text
//!   a pod names a claim ──▶ asked ──▶ GET the claim: its block ──▶ a turn is drawn, and said in NodeIPAM
//!                                                                       │ GET the block: the turn is this node's; GET the space
//!                                                                       ▼
//!   said no longer ◀── record gone ◀── no pod has the address ◀── asked back ── held: recorded with the turn, and in the network
//! ```
//!
//! The loop of the agent does all of it, one thing after the other. An ADD only notes that its pod asks, and looks at what the ledger has: while the
//! claim's address is held here, it needs no API server.
//!
//! The two pods of a virtual machine that moves have a turn each, on two nodes. Once the machine runs in the pod here, the agent says so, and the
//! operator lets the turns change places.

mod ending;
mod taking;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::node::MAX_HELD;
use tenure_leases::{ClaimTurn, HolderIdentity, TurnGuest, TurnState};
use tenure_types::PodIdentity;
use tokio::time::sleep;

use crate::agent::accepting::AgentError;
use crate::agent::asked::{AskedClaim, ClaimAddress, ClaimWait, ClaimingPod};
use crate::agent::core::AgentCore;
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::usage::labelled;
use crate::pods::guest_of;
use crate::pools::ClaimName;

/// How long an ADD waits for the address of its claim. The runtime tries again.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The same while another node has it.
const LONGEST_WAIT_FOR_OTHERS: Duration = Duration::from_secs(3);

/// The same while the API server cannot be reached.
const FIRST_LOOK: Duration = Duration::from_millis(1500);

/// How often a waiting ADD looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long an address that was just taken waits for the ADD that asked for it, although others want it too.
const FIRST_USE: Duration = Duration::from_secs(2);

/// How long a turn that no pod asks for any more is still wanted.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// How long a pass looks at claims in the API server, at one at least. The blocks of all other pods wait meanwhile.
const LOOKS_FOR: Duration = Duration::from_secs(1);

/// The addresses of a claim, once they are this node's: one, or one of each family.
///
/// # Errors
/// [`ClaimWait`] if they are not within seconds.
pub(crate) async fn addresses_of(
    core: &AgentCore,
    claim: &ClaimName,
    pod: &ClaimingPod,
) -> Result<Vec<ClaimAddress>, ClaimWait> {
    let begin = core.now();
    loop {
        if let Some(found) = core.held_claim(claim, pod).await {
            return Ok(found);
        }
        let (is_news, wait) = core.ask(claim, pod);
        if is_news {
            core.wake.notify_one();
        }
        let waited = core.now().saturating_sub(begin);
        let trouble = core.state().trouble.clone();
        let longest = match (&trouble, &wait) {
            (Some(_), _) => FIRST_LOOK,
            (None, Some(ClaimWait::PreviousOwner(_))) => LONGEST_WAIT_FOR_OTHERS,
            (None, _) => LONGEST_WAIT,
        };
        if waited >= longest {
            let unheard = || {
                let why = trouble.unwrap_or_else(|| "the API server has not answered yet".to_owned());
                ClaimWait::Pending(format!("the address of claim {claim} is not this node's yet: {why}"))
            };
            return Err(wait.unwrap_or_else(unheard));
        }
        sleep(LOOK_EVERY).await;
    }
}

impl AgentCore {
    /// The claim's addresses, if the ledger has all of them and the pod may use them.
    async fn held_claim(&self, claim: &ClaimName, pod: &ClaimingPod) -> Option<Vec<ClaimAddress>> {
        let is_its = |lease: &HeldLease| lease.turn.as_ref().is_some_and(|turn| turn.claim == *claim);
        let leases: Vec<HeldLease> = self.leases().into_values().filter(is_its).collect();
        let all = leases.iter().flat_map(|lease| &lease.turn).map(|turn| turn.addresses).max()?;
        if leases.len() < all {
            return None;
        }
        let mut addresses = Vec::new();
        for lease in leases {
            if !self.is_usable(&lease, pod).await {
                return None;
            }
            let pool = lease.pool.name.to_string();
            addresses.push(ClaimAddress { address: lease.cidr().addr(), pool });
        }
        Some(addresses)
    }

    /// Whether a pod may use the address of a claim that the ledger has. One that the operator asks back is for nobody else than the pod of a
    /// virtual machine for which the turn began: the other pod of that machine has a turn of its own. The turn of one machine is for no other, since
    /// the block names the machine, and another pod of it may have the address too.
    async fn is_usable(&self, lease: &HeldLease, pod: &ClaimingPod) -> bool {
        let Some(turn) = &lease.turn else { return false };
        let is_for_pod = turn.guest.is_some() && turn.pod == pod.name;
        let is_asked_back = self.asked_back().contains(&lease.name.to_string());
        if lease.hold != LeaseHold::Open || turn.guest != pod.guest || (is_asked_back && !is_for_pod) {
            return false;
        }
        let Some(book) = self.book_of(&lease.pool.name).await else { return false };
        labelled(&book).any(|(_, view, cidr)| cidr == lease.cidr() && !view.draining)
    }

    /// Notes that a pod asks for a claim; returns whether that is news, and the answer so far.
    fn ask(&self, claim: &ClaimName, pod: &ClaimingPod) -> (bool, Option<ClaimWait>) {
        let now = self.now();
        let mut state = self.state();
        if let Some(asked) = state.asked.get_mut(claim) {
            asked.at = now;
            if asked.pod.guest != pod.guest {
                // A turn is one of the virtual machine for which it was said first.
                asked.turns.clear();
            }
            if asked.pod != *pod {
                asked.pod = pod.clone();
            }
            return (false, asked.wait.clone());
        }
        state.asked.insert(claim.clone(), AskedClaim::new(pod.clone(), now));
        (true, None)
    }

    /// The names of the claims' blocks that the operator asks back.
    fn asked_back(&self) -> BTreeSet<String> {
        let state = self.state();
        let status = state.object.iter().flat_map(|object| &object.status);
        status.flat_map(|status| &status.claims_asked_back).cloned().collect()
    }

    /// The turns to say: those of the ledger, and those that pods want.
    pub(crate) fn claim_turns(&self) -> Vec<ClaimTurn> {
        let held = self.leases().into_values().filter_map(|lease| {
            let guest = self.guest(lease.turn.as_ref()?);
            let LeaseTurn { turn, pod, .. } = lease.turn?;
            Some(ClaimTurn { block: lease.name, turn, state: TurnState::Held, pod, guest })
        });
        let mut turns: Vec<ClaimTurn> = held.collect();
        let state = self.state();
        for asked in state.asked.values() {
            for (block, turn) in &asked.turns {
                if turns.iter().all(|known| known.block != *block) {
                    let ClaimingPod { name: pod, guest } = asked.pod.clone();
                    let guest = guest.map(|uid| TurnGuest { uid, runs: false });
                    let (block, turn, state) = (block.clone(), *turn, TurnState::Wanted);
                    turns.push(ClaimTurn { block, turn, state, pod, guest });
                }
            }
        }
        turns
    }

    /// The virtual machine of a turn, and whether it runs in the turn's pod as far as the pod's labels are known.
    fn guest(&self, turn: &LeaseTurn) -> Option<TurnGuest> {
        let uid = turn.guest?;
        let (namespace, name) = turn.pod.split_once('/')?;
        let pod = PodIdentity { namespace: namespace.into(), name: name.into(), uid: "".into() };
        let labels = self.pods.as_ref().and_then(|pods| pods.known_labels(&pod));
        let guest = labels.and_then(|labels| guest_of(&labels, &self.settings.node));
        Some(TurnGuest { uid, runs: guest.is_some_and(|guest| guest.uid == uid && guest.runs) })
    }

    /// Ends turns that others wait for, and takes those that pods of this node wait for.
    pub(crate) async fn claims(&self, me: &HolderIdentity) -> Result<(), AgentError> {
        let now = self.now();
        {
            let mut state = self.state();
            state.asked.retain(|_, asked| asked.is_taking || now.saturating_sub(asked.at) < FORGET_AFTER);
            state.taken.retain(|_, (_, at)| now.saturating_sub(*at) < FIRST_USE);
        }
        let asked_back = self.asked_back();
        for lease in self.leases().into_values() {
            let Some(turn) = &lease.turn else { continue };
            let is_others = lease.hold == LeaseHold::Contested;
            let is_wanted = asked_back.contains(&lease.name.to_string()) || self.is_of_another_machine(turn);
            if is_others || (is_wanted && !self.is_about_to_use(turn)) {
                self.let_go(&lease).await?;
            }
        }
        if self.claim_turns().len() > MAX_HELD {
            self.has_room(&[]).await?;
        }
        let looks =
            |(claim, asked): (&ClaimName, &AskedClaim)| (asked.looks.next, claim.clone(), asked.pod.clone());
        let mut asked: Vec<_> = self.state().asked.iter().map(looks).collect();
        // What does not get its turn in this pass is first in the next one.
        asked.sort_by_key(|(next, ..)| *next);
        let begin = self.now();
        for (next, claim, pod) in asked {
            if self.held_claim(&claim, &pod).await.is_some() {
                self.state().asked.remove(&claim);
                continue;
            }
            let now = self.now();
            if next > now || now.saturating_sub(begin) >= LOOKS_FOR {
                continue;
            }
            if let Some(asked) = self.state().asked.get_mut(&claim) {
                asked.looks.looked(now);
            }
            let wait = match self.take_turns(me, &claim, &pod).await {
                // Neither the other claims nor the rest of the pass wait for this one.
                Err(AgentError::Fetch(error)) if error.is_of_one_object() => {
                    self.state().count_failure(error.call());
                    Some(pending(&claim, &error.to_string()))
                }
                wait => wait?,
            };
            if let Some(wait) = wait
                && let Some(asked) = self.state().asked.get_mut(&claim)
            {
                asked.wait = Some(wait);
            }
        }
        Ok(())
    }
}

fn pending(claim: &ClaimName, why: &str) -> ClaimWait {
    ClaimWait::Pending(format!("claim {claim} has no address: {why}"))
}
