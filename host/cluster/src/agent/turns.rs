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
//! claim's address is held here, it needs no API server. An IPAMClaim, which has no finalizer, is read once more then, and without an answer is as it was.
//!
//! The two pods of a virtual machine that moves have a turn each, on two nodes. Once the machine runs in the pod here, the agent says so, and the
//! operator lets the turns change places.

mod asking;
mod ending;
mod taking;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::node::MAX_HELD;
use tenure_leases::{ClaimTurn, HolderIdentity, TurnClaim, TurnGuest, TurnState};
use tenure_types::PodIdentity;

use crate::agent::accepting::AgentError;
use crate::agent::asked::{AskedClaim, ClaimWait, ClaimingPod};
use crate::agent::core::AgentCore;
use crate::agent::records::LeaseTurn;
use crate::pods::guest_of;
use crate::pools::ClaimName;

pub(super) use self::asking::{addresses_of, pool_of};

/// How long an address that was just taken waits for the ADD that asked for it, although others want it too.
const FIRST_USE: Duration = Duration::from_secs(2);

/// How long a turn that no pod asks for any more is still wanted.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// How long a pass looks at claims in the API server, at one at least. The blocks of all other pods wait meanwhile.
const LOOKS_FOR: Duration = Duration::from_secs(1);

impl AgentCore {
    /// The names of the claims' blocks that the operator asks back.
    pub(crate) fn asked_back(&self) -> BTreeSet<String> {
        let state = self.state();
        let status = state.object.iter().flat_map(|object| &object.status);
        status.flat_map(|status| &status.claims_asked_back).cloned().collect()
    }

    /// The turns to say: those of the ledger, and those that pods want.
    pub(crate) fn claim_turns(&self) -> Vec<ClaimTurn> {
        let held = self.leases().into_values().filter_map(|lease| {
            let guest = self.guest(lease.turn.as_ref()?);
            let LeaseTurn { claim: ClaimName { kind, namespace, name }, uid, turn, pod, .. } = lease.turn?;
            let claim = uid.map(|uid| TurnClaim { kind, namespace, name, uid });
            Some(ClaimTurn { block: lease.name, turn, state: TurnState::Held, pod, guest, claim })
        });
        let mut turns: Vec<ClaimTurn> = held.collect();
        let state = self.state();
        for asked in state.asked.values() {
            for (block, turn) in &asked.turns {
                if turns.iter().all(|known| known.block != *block) {
                    let ClaimingPod { name: pod, guest } = asked.pod.clone();
                    let guest = guest.map(|uid| TurnGuest { uid, runs: false });
                    let (block, turn, state) = (block.clone(), *turn, TurnState::Wanted);
                    turns.push(ClaimTurn { block, turn, state, pod, guest, claim: None });
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
        let (asked_back, leases) = (self.asked_back(), self.leases());
        let claims: BTreeSet<&ClaimName> =
            leases.values().flat_map(|lease| &lease.turn).map(|turn| &turn.claim).collect();
        self.state().shown.retain(|claim, _| claims.contains(claim));
        for lease in leases.values() {
            let Some(turn) = &lease.turn else { continue };
            let is_others = lease.hold == LeaseHold::Contested || self.is_of_claim_before(turn);
            let is_wanted = asked_back.contains(&lease.name.to_string()) || self.is_of_another_machine(turn);
            if is_others || (is_wanted && !self.is_about_to_use(turn)) {
                self.let_go(lease).await?;
            }
        }
        if self.claim_turns().len() > MAX_HELD {
            self.has_room(&[]).await?;
        }
        self.answer_claims().await;
        let looks =
            |(claim, asked): (&ClaimName, &AskedClaim)| (asked.looks.next, claim.clone(), asked.pod.clone());
        let mut asked: Vec<_> = self.state().asked.iter().map(looks).collect();
        // What does not get its turn in this pass is first in the next one.
        asked.sort_by_key(|(next, ..)| *next);
        let begin = self.now();
        for (next, claim, pod) in asked {
            let now = self.now();
            if next > now || now.saturating_sub(begin) >= LOOKS_FOR {
                continue;
            }
            match self.state().asked.get_mut(&claim) {
                Some(asked) => asked.looks.looked(now),
                None => continue,
            }
            let wait = match self.take_turns(me, &claim, &pod).await {
                // Neither the other claims nor the rest of the pass wait for this one.
                Err(AgentError::Fetch(error)) if error.is_of_one_object() => {
                    self.state().count_failure(error.call());
                    Some(pending(&claim, &error.to_string()))
                }
                wait => wait?,
            };
            match wait {
                Some(wait) => {
                    if let Some(asked) = self.state().asked.get_mut(&claim) {
                        asked.answer(wait);
                    }
                }
                None => self.answer_claims().await,
            }
        }
        Ok(())
    }
}

fn pending(claim: &ClaimName, why: &str) -> ClaimWait {
    ClaimWait::Pending(format!("claim {claim} has no address: {why}"))
}
