//! The barrier: what a leader must have seen before it grants, and which marks it may delete on.
//!
//! ```text
//!                IPBlocks and all NodeIPAMs listed                        the pause is over, or all nodes have heard
//!   listing ─────────────────────────────────────▶ pausing(seconds) ─────────────────────────────────▶ passed
//!      ▲                                               │ 0 after a start, 120 after a restore               │
//!      ├─────────── a restore is suspected: a lower resourceVersion, a ledger that differs ────────────────┴── (from anywhere)
//!      └─────────── a watch was interrupted; what is left of a pause stays ───────────────────────────────────── (from anywhere)
//! ```
//!
//! A leader that takes over reads in the Lease how fresh the store is, since it cannot have seen an older one:
//!
//! ```text
//!   the Lease of the leader before                                                     the store
//!   none: the first leader                                                             is what it is
//!   renewed within a minute                                                            is the living one
//!   renewed longer ago or in the future, beside an API server that still runs          is the living one
//!   renewed longer ago or in the future, and every API server of then is gone          may be a backup that was put back: as after a restore
//!   renewed, and its leader had a doubt of its own                                     as after a restore
//! ```
//!
//! Every API server is stopped before a store is put back, as Kubernetes requires, so a process that served the leader before and still runs has served
//! this very store since. Without that row, an operator that was away for a minute would wait for a Node that has no agent, for the whole pause.
//!
//! This is the one place where clocks of two machines are compared, and a wrong one costs the pause. A backup is not made, put back and served within a
//! minute. A leader whose own renewal is no longer in the Lease begins again, too.
//!
//! A restored store holds old IPBlocks and old answers. In the pause each agent compares its ledger and says again what it holds. The leader calls each
//! node, by a random number in its hints, and the node repeats the number in its words. Once every Node's agent has done so, everything that can be
//! said has been said, and the pause ends: at once in a cluster without nodes. A Node that cannot have an agent is not waited for: its machine has another
//! operating system, or none of the ids without which no block is leased to it. Any other that is off or has no agent keeps the others waiting to the
//! end: no store that may be a backup tells whether its agent came since, and holds blocks of which nobody else knows.
//!
//! Marks that were written before the barrier are inherited: the answers beside them may be older than what the holder did since, so nothing is deleted on them.

use std::collections::BTreeSet;

use crate::{CallId, LeaseRule, LeaseRules, MarkId};

/// Seconds for which nothing is granted after a restore is suspected.
pub const RESTORE_PAUSE_SECONDS: u64 = 120;

/// Seconds after a renewal of the Lease for which it shows that the store is the living one.
pub const HANDOVER_SECONDS: u64 = 60;

/// The Lease of the leader before, as its successor read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderHandover {
    /// Seconds since it was renewed, by the successor's clock; negative if that is ahead.
    pub age_seconds: i64,
    /// Whether the leader before suspected a restore, and its pause was not over.
    pub is_doubted: bool,
    /// Whether an API server runs that is the same process as when the leader before noted it in the Lease.
    pub is_same_server: bool,
}

impl LeaderHandover {
    /// Whether the successor has to suspect a restore.
    #[must_use]
    pub fn is_suspect(&self, rules: LeaseRules) -> bool {
        let is_fresh = self.age_seconds.unsigned_abs() <= HANDOVER_SECONDS;
        let is_same_server = self.is_same_server || !rules.has(LeaseRule::SameServer);
        self.is_doubted || !(is_fresh || is_same_server)
    }
}

/// How far a leader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BarrierPhase {
    /// Not both lists have been read.
    Listing,
    /// Both lists were read; agents have this many seconds left to speak.
    Pausing(u64),
    /// Blocks may be granted.
    Passed,
}

/// A leader's barrier and its own marks. Lives in memory alone: a successor begins without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderBarrier {
    phase: BarrierPhase,
    pause_seconds: u64,
    call: Option<CallId>,
    own: BTreeSet<MarkId>,
}

