//! Faults at system calls of the daemon, injected by strace: killed at the so-many-th sync, or told that it failed.
//!
//! strace counts in each thread. So the calls of a start are counted by a tracer that starts the daemon, and those of the
//! thread that writes the checkpoint by one that is attached once the daemon serves.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Pid;

use crate::wait;

/// How long strace may take to attach or to end on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A fault at one call of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The system calls that are counted, as strace names a set of them.
    pub calls: &'static str,
    /// What happens, as strace names it.
    pub effect: &'static str,
    /// Which of the calls it happens at, from 1 on.
    pub at: u32,
}

impl Fault {
    fn expression(self) -> String {
        format!("inject={}:{}:when={}", self.calls, self.effect, self.at)
    }

    /// The words that start a daemon with this fault; the tracer is no child of whoever starts it.
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
        let pid = pid.as_raw_nonzero().to_string();
        let calls = format!("trace={}", self.calls);
        let child = Command::new("strace")
            .args(["-f", "-qq", "-y", "-p", &pid, "-o"])
            .arg(trace)
            .args(["-e", &calls, "-e", &self.expression()])
            .stdin(Stdio::null())
            .spawn()
            .context("strace")?;
        let mut tracer = Tracer(child);
        wait::holds("strace to attach", LIMIT, || {
            ensure!(tracer.0.try_wait()?.is_none(), "strace ended");
            for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
                // A thread may end meanwhile.
                let status = std::fs::read_to_string(task?.path().join("status")).unwrap_or_default();
                if status.contains("TracerPid:\t0\n") {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(tracer)
    }
}

/// A tracer that is attached; dropping it lets the process go.
#[derive(Debug)]
pub struct Tracer(Child);

impl Drop for Tracer {
    fn drop(&mut self) {
        // It ends by itself when what it traces has ended. The kernel detaches what a killed tracer leaves.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
