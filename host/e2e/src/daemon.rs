//! A daemon under test: `tenured` with directories of its own, its log kept for when the test fails.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::{Plugin, binaries, cni, metrics, scratch, suite, wait};

/// How long a start or a stop may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// How `tenurectl` ends when there is no such network.
const NOT_FOUND: i32 = 4;
/// Where the kernel tells the boot's id.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How much of the log a failure shows.
const LOG_LINES: usize = 80;

/// A daemon with directories of its own.
///
/// The directories outlive the process, so that a test may end it and start another on the same state.
#[derive(Debug)]
pub struct Daemon {
    directory: TempDir,
    child: Option<Child>,
    /// How often the machine was booted.
    boots: u32,
}

impl Daemon {
    /// Starts a daemon with its embedded defaults, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn start() -> anyhow::Result<Self> {
        let mut daemon = Self::prepare()?;
        daemon.start_again()?;
        Ok(daemon)
    }

    /// Starts a daemon with a configuration, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn start_with(config: &str) -> anyhow::Result<Self> {
        let mut daemon = Self::prepare()?;
        daemon.configure(config)?;
        daemon.start_again()?;
        Ok(daemon)
    }

    /// The directories of a daemon that was not started yet.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn prepare() -> anyhow::Result<Self> {
        Self::prepare_in(scratch::directory()?)
    }

    /// The same in a directory of the caller's choice.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn prepare_in(directory: TempDir) -> anyhow::Result<Self> {
        let daemon = Self { directory, child: None, boots: 0 };
        daemon.configure("")?;
        Ok(daemon)
    }

    /// Writes the configuration that the next start uses. Unless it has a word of its own on host-local, that of the machine which
    /// runs the tests is ignored.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn configure(&self, config: &str) -> anyhow::Result<()> {
        let ignored = if config.contains("[host_local]") { "" } else { "\n[host_local]\nignore = true\n" };
        Ok(std::fs::write(self.path("tenured.toml"), format!("{config}{ignored}"))?)
    }

    /// Lets the next start see another boot of the machine. Needs root.
    ///
    /// # Errors
    /// When the file that stands for the kernel's boot id cannot be written.
    pub fn reboot(&mut self) -> anyhow::Result<()> {
        self.boots += 1;
        Ok(std::fs::write(self.boot_id(), format!("7e5e1e57-0000-4000-8000-{:012}\n", self.boots))?)
    }

    fn boot_id(&self) -> PathBuf {
        self.path("boot_id")
    }

    /// A path in the daemon's directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where its sockets are.
    #[must_use]
    pub fn run_directory(&self) -> PathBuf {
        self.path("run")
    }

    /// Where its checkpoint is.
    #[must_use]
    pub fn state_directory(&self) -> PathBuf {
        self.path("state")
    }

    /// The socket that the shim talks to.
    #[must_use]
    pub fn socket(&self) -> String {
        self.run_directory().join("cni.sock").display().to_string()
    }

    /// The command that starts this daemon, its log appended to.
    ///
    /// # Errors
    /// When the binary is not there.
    pub fn command(&self) -> anyhow::Result<Command> {
        self.command_in(&self.run_directory())
    }

    /// The same command with another directory for its sockets.
    ///
    /// # Errors
    /// When the binary is not there.
    pub fn command_in(&self, run_directory: &Path) -> anyhow::Result<Command> {
        let log = File::options().create(true).append(true).open(self.path("tenured.log"))?;
        let mut command = if self.boots > 0 {
            // `exec` keeps the process id.
            let script = format!("mount --bind {} {BOOT_ID} && exec \"$@\"", self.boot_id().display());
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", &script, "sh"]).arg(binaries::find("tenured")?);
            command
        } else {
            Command::new(binaries::find("tenured")?)
        };
        command.arg("--run-dir").arg(run_directory).arg("--state-dir").arg(self.state_directory());
        let config = self.path("tenured.toml");
        if config.exists() {
            command.arg("--config").arg(config);
        }
        command.current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// Starts the process and waits until it is ready, and until each policy is loaded or known not to load.
    ///
    /// # Errors
    /// When it runs already, or does not become ready.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        self.launch()?;
        let seconds = LIMIT.as_secs().to_string();
        let output = self.ctl_output(&["status", "--wait", &seconds])?;
        ensure!(output.status.success(), "not ready: {}", told(&output));
        self.loads_policies()
    }

    /// Waits until each policy is loaded or known not to load.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn loads_policies(&self) -> anyhow::Result<()> {
        wait::holds("the policies to be loaded", LIMIT, || {
            let list = self.list(&["policy", "list"], "policies")?;
            Ok(list.iter().all(|policy| policy.get("loading") != Some(&Value::Bool(true))))
        })
    }

    /// Starts the process and waits for nothing.
    ///
    /// # Errors
    /// When it runs already.
    pub fn spawn(&mut self) -> anyhow::Result<()> {
        ensure!(self.child.is_none(), "the daemon runs already");
        self.child = Some(self.command()?.spawn()?);
        Ok(())
    }

    /// Starts the process and waits until it answers, ready or not, and is no longer starting.
    ///
    /// # Errors
    /// When it runs already, or does not answer.
    pub fn launch(&mut self) -> anyhow::Result<()> {
        self.spawn()?;
        wait::holds("the daemon to answer", LIMIT, || {
            let output = self.ctl_output(&["status"])?;
            // 0 and 1 are the daemon's own answers.
            Ok(matches!(output.status.code(), Some(0 | 1)) && !is_starting(&output.stdout))
        })
    }

    /// The process id.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pid(&self) -> anyhow::Result<Pid> {
        Ok(Pid::from_child(self.child.as_ref().context("the daemon does not run")?))
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When it does not run.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// Ends the daemon as a crash does.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("the daemon does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Ends the daemon as a service manager does, and returns how it ended.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.ended()
    }

    /// Waits until the daemon ends.
    ///
    /// # Errors
    /// When it does not.
    pub fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let child = self.child.as_mut().context("the daemon does not run")?;
        let status = wait::until("the daemon to end", LIMIT, || Ok(child.try_wait()?))?;
        self.child = None;
        Ok(status)
    }

    /// The shim, told of this daemon's socket.
    ///
    /// # Errors
    /// When the binary is not there.
    pub fn shim(&self) -> anyhow::Result<Plugin> {
        Ok(Plugin::new(&binaries::find("tenure")?).env("TENURE_SOCKET", self.socket()))
    }

    /// A directory for `CNI_PATH` in which the shim lies under the given names.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn plugin_directory(&self, names: &[&str]) -> anyhow::Result<PathBuf> {
        cni::link_as(&binaries::find("tenure")?, &self.path("bin"), names)
    }

    /// Runs `tenurectl` and returns what it printed and how it ended.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn ctl_output(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Ok(Command::new(binaries::find("tenurectl")?)
            .arg("--run-dir")
            .arg(self.run_directory())
            .args(["--output", "json"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()?)
    }

    /// Runs `tenurectl`, which must succeed, and returns its JSON.
    ///
    /// # Errors
    /// When it fails.
    pub fn ctl(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let output = self.ctl_output(arguments)?;
        ensure!(output.status.success(), "tenurectl {arguments:?}: {}", told(&output));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A network's allocations; none where the network was never made.
    ///
    /// # Errors
    /// When `tenurectl` fails.
    pub fn allocations(&self, network: &str) -> anyhow::Result<Vec<Value>> {
        let arguments = ["allocations", "--network", network];
        if self.ctl_output(&arguments)?.status.code() == Some(NOT_FOUND) {
            return Ok(Vec::new());
        }
        self.list(&arguments, "allocations")
    }

    /// The networks.
    ///
    /// # Errors
    /// When `tenurectl` fails.
    pub fn networks(&self) -> anyhow::Result<Vec<Value>> {
        self.list(&["networks"], "networks")
    }

    fn list(&self, arguments: &[&str], key: &str) -> anyhow::Result<Vec<Value>> {
        let answer = self.ctl(arguments)?;
        let list = answer.get(key).and_then(Value::as_array);
        list.cloned().ok_or_else(|| anyhow!("no list of {key}: {answer}"))
    }

    /// The address for its configuration's `metrics.listen` that [`metrics`](Self::metrics) reads from.
    #[must_use]
    pub fn metrics_address(&self) -> String {
        format!("unix:{}", self.metrics_socket().display())
    }

    fn metrics_socket(&self) -> PathBuf {
        self.path("metrics.sock")
    }

    /// Its metrics. A daemon that has just begun to serve listens for scrapers a little later.
    ///
    /// # Errors
    /// When there are none.
    pub fn metrics(&self) -> anyhow::Result<String> {
        wait::until("the daemon's metrics", LIMIT, || Ok(metrics::read(&self.metrics_socket()).ok()))
    }

    /// The most memory that the process has had resident, in KiB.
    ///
    /// # Errors
    /// When it does not run.
    pub fn peak_rss(&self) -> anyhow::Result<u64> {
        self.memory("VmHWM:")
    }

    /// How much memory the process has resident, in KiB.
    ///
    /// # Errors
    /// When it does not run.
    pub fn rss(&self) -> anyhow::Result<u64> {
        self.memory("VmRSS:")
    }

    fn memory(&self, which: &str) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/status", self.pid()?.as_raw_nonzero());
        let status = std::fs::read_to_string(path)?;
        let line = status.lines().find_map(|line| line.strip_prefix(which)).context("no such line")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// The end of the log, of those lines that have a text.
    #[must_use]
    pub fn log(&self, about: &str) -> String {
        let log = std::fs::read_to_string(self.path("tenured.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(about)).collect();
        lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default().join("\n")
    }
}

/// How a program ended and all that it printed.
fn told(Output { status, stdout, stderr }: &Output) -> String {
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    format!("{status}; stdout: {stdout:?}; stderr: {stderr:?}")
}

/// Whether a status says that what served before is still being loaded.
fn is_starting(status: &[u8]) -> bool {
    let status: Value = serde_json::from_slice(status).unwrap_or_default();
    let mut conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.any(|condition| condition.get("name").and_then(Value::as_str) == Some("starting"))
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.child.is_some() {
            // It may have ended by itself, or be stopped; both end here.
            let _ = self.kill();
        }
        suite::evidence(format!("--- the daemon's log\n{}", self.log("")));
    }
}

/// A daemon that the tests of a suite share: started by the first that asks, ended with the last.
#[derive(Debug, Clone, Default)]
pub struct Shared(Arc<Mutex<Option<Arc<Daemon>>>>);

impl Shared {
    /// The daemon.
    ///
    /// # Errors
    /// When it does not start.
    pub fn get(&self) -> anyhow::Result<Arc<Daemon>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(daemon) = &*shared {
            return Ok(Arc::clone(daemon));
        }
        let daemon = Arc::new(Daemon::start()?);
        *shared = Some(Arc::clone(&daemon));
        Ok(daemon)
    }
}
