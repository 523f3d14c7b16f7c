//! What the daemon counts of its own work.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The histogram of policy calls.
pub(crate) const POLICY: &str = "tenure_policy_call_duration_seconds";
/// The histogram of syncs, the writing before them included.
pub(crate) const SYNC: &str = "tenure_checkpoint_sync_duration_seconds";

/// The socket that metrics are served at.
#[derive(Debug, Clone)]
pub(crate) struct Metrics(PathBuf);

/// One page of them.
#[derive(Debug)]
pub(crate) struct Page(String);

impl Metrics {
    pub(crate) fn at(socket: &Path) -> Self {
        Self(socket.to_owned())
    }

    pub(crate) fn read(&self) -> anyhow::Result<Page> {
        let mut stream = UnixStream::connect(&self.0).context("the daemon's metrics")?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(Page(page))
    }
}

impl Page {
    fn sum_of(&self, name: &str) -> f64 {
        let lines = self.0.lines().filter_map(|line| line.strip_prefix(name));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    /// Microseconds that a histogram has counted since an earlier page.
    pub(crate) fn spent_since(&self, before: &Self, histogram: &str) -> f64 {
        let name = format!("{histogram}_sum");
        (self.sum_of(&name) - before.sum_of(&name)) * 1e6
    }

    /// Microseconds of the bucket that the slowest in a hundred since an earlier page begin behind.
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
