//! The machine's clocks. All delays run on the clock since boot of the machine that waits; no clocks of two machines are compared.

use std::time::{Duration, SystemTime};

use k8s_openapi::jiff::Timestamp;
use rustix::time::{ClockId, Timespec, clock_gettime};
use tenure_types::{Clock, Moment};

/// `CLOCK_BOOTTIME` for decisions, `CLOCK_REALTIME` for people.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Moment {
        let boot = duration(clock_gettime(ClockId::Boottime));
        Moment { boot_ns: u64::try_from(boot.as_nanos()).unwrap_or(u64::MAX), wall_ms: wall() }
    }

    fn monotonic(&self) -> Duration {
        duration(clock_gettime(ClockId::Monotonic))
    }
}

/// The time since the machine's boot.
#[must_use]
pub fn since_boot(clock: &dyn Clock) -> Duration {
    Duration::from_nanos(clock.now().boot_ns)
}

/// The time of day, for people.
#[must_use]
pub fn time_of_day(clock: &dyn Clock) -> Timestamp {
    let milliseconds = i64::try_from(clock.now().wall_ms).unwrap_or_default();
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "this is the clock port")]
fn wall() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
