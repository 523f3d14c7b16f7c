//! The end of a turn: an address that no pod of this node has goes to another node, or makes room.

use std::time::Duration;

use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::node::MAX_HELD;
use tenure_leases::{BlockName, ClaimTurn, MarkId};

use crate::agent::accepting::AgentError;
use crate::agent::core::AgentCore;
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::turns::FIRST_USE;

/// The hold of a lease that the node lets go of by itself: no operator has marked it.
const LETTING_GO: LeaseHold = LeaseHold::Cordoned(MarkId(0));

impl AgentCore {
    /// Whether the node can say turns with these blocks beside its others. If it cannot, turns go that no pod uses and none asks for, until it can.
    pub(super) async fn has_room(&self, names: &[BlockName]) -> Result<bool, AgentError> {
        let is_other = |turn: &ClaimTurn| !names.contains(&turn.block);
        let has_room = || {
            let others = self.claim_turns().iter().filter(|turn| is_other(turn)).count();
            others.saturating_add(names.len()) <= MAX_HELD
        };
        for lease in self.leases().into_values() {
            if has_room() {
                return Ok(true);
            }
            let Some(turn) = &lease.turn else { continue };
            let is_asked_for = self.state().asked.contains_key(&turn.claim) || names.contains(&lease.name);
            // Of what is in doubt, and of what no network has, it is not known whether a pod uses it.
            let is_known =
                lease.hold != LeaseHold::Doubted && self.settings.network_of(&lease.pool.name).is_some();
            if is_known && !is_asked_for && !self.is_about_to_use(turn) {
                self.let_go(&lease).await?;
            }
        }
        Ok(has_room())
    }

    /// Whether the turn is one of another virtual machine than that of the pod that asks for the claim now.
    pub(super) fn is_of_another_machine(&self, turn: &LeaseTurn) -> bool {
        self.state().asked.get(&turn.claim).is_some_and(|asked| asked.pod.guest != turn.guest)
    }

    /// Whether the pod for which a turn began still waits for the claim's other address, or got this one a moment ago.
    pub(super) fn is_about_to_use(&self, turn: &LeaseTurn) -> bool {
        let (now, state) = (self.now(), self.state());
        let is_it = |pod: &str, at: Duration| pod == turn.pod && now.saturating_sub(at) < FIRST_USE;
        let asks = state.asked.get(&turn.claim).is_some_and(|asked| {
            let is_waiting = asked.answered.receiver_count() > 0;
            is_it(&asked.pod.name, if is_waiting { now } else { asked.at })
        });
        asks || state.taken.get(&turn.claim).is_some_and(|(pod, at)| is_it(pod, *at))
    }

    /// Lets go of an address that no pod has. Nothing is handed out between the look and the record.
    pub(super) async fn let_go(&self, lease: &HeldLease) -> Result<(), AgentError> {
        if self.is_used(lease).await {
            return Ok(());
        }
        let Some(network) = self.settings.network_of(&lease.pool.name) else {
            return self.forget_turn(lease).await;
        };
        self.set_hold(lease, LETTING_GO).await?;
        self.supply(network).await?;
        if self.is_used(lease).await {
            // A pod got it meanwhile. A turn that is over, or in doubt, stays so.
            self.set_hold(&HeldLease { hold: LETTING_GO, ..lease.clone() }, lease.hold).await?;
        } else {
            self.forget_turn(lease).await?;
        }
        Ok(self.supply(network).await?)
    }

    async fn forget_turn(&self, lease: &HeldLease) -> Result<(), AgentError> {
        tracing::info!(block = %lease.cidr(), "let go of the address of a claim");
        self.forget(&lease.name).await?;
        self.state().unconfirmed.remove(&lease.cidr());
        Ok(())
    }

    async fn is_used(&self, lease: &HeldLease) -> bool {
        let book = self.book_of(&lease.pool.name).await;
        let usage = self.row(lease, book.as_deref()).usage;
        usage.in_use > 0 || usage.promised > 0 || usage.quarantined > 0
    }
}
