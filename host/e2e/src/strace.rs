//! Injects faults into the daemon's system calls with strace: the nth sync kills the daemon, or fails.
//!
//! strace counts calls per thread. So a tracer that starts the daemon counts the calls of the startup, and a tracer that is
//! attached once the daemon serves counts those of the thread that writes the checkpoint.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Pid;

use crate::wait;

/// The longest that strace may take to attach or to exit on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts to record calls of every thread of a process, with the paths of their descriptors.
///
/// # Errors
/// When strace cannot attach.
pub fn record(pid: Pid, calls: &str, trace: &Path) -> anyhow::Result<Tracer> {
    attach(pid, trace, &["-e", &format!("trace={calls}")])
}

/// A fault at one call of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The system calls to count, in strace's syntax.
    pub calls: &'static str,
    /// The fault, in strace's syntax.
    pub effect: &'static str,
    /// The number of the call to inject it into, from 1 on.
    pub at: u32,
}

impl Fault {
    fn expression(self) -> String {
        format!("inject={}:{}:when={}", self.calls, self.effect, self.at)
    }

    /// The command line that starts a daemon with this fault; the daemon, not the tracer, is the child of the caller.
    #[must_use]
    pub fn words(self, trace: &Path) -> Vec<String> {
        let trace = trace.display().to_string();
        let expression = self.expression();
        let calls = format!("trace={}", self.calls);
        let words = ["strace", "-D", "-f", "-qq", "-o", &trace, "-e", &calls, "-e", &expression];
        words.map(str::to_owned).into()
    }

    /// Attaches a tracer with this fault to every thread of a process.
    ///
    /// # Errors
    /// When it cannot attach.
    pub fn attach(self, pid: Pid, trace: &Path) -> anyhow::Result<Tracer> {
        attach(pid, trace, &["-e", &format!("trace={}", self.calls), "-e", &self.expression()])
    }

    /// The same, for calls that concern a path; others do not count.
    ///
    /// # Errors
    /// When it cannot attach.
    pub fn attach_to(self, path: &str, pid: Pid, trace: &Path) -> anyhow::Result<Tracer> {
        let calls = format!("trace={}", self.calls);
        attach(pid, trace, &["-P", path, "-e", &calls, "-e", &self.expression()])
    }
}

/// Injects a fault into every one of these calls of a process, until the tracer is dropped.
///
/// # Errors
/// When strace cannot attach.
pub fn always(calls: &str, effect: &str, pid: Pid, trace: &Path) -> anyhow::Result<Tracer> {
    attach(pid, trace, &["-e", &format!("trace={calls}"), "-e", &format!("inject={calls}:{effect}")])
}

/// Attaches strace to every thread of a process.
fn attach(pid: Pid, trace: &Path, arguments: &[&str]) -> anyhow::Result<Tracer> {
    let pid = pid.as_raw_nonzero().to_string();
    let child = Command::new("strace")
        .args(["-f", "-qq", "-y", "-p", &pid, "-o"])
        .arg(trace)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
        .context("strace")?;
    let mut tracer = Tracer(child);
    wait::holds("strace to attach", LIMIT, || {
        ensure!(tracer.0.try_wait()?.is_none(), "strace ended");
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may exit in the meantime.
            let status = std::fs::read_to_string(task?.path().join("status")).unwrap_or_default();
            if status.contains("TracerPid:\t0\n") {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    Ok(tracer)
}

/// An attached tracer; dropping it detaches.
#[derive(Debug)]
pub struct Tracer(Child);

impl Drop for Tracer {
    fn drop(&mut self) {
        // It exits by itself once the traced process has exited. The kernel detaches the threads of a killed tracer.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
