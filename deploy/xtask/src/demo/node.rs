//! The node of the demonstration: a daemon in the enclave.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::enclave::{Enclave, child_of};
use crate::command;

/// The daemon's run directory, inside the enclave.
const RUN: &str = "/run/tenure";
/// The daemon's state directory, inside the enclave.
const STATE: &str = "/run/tenure-state";
/// The daemon's configuration file, inside the enclave, if it has one.
const CONFIG: &str = "/run/tenured.toml";
/// The daemon's log file, inside the enclave.
const LOG: &str = "/run/tenured.log";
/// How many lines of the log are shown for a failure.
const LOG_LINES: usize = 30;

/// A running daemon.
#[derive(Debug)]
pub(crate) struct DemoNode<'a> {
    enclave: &'a Enclave,
    binaries: PathBuf,
    daemon: Child,
}

impl<'a> DemoNode<'a> {
    /// Writes the configuration file of the next start. Without one, the daemon has its defaults.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn configure(enclave: &Enclave, config: &str) -> Result<()> {
        Ok(fs::write(enclave.outside(CONFIG), config)?)
    }

    /// Starts the daemon and waits until it serves.
    ///
    /// # Errors
    /// When it does not, with the end of its log.
    pub(crate) fn start(enclave: &'a Enclave, binaries: PathBuf) -> Result<Self> {
        let log = File::options().create(true).append(true).open(enclave.outside(LOG))?;
        let mut command = enclave.command(binaries.join("tenured"));
        command.args(["--run-dir", RUN, "--state-dir", STATE]);
        if fs::exists(enclave.outside(CONFIG))? {
            command.args(["--config", CONFIG]);
        }
        let daemon = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let node = Self { enclave, binaries, daemon };
        node.ctl(&["status", "--wait", "60"])
            .with_context(|| format!("the end of the daemon's log:\n{}", node.log()))?;
        Ok(node)
    }

    /// Kills the daemon, as in a crash, and starts another on the same state.
    ///
    /// # Errors
    /// When it cannot be killed, or the next one does not serve.
    pub(crate) fn crash(mut self) -> Result<Self> {
        let daemon = i32::try_from(child_of(self.daemon.id())?)?;
        kill_process(Pid::from_raw(daemon).context("the daemon is gone")?, Signal::KILL)?;
        self.daemon.wait()?;
        Self::start(self.enclave, self.binaries)
    }

    /// Runs `tenurectl` and returns its JSON output.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> Result<Value> {
        let text = command::output(self.tenurectl(arguments).args(["--output", "json"]))?;
        serde_json::from_str(&text)
            .with_context(|| format!("tenurectl {arguments:?} did not print JSON: {text}"))
    }

    /// Runs `tenurectl` and returns what it prints for people.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn table(&self, arguments: &[&str]) -> Result<String> {
        command::output(&mut self.tenurectl(arguments))
    }

    fn tenurectl(&self, arguments: &[&str]) -> Command {
        let mut ctl = self.enclave.command(self.binaries.join("tenurectl"));
        ctl.args(["--run-dir", RUN]).args(arguments);
        ctl
    }

    /// The message of a condition, if the node is in it.
    ///
    /// # Errors
    /// When `tenurectl` fails.
    pub(crate) fn condition(&self, name: &str) -> Result<Option<String>> {
        let status = self.ctl(&["status"])?;
        let conditions =
            status.get("conditions").and_then(Value::as_array).context("a status without conditions")?;
        let text = |condition: &Value, key: &str| {
            condition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let found = conditions.iter().find(|condition| text(condition, "name") == name);
        Ok(found.map(|condition| text(condition, "message")))
    }

    /// The container and address of each allocation, sorted.
    ///
    /// # Errors
    /// When `tenurectl` fails.
    pub(crate) fn allocations(&self) -> Result<Vec<(String, String)>> {
        let answer = self.ctl(&["allocations"])?;
        let Some(list) = answer.get("allocations").unwrap_or(&answer).as_array() else {
            bail!("tenurectl allocations did not print a list: {answer}");
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut owned: Vec<_> = list
            .iter()
            .map(|one| (text(one.get("container_id")), text(one.pointer("/addresses/0"))))
            .collect();
        owned.sort();
        Ok(owned)
    }

    /// The socket on which the plugin finds the daemon.
    pub(crate) fn socket() -> String {
        format!("{RUN}/cni.sock")
    }

    /// The end of the log.
    pub(crate) fn log(&self) -> String {
        let log = fs::read_to_string(self.enclave.outside(LOG)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default().join("\n")
    }
}
