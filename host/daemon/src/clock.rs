//! The kernel's clocks.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, Timespec, clock_gettime};
use tenure_engine::ports::Clock;
use tenure_types::Moment;

/// `CLOCK_BOOTTIME` for decisions, `CLOCK_REALTIME` for people, `CLOCK_MONOTONIC` for measuring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelClock;

impl Clock for KernelClock {
    fn now(&self) -> Moment {
        Moment { boot_ns: nanoseconds(duration(clock_gettime(ClockId::Boottime))), wall_ms: wall() }
    }

    fn monotonic(&self) -> Duration {
        duration(clock_gettime(ClockId::Monotonic))
    }
}

/// Read through the C library, like every wall clock in the daemon, so that a test can change it without changing the machine's.
#[expect(clippy::disallowed_methods, reason = "this is the clock port")]
fn wall() -> u64 {
    // A wall clock before 1970 reads as zero.
    milliseconds(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
