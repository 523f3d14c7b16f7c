//! Where the time of an ADD goes, by what the run itself has measured.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// Microseconds of one ADD, part by part, and of its peers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Parts {
    /// `/bin/true`, for scale.
    pub(crate) bin_true: f64,
    /// Debian's plugin, for scale.
    pub(crate) host_local: f64,
    /// The plugin starts and ends, and asks nobody.
    pub(crate) exec: f64,
    /// It connects, sends a request that needs neither policy nor disk, and has the answer.
    pub(crate) connect: f64,
    pub(crate) policy: f64,
    pub(crate) sync: f64,
    /// What is left of the ADD: the daemon reads and checks, keeps its book, and wakes its threads.
    pub(crate) daemon: f64,
}

impl Parts {
    /// The parts with their names, in the order in which an ADD goes through them.
    pub(crate) fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("exec", self.exec),
            ("connect", self.connect),
            ("policy", self.policy),
            ("sync", self.sync),
            ("daemon", self.daemon),
        ]
    }

    pub(crate) fn sum(&self) -> f64 {
        self.named().iter().map(|(_, microseconds)| microseconds).sum()
    }

    /// For people.
    pub(crate) fn lines(&self) -> String {
        let mut text = "where the time of an ADD goes:\n".to_owned();
        for (name, microseconds) in self.named() {
            let _ = writeln!(text, "  {name:<10} {microseconds:>6.0} us");
        }
        text
    }
}

/// How often something was done and how long it took in all, as the daemon counts it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    count: f64,
    seconds: f64,
}

impl Spent {
    /// Reads a histogram from the daemon's metrics.
    pub(crate) fn read(socket: &Path, histogram: &str) -> anyhow::Result<Self> {
        let mut stream = UnixStream::connect(socket).context("the daemon's metrics")?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        let sum_of = |suffix: &str| -> f64 {
            let name = format!("{histogram}_{suffix}");
            let lines = page.lines().filter_map(|line| line.strip_prefix(&name));
            lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
        };
        Ok(Self { count: sum_of("count"), seconds: sum_of("sum") })
    }

    /// Microseconds each, since an earlier look.
    pub(crate) fn mean_since(self, before: Self) -> f64 {
        (self.seconds - before.seconds) * 1e6 / (self.count - before.count).max(1.0)
    }
}
