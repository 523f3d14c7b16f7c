//! Programs as a runtime starts them: the plugin, its peer, and /bin/true as the least that any program can cost.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Daemon, binaries};

use crate::host_local;

/// What is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    True,
    Tenure,
    HostLocal,
}

/// A network to ADD to.
pub(crate) struct Exec {
    plugin: PathBuf,
    peer: PathBuf,
    socket: String,
    config: Value,
    /// Container ids are never used twice.
    next: AtomicUsize,
}

/// The times of one kind, sorted.
pub(crate) type Times = Vec<Duration>;

/// The time that a share of the runs did not take longer than.
pub(crate) fn percentile(times: &Times, share: usize) -> Duration {
    times.get((times.len().saturating_sub(1)) * share / 100).copied().unwrap_or_default()
}

impl Exec {
    pub(crate) fn new(daemon: &Daemon, network: &str, subnet: &str) -> anyhow::Result<Self> {
        let peer_data = daemon.path("host-local");
        let config = json!({
            "cniVersion": "1.0.0", "name": network, "type": "bench",
            "ipam": { "type": "tenure", "dataDir": peer_data, "ranges": [[{ "subnet": subnet }]] },
        });
        Ok(Self {
            plugin: binaries::find("tenure")?,
            peer: host_local()?,
            socket: daemon.socket(),
            config,
            next: AtomicUsize::new(0),
        })
    }

    pub(crate) fn config(&self) -> &Value {
        &self.config
    }

    /// Starts a program and waits for its end, as a runtime does.
    fn run(&self, kind: Kind) -> anyhow::Result<Duration> {
        let program = match kind {
            Kind::True => Path::new("/bin/true"),
            Kind::Tenure => &self.plugin,
            Kind::HostLocal => &self.peer,
        };
        let mut command = Command::new(program);
        let id = format!("bench-{}", self.next.fetch_add(1, Ordering::Relaxed));
        command.env_clear().env("CNI_COMMAND", "ADD").env("CNI_CONTAINERID", id);
        command.env("CNI_NETNS", "/run/netns/none").env("CNI_IFNAME", "eth0").env("CNI_PATH", "/usr/lib/cni");
        command.env("TENURE_SOCKET", &self.socket);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let input = self.config.to_string();
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            // /bin/true may have ended before it was written to.
            let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        }
        let output = child.wait_with_output()?;
        let took = started.elapsed();
        ensure!(
            output.status.success(),
            "{}: {}",
            program.display(),
            String::from_utf8_lossy(&output.stdout)
        );
        Ok(took)
    }

    /// Starts each kind in turn, so that all meet the same machine.
    pub(crate) fn in_turns(&self, rounds: usize, kinds: &[Kind]) -> anyhow::Result<Vec<(Kind, Times)>> {
        let mut all: Vec<(Kind, Times)> = kinds.iter().map(|kind| (*kind, Vec::new())).collect();
        for round in 0..rounds + 1 {
            for (kind, times) in &mut all {
                let took = self.run(*kind)?;
                // The first finds nothing in any cache.
                if round > 0 {
                    times.push(took);
                }
            }
        }
        for (_, times) in &mut all {
            times.sort_unstable();
        }
        Ok(all)
    }

    /// The median of this network's ADD over another's, in turns.
    pub(crate) fn beside(&self, other: &Self, rounds: usize) -> anyhow::Result<f64> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            ours.push(self.run(Kind::Tenure)?);
            theirs.push(other.run(Kind::Tenure)?);
        }
        ours.sort_unstable();
        theirs.sort_unstable();
        Ok(percentile(&ours, 50).as_secs_f64() / percentile(&theirs, 50).as_secs_f64())
    }

    /// Starts a kind at a time, so many at once, in rounds; its rate in programs a second.
    pub(crate) fn in_parallel(
        &self,
        callers: usize,
        total: usize,
        kinds: &[Kind],
    ) -> anyhow::Result<Vec<(Kind, f64)>> {
        let rounds = 4;
        let mut spent: Vec<(Kind, Duration)> = kinds.iter().map(|kind| (*kind, Duration::ZERO)).collect();
        for _ in 0..rounds {
            for (kind, spent) in &mut spent {
                *spent += self.burst(callers, total / rounds, *kind)?;
            }
        }
        let rate = |spent: Duration| (total / rounds * rounds) as f64 / spent.as_secs_f64();
        Ok(spent.into_iter().map(|(kind, spent)| (kind, rate(spent))).collect())
    }

    fn burst(&self, callers: usize, total: usize, kind: Kind) -> anyhow::Result<Duration> {
        let (left, failed) = (AtomicUsize::new(total), Mutex::new(None));
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| {
                    while left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                        .is_ok()
                    {
                        if let (Err(error), Ok(mut failed)) = (self.run(kind), failed.lock()) {
                            *failed = Some(error);
                        }
                    }
                });
            }
        });
        let took = started.elapsed();
        match failed.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(took),
        }
    }
}
