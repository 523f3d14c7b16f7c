//! A pause before something is tried again, which doubles each time.

use std::time::Duration;

/// The first pause and the longest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PauseBounds {
    /// The pause after the first time.
    pub(crate) first: Duration,
    /// The pause that does not become longer.
    pub(crate) longest: Duration,
}

/// A pause, by the boot clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DoublingPause {
    /// End of the pause.
    pub(crate) until: Duration,
    length: Duration,
}

impl DoublingPause {
    /// The pause that begins now, after the one before.
    pub(crate) fn after(before: Option<Self>, bounds: PauseBounds, now: Duration) -> Self {
        let doubled = before.map(|before| before.length.saturating_mul(2).min(bounds.longest));
        let length = doubled.unwrap_or(bounds.first);
        Self { until: now.saturating_add(length), length }
    }
}
