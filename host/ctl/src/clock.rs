//! The wall clock, for ages and durations.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    let milliseconds = now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000);
    u64::try_from(milliseconds).unwrap_or_default()
}
