//! When the call began and when it must end, by the clock that the daemon orders calls by.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The time since boot, suspended time included.
pub(crate) fn now() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    // The kernel's clock is never negative, and its nanoseconds are below a second.
    Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or_default())
}

/// The end of the whole call: reading, connecting and waiting for the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    started: Duration,
    timeout: Duration,
}

impl Deadline {
    pub(crate) fn new(started: Duration, timeout: Duration) -> Self {
        Self { started, timeout }
    }

    /// What is left; `None` when it is over.
    pub(crate) fn remaining(self) -> Option<Duration> {
        (self.started + self.timeout).checked_sub(now()).filter(|remaining| !remaining.is_zero())
    }

    /// How long the call was given, for people.
    pub(crate) fn timeout(self) -> Duration {
        self.timeout
    }
}
