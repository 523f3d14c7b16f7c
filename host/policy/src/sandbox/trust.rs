//! What the last calls of a policy needed, and where its next one is made because of that.
//!
//! ```text
//!                     8 quick calls in a row
//! ┌──▶ on a thread ────────────────────────────▶ on the thread that asks
//! │       │  ▲                                            │
//! │  slow │  └── too long: from now on it takes 64 ───────┘
//! │       ▼
//! │    on a thread that gives way to everybody
//! └───────┘ 8 calls in a row that were not slow
//! ```
//!
//! Time is processor time: a call that waits for a processor is not a slow one. What is counted fits in one atomic, so that calls
//! that end at the same moment wait for nobody.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A call that needs no more is one that the thread that asks could have made by itself.
pub(super) const QUICK: Duration = Duration::from_micros(250);

/// The longest that a call may keep a thread that has other work.
pub(super) const BRIEF: Duration = Duration::from_micros(500);

/// A call that needs more runs when nobody else wants to.
pub(super) const SLOW: Duration = Duration::from_millis(2);

/// How many quick calls in a row a policy is trusted after that nothing is known of.
const FIRST: u8 = 8;

/// How many it takes when it was trusted before, and wrongly so: it may hold somebody up once in so many calls.
const AGAIN: u8 = 64;

/// How many calls in a row must not be slow until a slow policy gives way no longer.
const BETTER: u8 = 8;

/// Where a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On the thread that asks, for as long as the call is [`BRIEF`].
    Here,
    /// On a thread of the policies.
    Thread,
    /// On one that gives way to everybody.
    Behind,
}

/// What is known of a policy's calls of one kind.
#[derive(Debug)]
pub(super) struct Trust(AtomicU32);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    /// Quick calls in a row that are missing until the policy is trusted.
    missing: u8,
    /// How many it takes.
    price: u8,
    /// Calls in a row that must not be slow until the policy gives way no longer.
    behind: u8,
}

impl Default for Trust {
    fn default() -> Self {
        Self(AtomicU32::new(Count::NEW.pack()))
    }
}

impl Trust {
    /// Where the next call is made.
    pub(super) fn place(&self) -> Place {
        Count::unpack(self.0.load(Ordering::Relaxed)).place()
    }

    /// Takes into account what a call has needed, or needs already.
    pub(super) fn learn(&self, used: Duration) {
        let after = |packed| {
            let count = Count::unpack(packed);
            let after = count.after(used);
            // What most calls say is known.
            (after != count).then(|| after.pack())
        };
        // An error says that nothing has changed.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
    }
}

impl Count {
    const NEW: Self = Self { missing: FIRST, price: FIRST, behind: 0 };

    fn place(self) -> Place {
        match self {
            Self { behind: 1.., .. } => Place::Behind,
            Self { missing: 1.., .. } => Place::Thread,
            _ => Place::Here,
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
            assert_eq!(trust.place(), Place::Thread);
            trust.learn(used);
        }
        learn(&trust, FIRST - 1, QUICK);
        assert_eq!(trust.place(), Place::Thread);
        trust.learn(QUICK);
        assert_eq!(trust.place(), Place::Here);
    }

    #[test]
    fn a_trusted_one_may_be_brief_and_no_longer_and_is_then_trusted_later() {
        let trust = trusted();
        learn(&trust, 100, BRIEF);
        assert_eq!(trust.place(), Place::Here);
        for _ in 0..3 {
            trust.learn(BRIEF + A_BIT);
            assert_eq!(trust.place(), Place::Thread);
            learn(&trust, AGAIN - 1, QUICK);
            assert_eq!(trust.place(), Place::Thread);
            // Not quick, so all of them again.
            trust.learn(BRIEF);
            learn(&trust, AGAIN - 1, QUICK);
            assert_eq!(trust.place(), Place::Thread);
            trust.learn(QUICK);
            assert_eq!(trust.place(), Place::Here);
        }
    }

    #[test]
    fn a_slow_one_gives_way_until_enough_calls_in_a_row_were_not_slow() {
        let trust = Trust::default();
        trust.learn(SLOW);
        assert_eq!(trust.place(), Place::Thread);
        trust.learn(SLOW + A_BIT);
        assert_eq!(trust.place(), Place::Behind);
        learn(&trust, BETTER - 1, SLOW);
        assert_eq!(trust.place(), Place::Behind);
        trust.learn(SLOW + A_BIT);
        learn(&trust, BETTER - 1, SLOW);
        assert_eq!(trust.place(), Place::Behind);
        trust.learn(SLOW);
        assert_eq!(trust.place(), Place::Thread);
        learn(&trust, FIRST, QUICK);
        assert_eq!(trust.place(), Place::Here);
    }

    #[test]
    fn a_trusted_one_that_turns_slow_gives_way_first_and_proves_itself_then() {
        let trust = trusted();
        trust.learn(Duration::MAX);
        assert_eq!(trust.place(), Place::Behind);
        learn(&trust, BETTER, QUICK);
        assert_eq!(trust.place(), Place::Thread);
        learn(&trust, AGAIN - BETTER, QUICK);
        assert_eq!(trust.place(), Place::Here);
    }
}
