//! Quarantine: how long a block without a living holder waits, added up over leaders.
//!
//! ```text
//!   quarantined, 0 s ──▶ 1/4 of the delay ──▶ 2/4 ──▶ 3/4 ──▶ over        each arrow: CAS of status.elapsedSeconds
//! ```
//!
//! A leader counts on its own monotonic clock from when it saw the block in quarantine, and writes what it counted at each quarter of the delay.
//! Its successor goes on from what is written, so a change of leaders lengthens a quarantine by a quarter at most and never shortens it. No clocks
//! of two machines are compared.

/// How long a block waits in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuarantineDelay {
    /// A number of seconds.
    Seconds(u64),
    /// Until somebody confirms that the holder is gone.
    UntilConfirmed,
}

impl QuarantineDelay {
    /// Whether it is over after so many seconds.
    #[must_use]
    pub fn is_over(self, elapsed: u64) -> bool {
        match self {
            Self::Seconds(delay) => elapsed >= delay,
            Self::UntilConfirmed => false,
        }
    }
}

/// The shortest quarantine after an attestation by the out-of-service taint, in seconds.
pub const ATTESTED_SECONDS: u64 = 60;

/// A leader's step in a quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuarantineStep {
    /// Nothing yet.
    Wait,
    /// Write this many seconds by compare-and-swap, and count from zero again.
    Write(u64),
    /// The quarantine is over; evidence permitting, the block may be released.
    Over,
}

/// Decides about a quarantine from what is written and what the leader counted since it read or wrote that.
#[must_use]
pub fn quarantine(delay: QuarantineDelay, written: u64, counted: u64) -> QuarantineStep {
    let QuarantineDelay::Seconds(delay) = delay else { return QuarantineStep::Wait };
    let elapsed = written.saturating_add(counted);
    if written >= delay {
        QuarantineStep::Over
    } else if elapsed >= delay || counted >= delay.div_ceil(4) {
        QuarantineStep::Write(elapsed.min(delay))
    } else {
        QuarantineStep::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_adds_up_over_leaders_and_is_durable_before_the_end() {
        let delay = QuarantineDelay::Seconds(3600);
        assert_eq!(quarantine(delay, 0, 899), QuarantineStep::Wait);
        assert_eq!(quarantine(delay, 0, 900), QuarantineStep::Write(900));
        assert_eq!(quarantine(delay, 900, 899), QuarantineStep::Wait);
        assert_eq!(quarantine(delay, 2700, 5000), QuarantineStep::Write(3600));
        assert_eq!(quarantine(delay, 3600, 0), QuarantineStep::Over);
        // A leader that lasts for less than a quarter loses what it counted; none shortens the wait.
        let mut written = 0;
        let mut passed = 0;
        while quarantine(delay, written, 0) != QuarantineStep::Over {
            passed += 950;
            if let QuarantineStep::Write(seconds) = quarantine(delay, written, 950) {
                written = seconds;
            }
        }
        assert!(passed >= 3600);
    }

    #[test]
    fn without_a_delay_it_waits_for_ever_and_a_delay_of_nothing_is_over() {
        assert_eq!(quarantine(QuarantineDelay::UntilConfirmed, u64::MAX, u64::MAX), QuarantineStep::Wait);
        assert_eq!(quarantine(QuarantineDelay::Seconds(0), 0, 0), QuarantineStep::Over);
        assert!(!QuarantineDelay::UntilConfirmed.is_over(u64::MAX));
        assert!(QuarantineDelay::Seconds(5).is_over(5) && !QuarantineDelay::Seconds(5).is_over(4));
    }
}
