//! The barrier: what a leader must have seen before it grants, and which marks it may delete on.
//!
//! ```text
//!                IPBlocks and all NodeIPAMs listed                        the rest of the pause is over
//!   listing ─────────────────────────────────────▶ pausing(seconds) ─────────────────────────────────▶ passed
//!      ▲                                               │ 0 after a start, 120 after a restore               │
//!      ├─────────── a restore is suspected: a lower resourceVersion, a ledger that differs ────────────────┴── (from anywhere)
//!      └─────────── a watch was interrupted; what is left of a pause stays ───────────────────────────────────── (from anywhere)
//! ```
//!
//! A restored store holds old IPBlocks and old answers. In the pause each agent compares its ledger and says again what it holds. Marks that were
//! written before the barrier are inherited: the answers beside them may be older than what the holder did since, so nothing is deleted on them.

use std::collections::BTreeSet;

use crate::{LeaseRule, LeaseRules, MarkId};

/// Seconds for which nothing is granted after a restore is suspected.
pub const RESTORE_PAUSE_SECONDS: u64 = 120;

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
    own: BTreeSet<MarkId>,
}

impl Default for LeaderBarrier {
    fn default() -> Self {
        Self { phase: BarrierPhase::Listing, pause_seconds: 0, own: BTreeSet::new() }
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
        *self = Self { phase: BarrierPhase::Listing, pause_seconds, own: BTreeSet::new() };
    }

    /// Notes a sign of a restored store: begins again with a pause, and disowns every mark.
    pub fn suspect_restore(&mut self) {
        *self =
            Self { phase: BarrierPhase::Listing, pause_seconds: RESTORE_PAUSE_SECONDS, own: BTreeSet::new() };
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

    /// Whether blocks may be granted.
    #[must_use]
    pub fn may_grant(&self) -> bool {
        self.phase == BarrierPhase::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_waits_for_the_lists_and_a_restore_for_the_agents_too() {
        let mut barrier = LeaderBarrier::default();
        barrier.elapse(1000);
        assert!(!barrier.may_grant());
        barrier.listed();
        assert!(barrier.may_grant());
        barrier.suspect_restore();
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
        barrier.suspect_restore();
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
    fn marks_before_a_restore_are_disowned() {
        let mut barrier = LeaderBarrier::default();
        assert!(!barrier.owns(LeaseRules::ALL, MarkId(1)));
        barrier.wrote(MarkId(1));
        barrier.wrote(MarkId(2));
        barrier.settled(MarkId(2));
        assert!(barrier.owns(LeaseRules::ALL, MarkId(1)) && !barrier.owns(LeaseRules::ALL, MarkId(2)));
        barrier.suspect_restore();
        assert!(!barrier.owns(LeaseRules::ALL, MarkId(1)));
    }
}
