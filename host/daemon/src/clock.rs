//! The kernel's clocks.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use tenure_engine::ports::Clock;
use tenure_types::Moment;

/// `CLOCK_BOOTTIME` for decisions, `CLOCK_REALTIME` for people, `CLOCK_MONOTONIC` for measuring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelClock;

impl Clock for KernelClock {
    fn now(&self) -> Moment {
        Moment { boot_ms: milliseconds(ClockId::Boottime), wall_ms: milliseconds(ClockId::Realtime) }
    }

    fn monotonic(&self) -> Duration {
        duration(clock_gettime(ClockId::Monotonic))
    }
}

fn milliseconds(clock: ClockId) -> u64 {
    u64::try_from(duration(clock_gettime(clock)).as_millis()).unwrap_or(u64::MAX)
}

/// A clock before its epoch (a machine whose wall clock was never set) reads as zero.
fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
