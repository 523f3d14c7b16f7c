//! A clock that a test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_operator::clock::MachineClock;
use tenure_types::{Clock, Moment};

/// A clock that a test moves; its time of day is a constant of its own.
pub(crate) struct TestClock(AtomicU64, u64);

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicU64::new(0), 1_800_000_000_000)
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment { boot_ns: self.0.load(Ordering::Relaxed), wall_ms: self.1 }
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.now().boot_ns)
    }
}

impl TestClock {
    /// A clock that is a number of days ahead.
    pub(crate) fn days_ahead(days: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(days * 86_400_000_000_000), 1_800_000_000_000 + days * 86_400_000))
    }

    /// A clock that has the time of day of the API server, and keeps it.
    pub(crate) fn of_today() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(0), MachineClock.now().wall_ms))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1_000_000_000, Ordering::Relaxed);
    }
}
