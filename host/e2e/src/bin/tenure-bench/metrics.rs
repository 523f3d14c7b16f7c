//! Reads the daemon's metrics.

use tenure_e2e::Daemon;

/// The histogram of policy calls.
pub(crate) const POLICY: &str = "tenure_policy_call_duration_seconds";
/// The histogram of syncs, including the write before each.
pub(crate) const SYNC: &str = "tenure_checkpoint_sync_duration_seconds";

/// One page of metrics.
#[derive(Debug)]
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn read(daemon: &Daemon) -> anyhow::Result<Self> {
        daemon.metrics().map(Self)
    }

    fn sum_of(&self, name: &str) -> f64 {
        let lines = self.0.lines().filter_map(|line| line.strip_prefix(name));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    /// The microseconds added to a histogram's sum since an earlier page.
    pub(crate) fn spent_since(&self, before: &Self, histogram: &str) -> f64 {
        let name = format!("{histogram}_sum");
        (self.sum_of(&name) - before.sum_of(&name)) * 1e6
    }

    /// The upper bound, in microseconds, of the bucket that contains the 99th percentile of the samples since an earlier page.
    pub(crate) fn p99_since(&self, before: &Self, histogram: &str) -> f64 {
        let since = |suffix: &str| {
            let name = format!("{histogram}_{suffix}");
            self.sum_of(&name) - before.sum_of(&name)
        };
        let all = since("count");
        let prefix = format!("{histogram}_bucket{{le=\"");
        let bounds =
            self.0.lines().filter_map(|line| line.strip_prefix(&prefix)?.split_once('"')).map(|(le, _)| le);
        let enough = |bound: &&str| since(&format!("bucket{{le=\"{bound}\"}}")) >= all * 0.99;
        bounds.into_iter().find(enough).and_then(|bound| bound.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1e6
    }
}
