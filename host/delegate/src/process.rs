//! One run of a delegate: its process group, its pipes and its end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::child::ARGUMENT;
use crate::settings::Settings;

/// A running delegate. When dropped, it is killed with everything that it started, and waited for.
pub(crate) struct Process {
    child: Child,
    group: Pid,
    /// Becomes readable when it has ended; its process id is not reused before it was waited for.
    pub(crate) ended: OwnedFd,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: ChildStdout,
    pub(crate) errors: ChildStderr,
}

impl Process {
    /// Starts a delegate with this environment and nothing else; it holds a lock on the file until it ends.
    pub(crate) fn start(
        settings: &Settings,
        lock: &Path,
        environment: &[(String, String)],
    ) -> io::Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .arg0("tenure-delegate")
            .arg(ARGUMENT)
            .arg(std::process::id().to_string())
            .arg(lock)
            .arg(&settings.path)
            .arg(settings.sha256.as_deref().unwrap_or_default())
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let group = Pid::from_child(&child);
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = (input, output, errors) else {
            return Err(io::Error::other("its pipes are missing"));
        };
        let ended = pidfd_open(group, PidfdFlags::empty())?;
        fcntl_setfl(&input, fcntl_getfl(&input)? | OFlags::NONBLOCK)?;
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        fcntl_setfl(&errors, fcntl_getfl(&errors)? | OFlags::NONBLOCK)?;
        Ok(Self { child, group, ended, input: Some(input), output, errors })
    }

    /// Kills the delegate and everything in its process group. The group's number is still its own: the delegate was not
    /// waited for yet.
    pub(crate) fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    /// How it ended; waits for that.
    pub(crate) fn status(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}
