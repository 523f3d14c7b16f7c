//! Programs as a runtime starts them: the plugin, its peer, and /bin/true as the least that any program can cost.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::random::Random;
use tenure_e2e::{Daemon, binaries};

/// A program and what it is started with.
#[derive(Debug)]
pub(crate) struct Subject {
    program: PathBuf,
    verb: &'static str,
    socket: String,
    /// Networks, taken in turns.
    configs: Vec<Value>,
    /// Container ids are never used twice.
    next: AtomicUsize,
}

/// The times of one subject, sorted.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The microseconds that a share of the runs did not take longer than, in percent.
    pub(crate) fn percentile(&self, share: usize) -> f64 {
        let time = self.0.get((self.0.len().saturating_sub(1)) * share / 100);
        time.map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }
}

/// A network's configuration, as the plugin and its peer both read it.
pub(crate) fn network(daemon: &Daemon, name: &str, subnet: &str) -> Value {
    json!({
        "cniVersion": "1.0.0", "name": name, "type": "bench",
        "ipam": { "type": "tenure", "dataDir": daemon.path("host-local"), "ranges": [[{ "subnet": subnet }]] },
    })
}

impl Subject {
    /// The least that a program costs.
    pub(crate) fn bin_true() -> Self {
        Self::new("/bin/true".into(), "ADD", String::new(), vec![Value::Null])
    }

    /// The peer.
    pub(crate) fn host_local(config: Value) -> anyhow::Result<Self> {
        let path = PathBuf::from("/usr/lib/cni/host-local");
        ensure!(path.exists(), "Debian's containernetworking-plugins is not installed");
        Ok(Self::new(path, "ADD", String::new(), vec![config]))
    }

    /// The plugin, which gives addresses of these networks in turns.
    pub(crate) fn tenure(daemon: &Daemon, configs: Vec<Value>) -> anyhow::Result<Self> {
        Ok(Self::new(binaries::find("tenure")?, "ADD", daemon.socket(), configs))
    }

    /// The plugin, asked for what it knows by itself.
    pub(crate) fn version(daemon: &Daemon) -> anyhow::Result<Self> {
        Ok(Self::new(binaries::find("tenure")?, "VERSION", daemon.socket(), vec![Value::Null]))
    }

    /// The plugin, asked for what the daemon has in memory.
    pub(crate) fn status(daemon: &Daemon) -> anyhow::Result<Self> {
        // STATUS came with this version, which Debian's peer does not know yet.
        let ipam = json!({ "type": "tenure", "ranges": [[{ "subnet": "10.1.0.0/16" }]] });
        let config = json!({ "cniVersion": "1.1.0", "name": "bench-status", "type": "bench", "ipam": ipam });
        Ok(Self::new(binaries::find("tenure")?, "STATUS", daemon.socket(), vec![config]))
    }

    fn new(program: PathBuf, verb: &'static str, socket: String, configs: Vec<Value>) -> Self {
        Self { program, verb, socket, configs, next: AtomicUsize::new(0) }
    }

    /// The command for a container, and what it reads.
    pub(crate) fn command(&self, verb: &str, number: usize) -> (Command, String) {
        let mut command = Command::new(&self.program);
        command.env_clear().env("CNI_COMMAND", verb).env("CNI_CONTAINERID", format!("bench-{number}"));
        command.env("CNI_NETNS", "/run/netns/none").env("CNI_IFNAME", "eth0").env("CNI_PATH", "/usr/lib/cni");
        command.env("TENURE_SOCKET", &self.socket);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let config = self.configs.get(number % self.configs.len().max(1));
        (command, config.map(Value::to_string).unwrap_or_default())
    }

    /// Starts the program and waits for its end, as a runtime does.
    fn run(&self, verb: &str, number: usize) -> anyhow::Result<Duration> {
        let (mut command, input) = self.command(verb, number);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| self.program.display().to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that reads nothing may have ended before.
            let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        }
        let output = child.wait_with_output()?;
        let took = started.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{} {verb}: {said}", self.program.display());
        Ok(took)
    }

    fn number(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs once; what was allocated is given back, so that the next run finds the same.
    fn once(&self) -> anyhow::Result<Duration> {
        let number = self.number();
        let took = self.run(self.verb, number)?;
        if self.verb == "ADD" {
            self.run("DEL", number)?;
        }
        Ok(took)
    }

    /// Runs so many times by so many callers at once, and gives back what was allocated afterwards.
    fn burst(&self, callers: usize, total: usize) -> anyhow::Result<Duration> {
        let first = self.next.fetch_add(total, Ordering::Relaxed);
        let in_parallel = |verb: &str| {
            let (next, failed) = (AtomicUsize::new(first), Mutex::new(None));
            let started = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..callers {
                    scope.spawn(|| {
                        loop {
                            let number = next.fetch_add(1, Ordering::Relaxed);
                            if number >= first + total {
                                break;
                            }
                            if let (Err(error), Ok(mut failed)) = (self.run(verb, number), failed.lock()) {
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
        };
        let took = in_parallel("ADD")?;
        in_parallel("DEL")?;
        Ok(took)
    }
}

/// Runs each subject once a round, so that all meet the same machine, in an order that is another each round: what ran
/// before has warmed the caches for some, and not for others.
pub(crate) fn in_turns<const N: usize>(rounds: usize, subjects: [&Subject; N]) -> anyhow::Result<[Times; N]> {
    // The first time in each network finds nothing in any cache.
    for subject in subjects {
        for _ in &subject.configs {
            subject.once()?;
        }
    }
    let mut random = Random::new(1);
    let mut times = [const { Vec::new() }; N];
    for _ in 0..rounds {
        let mut turns: Vec<_> = subjects.iter().zip(&mut times).collect();
        turns.sort_by_cached_key(|_| random.next_number());
        for (subject, times) in turns {
            times.push(subject.once()?);
        }
    }
    Ok(times.map(Times::new))
}

/// Runs many of each subject at once, in rounds; each one's rate in programs a second.
pub(crate) fn at_once<const N: usize>(
    callers: usize,
    total: usize,
    subjects: [&Subject; N],
) -> anyhow::Result<[f64; N]> {
    let rounds = 4;
    let mut spent = [Duration::ZERO; N];
    for _ in 0..rounds {
        for (subject, spent) in subjects.iter().zip(&mut spent) {
            *spent += subject.burst(callers, total / rounds)?;
        }
    }
    Ok(spent.map(|spent| (total / rounds * rounds) as f64 / spent.as_secs_f64()))
}
