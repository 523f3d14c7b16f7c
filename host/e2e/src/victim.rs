//! A daemon that a test means to break: killed at chosen moments, traced, or on a disk that fails under it.
//!
//! Should the test itself be killed, the daemon dies with it, so that no mount of the test is kept busy.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::Runtime;

use crate::client::Client;
use crate::journal::Journal;
use crate::{Daemon, Plugin, wait};

/// How long a start or an end may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A daemon to be broken; see the module's text.
#[derive(Debug)]
pub struct Victim {
    /// Its directories, its log and `tenurectl`; the process is started here.
    pub daemon: Daemon,
    child: Option<Child>,
    runtime: Runtime,
}

impl Victim {
    /// One that was not started yet, with directories of its own.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { daemon: Daemon::prepare()?, child: None, runtime })
    }

    /// One whose state directory is in another place.
    ///
    /// # Errors
    /// When its directories cannot be made.
    pub fn with_state_in(place: &Path) -> anyhow::Result<Self> {
        let victim = Self::new()?;
        std::os::unix::fs::symlink(place, victim.daemon.state_directory())?;
        Ok(victim)
    }

    /// Starts it and waits until it serves.
    ///
    /// # Errors
    /// When it ends instead.
    pub fn start(&mut self) -> anyhow::Result<()> {
        match self.start_under(&[])? {
            None => Ok(()),
            Some(status) => anyhow::bail!("the daemon ended: {status}"),
        }
    }

    /// Starts it as the last words of another command, and waits until it serves or has ended.
    ///
    /// # Errors
    /// When it does neither.
    pub fn start_under(&mut self, words: &[&str]) -> anyhow::Result<Option<ExitStatus>> {
        self.spawn(words)?;
        let run_directory = self.daemon.run_directory();
        let child = self.child.as_mut().context("the daemon was not started")?;
        let ended = wait::until("the daemon to serve", LIMIT, || {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(Some(status)));
            }
            let serves =
                self.runtime.block_on(async { Client::connect(&run_directory).await?.has_started().await });
            Ok(serves.unwrap_or(false).then_some(None))
        })?;
        if ended.is_some() {
            self.child = None;
        }
        Ok(ended)
    }

    /// Starts it as the last words of another command, and does not wait.
    ///
    /// # Errors
    /// When it runs already.
    pub fn spawn(&mut self, words: &[&str]) -> anyhow::Result<()> {
        ensure!(self.child.is_none(), "the daemon runs already");
        let plain = self.daemon.command()?;
        let log = std::fs::File::options().append(true).open(self.daemon.path("tenured.log"))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(words).arg(plain.get_program()).args(plain.get_args());
        command.stdin(std::process::Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn()?);
        Ok(())
    }

    /// Its process id.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pid(&self) -> anyhow::Result<Pid> {
        Ok(Pid::from_child(self.child.as_ref().context("the daemon does not run")?))
    }

    /// Whether it has not been seen to end.
    fn runs(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits for its end, which a signal may have been sent for or a fault.
    ///
    /// # Errors
    /// When it does not end.
    pub fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let child = self.child.as_mut().context("the daemon does not run")?;
        let status = wait::until("the daemon to end", LIMIT, || Ok(child.try_wait()?))?;
        self.child = None;
        Ok(status)
    }

    /// Kills it, unless something else did.
    ///
    /// # Errors
    /// When it ended in another way.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        if self.child.is_none() {
            return Ok(());
        }
        if self.runs() {
            kill_process(self.pid()?, Signal::KILL)?;
        }
        let status = self.ended()?;
        ensure!(status.signal() == Some(Signal::KILL.as_raw()), "the daemon ended by itself: {status}");
        Ok(())
    }

    /// Asks it to end, unless something else has ended it, and returns how it ended.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        let pid = self.pid()?;
        if self.runs() {
            kill_process(pid, Signal::TERM)?;
        }
        self.ended()
    }

    /// The plugin, told of its socket.
    ///
    /// # Errors
    /// When it was not built.
    pub fn shim(&self) -> anyhow::Result<Plugin> {
        self.daemon.shim()
    }

    /// A connection to it.
    ///
    /// # Errors
    /// When it does not serve.
    pub fn client(&self) -> anyhow::Result<Client> {
        self.block_on(Client::connect(&self.daemon.run_directory()))
    }

    /// Runs something to its end.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Holds a daemon that has just started against what pods were told; then what had no answer is deleted, as a runtime
    /// does, and nothing may be left that nobody was told of.
    ///
    /// # Errors
    /// The promise that is broken.
    pub fn keeps_promises(&self, journal: &Journal) -> anyhow::Result<()> {
        let client = self.client()?;
        self.block_on(async {
            journal.check(&client.owners().await?)?;
            for pod in journal.unanswered() {
                journal.del_sent(&pod);
                client.del(&pod).await.with_context(|| format!("the repeated DEL of {pod}"))?;
                journal.deleted(&pod);
            }
            journal.check_exactly(&client.owners().await?)
        })?;
        journal.forget_gone();
        Ok(())
    }

    /// Deletes every pod; then nothing may be left.
    ///
    /// # Errors
    /// When something is.
    pub fn deletes_everything(&self, journal: &Journal) -> anyhow::Result<()> {
        let client = self.client()?;
        self.block_on(async {
            for pod in journal.held() {
                journal.del_sent(&pod);
                client.del(&pod).await.with_context(|| format!("the DEL of {pod}"))?;
                journal.deleted(&pod);
            }
            let owners = client.owners().await?;
            ensure!(owners.is_empty(), "left behind: {owners:?}");
            Ok(())
        })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