impl Default for LeaderBarrier {
    fn default() -> Self {
        Self { phase: BarrierPhase::Listing, pause_seconds: 0, call: None, own: BTreeSet::new() }
    }
}

impl LeaderBarrier {
    /// Notes that IPBlocks and NodeIPAMs were listed from etcd, in full.
    pub fn listed(&mut self) {
        if self.phase == BarrierPhase::Listing {
            self.phase = match self.pause_seconds {
                0 => BarrierPhase::Passed,
                pause => BarrierPhase::Pausing(pause),
            };
        }
    }

    /// Notes that a watch was interrupted: both lists are read again, and every mark is disowned, since the store may be another one.
    pub fn relist(&mut self) {
        let pause_seconds = match self.phase {
            BarrierPhase::Listing => self.pause_seconds,
            BarrierPhase::Pausing(left) => left,
            BarrierPhase::Passed => 0,
        };
        *self = Self { phase: BarrierPhase::Listing, pause_seconds, call: self.call, own: BTreeSet::new() };
    }

    /// Notes a sign of a restored store: begins again with a pause, disowns every mark, and calls the nodes. `call` was never used before.
    pub fn suspect_restore(&mut self, call: CallId) {
        *self = Self {
            phase: BarrierPhase::Listing,
            pause_seconds: RESTORE_PAUSE_SECONDS,
            call: Some(call),
            own: BTreeSet::new(),
        };
    }

