//! A long-lived program in a namespace of the demonstration, with a log.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::super::enclave::child_of;

/// How many lines of a log are shown for a failure.
const LOG_LINES: usize = 12;

/// A running program. It ends with its namespace.
#[derive(Debug)]
pub(super) struct DemoProcess {
    name: &'static str,
    /// The `nsenter` that waits for it.
    waiter: Child,
    log: PathBuf,
}

impl DemoProcess {
    /// Starts a program by a command that enters a namespace. Its output is appended to the log, a path as seen from outside.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(name: &'static str, mut command: Command, log: PathBuf) -> Result<Self> {
        let file = File::options().create(true).append(true).open(&log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let waiter = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name, waiter, log })
    }

    /// Kills the program, as in a crash.
    ///
    /// # Errors
    /// When it has already ended.
    pub(super) fn kill(mut self) -> Result<()> {
        let program = i32::try_from(child_of(self.waiter.id())?)?;
        kill_process(Pid::from_raw(program).context("no process")?, Signal::KILL)?;
        self.waiter.wait()?;
        Ok(())
    }

    /// Whether a line that its log has contains a text.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn has_logged(&self, text: &str) -> Result<bool> {
        Ok(fs::read_to_string(&self.log)?.contains(text))
    }

    /// Checks that the program still runs.
    ///
    /// # Errors
    /// Ends with the last lines of its log if it does not.
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(status) = self.waiter.try_wait()? else { return Ok(()) };
        bail!("{} has ended ({status}):\n{}", self.name, self.tail())
    }

    /// The last lines of the log.
    pub(super) fn tail(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default().join("\n")
    }
}
