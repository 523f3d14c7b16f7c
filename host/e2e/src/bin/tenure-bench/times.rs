//! The times of many runs.

use std::time::Duration;

/// Microseconds, sorted.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        Self::of_microseconds(times.into_iter().map(|time| time.as_secs_f64() * 1e6))
    }

    pub(crate) fn of_microseconds(times: impl IntoIterator<Item = f64>) -> Self {
        let mut times: Vec<f64> = times.into_iter().collect();
        times.sort_unstable_by(f64::total_cmp);
        Self(times)
    }

    /// A percentile of the times.
    pub(crate) fn percentile(&self, share: usize) -> f64 {
        self.0.get((self.0.len().saturating_sub(1)) * share / 100).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }
}
