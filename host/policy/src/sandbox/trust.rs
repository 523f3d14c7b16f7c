//! Chooses the thread of a policy's next call, judged by what its last calls used.
//!
//! ```text
//!                     8 quick calls in a row
//! ┌──▶ on a thread ────────────────────────────▶ on the calling thread
//! │       │  ▲                                            │
//! │  slow │  └── too long: from now on it takes 64 ───────┘
//! │       ▼
//! │    on a thread of the lowest priority
//! └───────┘ 8 calls in a row that were not slow
//! ```
//!
//! Time is processor time, so waiting for a processor does not make a call slow. The counters fit in one atomic, so
//! that calls that end at the same moment do not block each other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The most time of a quick call, which could have run on the calling thread.
pub(super) const QUICK: Duration = Duration::from_micros(250);

/// The longest that a call may occupy a thread that has other work.
pub(super) const BRIEF: Duration = Duration::from_micros(500);

/// A call that takes longer is slow, and runs at the lowest priority.
pub(super) const SLOW: Duration = Duration::from_millis(2);

/// How many quick calls in a row make a new policy trusted.
const FIRST: u8 = 8;

/// How many it takes after a trusted policy took too long: it may delay a caller only once in this many calls.
const AGAIN: u8 = 64;

/// How many calls in a row that are not slow return a policy to the usual priority.
const BETTER: u8 = 8;

/// The thread on which a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSlot {
    /// On the calling thread, for at most [`BRIEF`].
    Here,
    /// On a thread of the usual priority.
    Thread,
    /// On a thread of the lowest priority.
    Behind,
}

/// The record of a policy's calls of one kind.
#[derive(Debug)]
pub(super) struct Trust(AtomicU32);

/// The counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TrustCounters {
    /// Quick calls in a row still needed until the policy is trusted.
    missing: u8,
    /// How many quick calls in a row trust takes.
    price: u8,
    /// Calls in a row that must not be slow until the policy returns to the usual priority.
    behind: u8,
}

impl Default for Trust {
    fn default() -> Self {
        Self(AtomicU32::new(TrustCounters::NEW.pack()))
    }
}

impl Trust {
    /// Chooses where to make the next call.
    pub(super) fn place(&self) -> CallSlot {
        TrustCounters::unpack(self.0.load(Ordering::Relaxed)).place()
    }

    /// Takes into account the time that a call took, or has taken so far.
    pub(super) fn learn(&self, used: Duration) {
        let after = |packed| {
            let count = TrustCounters::unpack(packed);
            let after = count.after(used);
            // Most calls change nothing.
            (after != count).then(|| after.pack())
        };
        // An error means that nothing has changed.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
    }
}

impl TrustCounters {
    const NEW: Self = Self { missing: FIRST, price: FIRST, behind: 0 };

    fn place(self) -> CallSlot {
        match self {
            Self { behind: 1.., .. } => CallSlot::Behind,
            Self { missing: 1.., .. } => CallSlot::Thread,
            _ => CallSlot::Here,
        }
    }

    fn after(self, used: Duration) -> Self {
        let is_trusted = self.missing == 0;
        let price = if is_trusted && used > BRIEF { AGAIN } else { self.price };
        let missing = match used {
            _ if used <= QUICK => self.missing.saturating_sub(1),
            _ if is_trusted && used <= BRIEF => 0,
            _ => price,
        };
        let behind = if used > SLOW { BETTER } else { self.behind.saturating_sub(1) };
        Self { missing, price, behind }
    }

    fn pack(self) -> u32 {
        u32::from_le_bytes([self.missing, self.price, self.behind, 0])
    }

    fn unpack(packed: u32) -> Self {
        let [missing, price, behind, _] = packed.to_le_bytes();
        Self { missing, price, behind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A_BIT: Duration = Duration::from_nanos(1);

    fn learn(trust: &Trust, calls: u8, used: Duration) {
        (0..calls).for_each(|_| trust.learn(used));
    }

    fn trusted() -> Trust {
        let trust = Trust::default();
        learn(&trust, FIRST, QUICK);
        trust
    }

    #[test]
    fn a_new_policy_is_trusted_after_quick_calls_in_a_row() {
        let trust = Trust::default();
        for used in [QUICK + A_BIT, BRIEF + A_BIT] {
            learn(&trust, FIRST - 1, QUICK);
            assert_eq!(trust.place(), CallSlot::Thread);
            trust.learn(used);
        }
        learn(&trust, FIRST - 1, QUICK);
        assert_eq!(trust.place(), CallSlot::Thread);
        trust.learn(QUICK);
        assert_eq!(trust.place(), CallSlot::Here);
    }

    #[test]
    fn a_trusted_one_may_be_brief_and_no_longer_and_is_then_trusted_later() {
        let trust = trusted();
        learn(&trust, 100, BRIEF);
        assert_eq!(trust.place(), CallSlot::Here);
        for _ in 0..3 {
            trust.learn(BRIEF + A_BIT);
            assert_eq!(trust.place(), CallSlot::Thread);
            learn(&trust, AGAIN - 1, QUICK);
            assert_eq!(trust.place(), CallSlot::Thread);
            // Not quick, so the count starts over.
            trust.learn(BRIEF);
            learn(&trust, AGAIN - 1, QUICK);
            assert_eq!(trust.place(), CallSlot::Thread);
            trust.learn(QUICK);
            assert_eq!(trust.place(), CallSlot::Here);
        }
    }

    #[test]
    fn a_slow_one_gives_way_until_enough_calls_in_a_row_were_not_slow() {
        let trust = Trust::default();
        trust.learn(SLOW);
        assert_eq!(trust.place(), CallSlot::Thread);
        trust.learn(SLOW + A_BIT);
        assert_eq!(trust.place(), CallSlot::Behind);
        learn(&trust, BETTER - 1, SLOW);
        assert_eq!(trust.place(), CallSlot::Behind);
        trust.learn(SLOW + A_BIT);
        learn(&trust, BETTER - 1, SLOW);
        assert_eq!(trust.place(), CallSlot::Behind);
        trust.learn(SLOW);
        assert_eq!(trust.place(), CallSlot::Thread);
        learn(&trust, FIRST, QUICK);
        assert_eq!(trust.place(), CallSlot::Here);
    }

    #[test]
    fn a_trusted_one_that_turns_slow_gives_way_first_and_proves_itself_then() {
        let trust = trusted();
        trust.learn(Duration::MAX);
        assert_eq!(trust.place(), CallSlot::Behind);
        learn(&trust, BETTER, QUICK);
        assert_eq!(trust.place(), CallSlot::Thread);
        learn(&trust, AGAIN - BETTER, QUICK);
        assert_eq!(trust.place(), CallSlot::Here);
    }
}
