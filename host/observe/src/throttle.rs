//! Keeps one talkative source from filling the log.
//!
//! A token bucket in whole milliseconds of the caller's clock, so that a test drives it and a clock jump does
//! nothing. The lock is held for a few additions and never across anything that waits.

use std::sync::{Mutex, PoisonError};

/// Lets a burst of lines through, then so many in a second.
///
/// Give each source one of its own, so that one policy's noise does not hide another's.
#[derive(Debug)]
pub struct Throttle {
    burst: u32,
    /// How long one more line takes to be earned.
    interval_ms: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: u32,
    /// Up to when tokens have been earned; what is left of an interval counts towards the next.
    earned_until_ms: u64,
    suppressed: u64,
}

/// Whether a line may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Write it; so many before it were left out.
    Write {
        /// Lines left out since the last one that was written.
        suppressed: u64,
    },
    /// Leave it out; it has been counted.
    Suppress,
}

impl Throttle {
    /// A full bucket of `burst` lines that earns `per_second` of them again.
    #[must_use]
    pub fn new(burst: u32, per_second: u32) -> Self {
        Self {
            burst,
            interval_ms: 1000 / u64::from(per_second.clamp(1, 1000)),
            state: Mutex::new(State { tokens: burst, earned_until_ms: 0, suppressed: 0 }),
        }
    }

    /// Whether a line may be written at `now_ms` of a clock that never goes back.
    pub fn admit(&self, now_ms: u64) -> Admission {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let earned = now_ms.saturating_sub(state.earned_until_ms) / self.interval_ms;
        state.tokens = state.tokens.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)).min(self.burst);
        state.earned_until_ms += earned * self.interval_ms;
        if let Some(left) = state.tokens.checked_sub(1) {
            state.tokens = left;
            Admission::Write { suppressed: std::mem::take(&mut state.suppressed) }
        } else {
            state.suppressed += 1;
            Admission::Suppress
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Admission = Admission::Write { suppressed: 0 };

    #[test]
    fn a_burst_passes_and_what_follows_is_counted() {
        let throttle = Throttle::new(2, 10);
        assert_eq!(throttle.admit(5_000), WRITE);
        assert_eq!(throttle.admit(5_000), WRITE);
        for _ in 0..3 {
            assert_eq!(throttle.admit(5_050), Admission::Suppress);
        }
        assert_eq!(throttle.admit(5_100), Admission::Write { suppressed: 3 });
        assert_eq!(throttle.admit(5_100), Admission::Suppress);
    }

    #[test]
    fn a_long_silence_earns_no_more_than_a_burst() {
        let throttle = Throttle::new(2, 10);
        let written = (0..10).filter(|_| throttle.admit(u64::MAX) == WRITE).count();
        assert_eq!(written, 2);
    }

    #[test]
    fn parts_of_an_interval_add_up() {
        let throttle = Throttle::new(1, 10);
        assert_eq!(throttle.admit(1_000), WRITE);
        let written =
            (0..100).filter(|step| throttle.admit(1_000 + step * 10) != Admission::Suppress).count();
        assert_eq!(written, 9, "a line each 100 ms, though no single step earns one");
    }

    #[test]
    fn a_clock_that_stands_still_earns_nothing() {
        let throttle = Throttle::new(1, 1000);
        assert_eq!(throttle.admit(0), WRITE);
        assert_eq!(throttle.admit(0), Admission::Suppress);
    }
}
