//! The port through which the host reads time.

use std::time::Duration;

use crate::Moment;

/// A time source. Each program brings its own, so that tests and simulations can bring another.
pub trait Clock: Send + Sync + 'static {
    /// Reads the current time: `CLOCK_BOOTTIME` for decisions, wall-clock time for people.
    fn now(&self) -> Moment;

    /// Reads a monotonic clock, to measure durations.
    fn monotonic(&self) -> Duration;
}
