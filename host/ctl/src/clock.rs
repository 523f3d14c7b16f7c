//! The clocks, for ages, durations and moments.

#[cfg(feature = "registry")]
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_types::Moment;

/// The processor's monotonic time, for measuring.
#[cfg(feature = "registry")]
pub(crate) fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), nanoseconds)
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    let milliseconds = now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000);
    u64::try_from(milliseconds).unwrap_or_default()
}

/// Returns the present moment.
pub(crate) fn now() -> Moment {
    let boot = clock_gettime(ClockId::Boottime);
    let nanoseconds = boot.tv_sec.saturating_mul(1_000_000_000).saturating_add(boot.tv_nsec);
    Moment { boot_ns: u64::try_from(nanoseconds).unwrap_or_default(), wall_ms: now_ms() }
}
