//! The start and the deadline of the call, on the clock by which the daemon orders calls.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The time since boot, including time spent suspended.
pub(crate) fn now() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    // The kernel's clock is never negative, and its nanoseconds are below a second.
    Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or_default())
}

/// The deadline of the whole call: reading, connecting and waiting for the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    started: Duration,
    timeout: Duration,
}

impl Deadline {
    pub(crate) fn new(started: Duration, timeout: Duration) -> Self {
        Self { started, timeout }
    }

    /// The same call's deadline, if it may take only this long.
    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout: self.timeout.min(timeout), ..self }
    }

    /// The time left; `None` if the deadline has passed.
    pub(crate) fn remaining(self) -> Option<Duration> {
        (self.started + self.timeout).checked_sub(now()).filter(|remaining| !remaining.is_zero())
    }

    /// The call's timeout, for messages.
    pub(crate) fn timeout(self) -> Duration {
        self.timeout
    }
}
