//! Executes programs as a runtime does: the plugin, host-local as its peer, and /bin/true as a baseline.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Daemon, binaries};

/// A program under measurement, with its arguments and input.
#[derive(Debug)]
pub(crate) struct Subject {
    program: PathBuf,
    verb: &'static str,
    socket: String,
    /// Networks, used in turn.
    configs: Vec<Value>,
    /// The next container ID; each is used only once.
    next: AtomicUsize,
}

/// A network's configuration, which both the plugin and its peer can read.
pub(crate) fn network(daemon: &Daemon, name: &str, subnet: &str) -> Value {
    json!({
        "cniVersion": "1.0.0", "name": name, "type": "bench",
        "ipam": { "type": "tenure", "dataDir": daemon.path("host-local"), "ranges": [[{ "subnet": subnet }]] },
    })
}

impl Subject {
    /// A program that does nothing.
    pub(crate) fn bin_true() -> Self {
        Self::new("/bin/true".into(), "ADD", String::new(), vec![Value::Null])
    }

    /// The peer, host-local.
    pub(crate) fn host_local(config: Value) -> anyhow::Result<Self> {
        let path = PathBuf::from("/usr/lib/cni/host-local");
        ensure!(path.exists(), "Debian's containernetworking-plugins is not installed");
        Ok(Self::new(path, "ADD", String::new(), vec![config]))
    }

    /// The plugin, called for these networks in turn.
    pub(crate) fn tenure(daemon: &Daemon, configs: Vec<Value>) -> anyhow::Result<Self> {
        Ok(Self::new(binaries::find("tenure")?, "ADD", daemon.socket(), configs))
    }

    /// The plugin's VERSION, which needs no daemon.
    pub(crate) fn version(daemon: &Daemon) -> anyhow::Result<Self> {
        Ok(Self::new(binaries::find("tenure")?, "VERSION", daemon.socket(), vec![Value::Null]))
    }

    /// The plugin's STATUS of an existing network, which the daemon answers from memory.
    pub(crate) fn status(daemon: &Daemon, mut config: Value) -> anyhow::Result<Self> {
        // The first version with STATUS; Debian's host-local does not support it yet.
        if let Some(version) = config.get_mut("cniVersion") {
            *version = "1.1.0".into();
        }
        Ok(Self::new(binaries::find("tenure")?, "STATUS", daemon.socket(), vec![config]))
    }

    fn new(program: PathBuf, verb: &'static str, socket: String, configs: Vec<Value>) -> Self {
        Self { program, verb, socket, configs, next: AtomicUsize::new(0) }
    }

    /// The command for a container, and its standard input.
    pub(crate) fn command(&self, verb: &str, number: usize) -> (Command, String) {
        let mut command = Command::new(&self.program);
        command.env_clear().env("CNI_COMMAND", verb).env("CNI_CONTAINERID", format!("bench-{number}"));
        command.env("CNI_NETNS", "/run/netns/none").env("CNI_IFNAME", "eth0").env("CNI_PATH", "/usr/lib/cni");
        command.env("TENURE_SOCKET", &self.socket);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let config = self.configs.get(number % self.configs.len().max(1));
        (command, config.map(Value::to_string).unwrap_or_default())
    }

    /// Starts the program and waits for it to exit, as a runtime does.
    fn run(&self, verb: &str, number: usize) -> anyhow::Result<Duration> {
        let (mut command, input) = self.command(verb, number);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| self.program.display().to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that reads nothing may have exited already.
            let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        }
        let output = child.wait_with_output()?;
        let took = started.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{} {verb}: {said}", self.program.display());
        Ok(took)
    }

    /// Runs once, then calls `after` and frees the allocation, so that each run starts from the same state.
    pub(crate) fn once(&self, after: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let took = self.run(self.verb, number)?;
        after()?;
        if self.verb == "ADD" {
            self.run("DEL", number)?;
        }
        Ok(took)
    }

    /// Runs ADD for a further container, which keeps its address.
    pub(crate) fn add(&self) -> anyhow::Result<Duration> {
        self.run("ADD", self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs once in each network, so that all of them exist before anything is timed.
    pub(crate) fn warm_up(&self) -> anyhow::Result<()> {
        self.configs.iter().try_for_each(|_| self.once(|| Ok(())).map(drop))
    }

    /// Runs `total` times by `callers` concurrent callers, and frees the allocations afterwards.
    pub(crate) fn burst(&self, callers: usize, total: usize) -> anyhow::Result<Duration> {
        let first = self.next.fetch_add(total, Ordering::Relaxed);
        let took = self.in_parallel("ADD", callers, first..first + total)?;
        self.in_parallel("DEL", callers, first..first + total)?;
        Ok(took)
    }

    fn in_parallel(
        &self,
        verb: &str,
        callers: usize,
        numbers: std::ops::Range<usize>,
    ) -> anyhow::Result<Duration> {
        let (next, failed) = (AtomicUsize::new(numbers.start), Mutex::new(None));
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= numbers.end {
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
    }
}
