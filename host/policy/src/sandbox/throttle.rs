//! Keeps one verbose source from filling the log.
//!
//! A token bucket in whole milliseconds of the caller's clock, so that tests can drive it and a clock jump has no
//! effect. It counts the suppressed lines; the next line that is written reports their number.

/// Admits a burst of lines, then a limited number per second.
#[derive(Debug)]
pub(super) struct Throttle {
    burst: u32,
    /// How long it takes to earn one more line.
    interval_ms: u64,
    tokens: u32,
    /// The time up to which tokens have been earned; the rest of an interval counts towards the next token.
    earned_until_ms: u64,
    suppressed: u64,
}

/// Whether a line may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineAdmission {
    /// Write it, and report the suppressed lines before it.
    Write {
        /// Lines suppressed since the last one that was written.
        suppressed: u64,
    },
    /// Suppress it; it has been counted.
    Suppress,
}

impl Throttle {
    /// A full bucket of `burst` lines that regains `per_second` lines per second.
    pub(super) fn new(burst: u32, per_second: u32) -> Self {
        let interval_ms = 1000 / u64::from(per_second.clamp(1, 1000));
        Self { burst, interval_ms, tokens: burst, earned_until_ms: 0, suppressed: 0 }
    }

    /// Whether a line may be written at `now_ms` of a monotonic clock.
    pub(super) fn admit(&mut self, now_ms: u64) -> LineAdmission {
        let earned = now_ms.saturating_sub(self.earned_until_ms) / self.interval_ms;
        self.tokens = self.tokens.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)).min(self.burst);
        self.earned_until_ms += earned * self.interval_ms;
        if let Some(left) = self.tokens.checked_sub(1) {
            self.tokens = left;
            LineAdmission::Write { suppressed: std::mem::take(&mut self.suppressed) }
        } else {
            self.suppress()
        }
    }

    /// Counts a line that is suppressed for another reason.
    pub(super) fn suppress(&mut self) -> LineAdmission {
        self.suppressed += 1;
        LineAdmission::Suppress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: LineAdmission = LineAdmission::Write { suppressed: 0 };

    #[test]
    fn a_burst_passes_and_what_follows_is_counted() {
        let mut throttle = Throttle::new(2, 10);
        assert_eq!(throttle.admit(5_000), WRITE);
        assert_eq!(throttle.admit(5_000), WRITE);
        for _ in 0..3 {
            assert_eq!(throttle.admit(5_050), LineAdmission::Suppress);
        }
        assert_eq!(throttle.admit(5_100), LineAdmission::Write { suppressed: 3 });
        assert_eq!(throttle.admit(5_100), LineAdmission::Suppress);
    }

    #[test]
    fn a_long_silence_earns_no_more_than_a_burst() {
        let mut throttle = Throttle::new(2, 10);
        let written = (0..10).filter(|_| throttle.admit(u64::MAX) == WRITE).count();
        assert_eq!(written, 2);
    }

    #[test]
    fn parts_of_an_interval_add_up() {
        let mut throttle = Throttle::new(1, 10);
        assert_eq!(throttle.admit(1_000), WRITE);
        let written =
            (0..100).filter(|step| throttle.admit(1_000 + step * 10) != LineAdmission::Suppress).count();
        assert_eq!(written, 9, "one line per 100 ms, though no single step earns one");
    }

    #[test]
    fn a_clock_that_stands_still_earns_nothing() {
        let mut throttle = Throttle::new(1, 1000);
        assert_eq!(throttle.admit(0), WRITE);
        assert_eq!(throttle.admit(0), LineAdmission::Suppress);
    }
}