    /// The call that the nodes are to repeat.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.call.filter(|_| self.is_doubtful())
    }

    /// Takes the call that each Node's agent has repeated last, of all Nodes that may have one. The pause is over once all have repeated this leader's.
    pub fn heard(&mut self, rules: LeaseRules, nodes: impl IntoIterator<Item = Option<CallId>>) {
        if !matches!(self.phase, BarrierPhase::Pausing(_)) {
            return;
        }
        let mut nodes = nodes.into_iter();
        let has_heard = |heard: Option<CallId>| heard.is_some() && heard == self.call;
        let is_over = match rules.has(LeaseRule::EveryNodeHeard) {
            true => nodes.all(has_heard),
            false => nodes.any(has_heard),
        };
        if is_over {
            self.phase = BarrierPhase::Passed;
        }
    }

    /// Notes time that passed on the leader's own monotonic clock.
    pub fn elapse(&mut self, seconds: u64) {
        if let BarrierPhase::Pausing(left) = self.phase {
            self.phase = match left.saturating_sub(seconds) {
                0 => BarrierPhase::Passed,
                left => BarrierPhase::Pausing(left),
            };
        }
    }

    /// Notes a mark whose write the API server confirmed. A mark whose reply was lost is not one's own.
    pub fn wrote(&mut self, mark: MarkId) {
        self.own.insert(mark);
    }

    /// Forgets a mark that was cleared, or whose block is gone.
    pub fn settled(&mut self, mark: MarkId) {
        self.own.remove(&mark);
    }

    /// Whether a block may be deleted on the holder's answer to this mark.
    #[must_use]
    pub fn owns(&self, rules: LeaseRules, mark: MarkId) -> bool {
        self.own.contains(&mark) || !rules.has(LeaseRule::OwnMark)
    }

    /// Whether a restore is suspected, and the pause that follows is not over.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        match self.phase {
            BarrierPhase::Listing => self.pause_seconds > 0,
            BarrierPhase::Pausing(_) => true,
            BarrierPhase::Passed => false,
        }
    }

    /// Whether blocks may be granted.
    #[must_use]
    pub fn may_grant(&self) -> bool {
        self.phase == BarrierPhase::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: CallId = CallId(7);

    #[test]
    fn a_start_waits_for_the_lists_and_a_restore_for_the_agents_too() {
        let mut barrier = LeaderBarrier::default();
        barrier.elapse(1000);
        assert!(!barrier.may_grant());
        barrier.listed();
        assert!(barrier.may_grant());
        barrier.suspect_restore(CALL);
        barrier.elapse(1000);
        barrier.listed();
        barrier.elapse(RESTORE_PAUSE_SECONDS - 1);
        assert!(!barrier.may_grant());
        barrier.listed();
        barrier.elapse(1);
        assert!(barrier.may_grant());
    }

    #[test]
    fn a_relist_disowns_marks_and_shortens_no_pause() {
        let mut barrier = LeaderBarrier::default();
        barrier.listed();
        barrier.wrote(MarkId(1));
        barrier.relist();
        assert!(!barrier.may_grant() && !barrier.owns(LeaseRules::ALL, MarkId(1)));
        barrier.listed();
        assert!(barrier.may_grant());
        barrier.suspect_restore(CALL);
        barrier.relist();
        barrier.listed();
        barrier.elapse(20);
        barrier.relist();
        barrier.elapse(1000);
        barrier.listed();
        barrier.elapse(RESTORE_PAUSE_SECONDS - 21);
        assert!(!barrier.may_grant());
        barrier.elapse(1);
        assert!(barrier.may_grant());
    }

    #[test]
    fn a_pause_ends_early_when_every_node_has_heard_the_call_and_no_other() {
        let mut barrier = LeaderBarrier::default();
        barrier.listed();
        assert_eq!(barrier.call(), None);
        barrier.suspect_restore(CALL);
        // Before everything is listed, it is not known which nodes there are.
        barrier.heard(LeaseRules::ALL, []);
        assert!(!barrier.may_grant() && barrier.call() == Some(CALL));
        barrier.listed();
        for late in [None, Some(CallId(6))] {
            barrier.heard(LeaseRules::ALL, [Some(CALL), late]);
            assert!(!barrier.may_grant());
        }
        barrier.relist();
        barrier.listed();
        barrier.heard(LeaseRules::ALL, [Some(CALL), Some(CALL)]);
        assert!(barrier.may_grant() && !barrier.is_doubtful() && barrier.call().is_none());
        // A cluster without nodes has nothing to say.
        barrier.suspect_restore(CallId(8));
        barrier.listed();
        barrier.heard(LeaseRules::ALL, [Some(CALL)]);
        assert!(!barrier.may_grant());
        barrier.heard(LeaseRules::ALL, []);
        assert!(barrier.may_grant());
    }

    #[test]
    fn a_lease_that_is_not_fresh_is_suspect() {
        let suspect = |age_seconds, is_doubted, is_same_server| {
            LeaderHandover { age_seconds, is_doubted, is_same_server }.is_suspect(LeaseRules::ALL)
        };
        for age in [0, 60, -60] {
            assert!(!suspect(age, false, false) && suspect(age, true, false) && suspect(age, true, true));
        }
        // An API server that has run since shows the same store, and takes no doubt away.
        for age in [61, -61, i64::MIN, i64::MAX] {
            assert!(suspect(age, false, false) && !suspect(age, false, true) && suspect(age, true, true));
        }
        let mut barrier = LeaderBarrier::default();
        assert!(!barrier.is_doubtful());
        barrier.suspect_restore(CALL);
        assert!(barrier.is_doubtful());
        barrier.listed();
        assert!(barrier.is_doubtful());
        barrier.elapse(RESTORE_PAUSE_SECONDS);
        assert!(!barrier.is_doubtful());
    }

    #[test]
    fn marks_before_a_restore_are_disowned() {
        let mut barrier = LeaderBarrier::default();
        assert!(!barrier.owns(LeaseRules::ALL, MarkId(1)));
        barrier.wrote(MarkId(1));
        barrier.wrote(MarkId(2));
        barrier.settled(MarkId(2));
        assert!(barrier.owns(LeaseRules::ALL, MarkId(1)) && !barrier.owns(LeaseRules::ALL, MarkId(2)));
        barrier.suspect_restore(CALL);
        assert!(!barrier.owns(LeaseRules::ALL, MarkId(1)));
    }
}
