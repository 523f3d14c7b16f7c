//! The operator that is measured, and the memory of programs.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::NamedTempFile;
use tenure_fixtures::node::binaries;

use crate::Failure;

/// An operator; it is killed with the value, and with this program.
pub(crate) struct MeasuredOperator {
    child: Child,
    log: NamedTempFile,
}

impl MeasuredOperator {
    /// Starts it under a name of its own among the replicas.
    pub(crate) fn start(kubeconfig: &Path, identity: &str) -> Result<Self, Failure> {
        let log = NamedTempFile::new()?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(binaries::find("tenure-operator")?);
        command.args(["--identity", identity, "--kubeconfig"]).arg(kubeconfig);
        // As the chart starts it.
        command.env("MALLOC_ARENA_MAX", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.reopen()?);
        Ok(Self { child: command.spawn()?, log })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in order, so that a successor need not wait for its Lease.
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        let status = Command::new("kill").arg(self.id().to_string()).status()?;
        if !status.success() || !self.child.wait()?.success() {
            return Err(self.explain(&"the operator does not end in order".into()));
        }
        Ok(())
    }

    /// Fails if it has ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the operator has ended: {status}").into()),
        }
    }

    /// An error with the last lines of its log.
    pub(crate) fn explain(&self, error: &Failure) -> Failure {
        let mut log = String::new();
        let read = File::open(self.log.path()).and_then(|mut file| file.read_to_string(&mut log));
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n");
        format!("{error}\nthe operator's log ({read:?}):\n{last}").into()
    }
}

impl Drop for MeasuredOperator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Resident memory of a process in megabytes.
pub(crate) fn resident(process: u32) -> Result<f64, Failure> {
    memory(process, "VmRSS:")
}

/// The most resident memory that a process has had, in megabytes.
pub(crate) fn peak(process: u32) -> Result<f64, Failure> {
    memory(process, "VmHWM:")
}

fn memory(process: u32, name: &str) -> Result<f64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no figure of the memory")?;
    let kilobytes: f64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
