//! One run of a delegate: its process group, its pipes and its end.
//!
//! ```text
//! started: this program again, as the leader of a process group
//!    │ locks the call's file, checks the binary, becomes it ── or cannot: says why, and exits ─┐
//!    ▼                                                                                         │
//! running ── exits ───────────────────────────────────────▶ ended: its pidfd is readable ◀─────┘
//!    │                                                         │
//!    └── out of time, printed too much, or dropped ─▶ group killed ─▶ leader waited for: gone
//! ```
//!
//! The leader is waited for exactly once, and after the group has been killed: until then its number cannot be another process's.
//! Dropping a [`Process`] in any state leads to the end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::child::ARGUMENT;
use crate::settings::DelegateSettings;

/// A running delegate.
pub(crate) struct Process {
    group: Group,
    /// Becomes readable when it has ended; its process id is not reused before it was waited for.
    pub(crate) ended: OwnedFd,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: ChildStdout,
    pub(crate) errors: ChildStderr,
}

/// The process group that a delegate leads, guarded from the moment that it exists: when dropped, it is killed with
/// everything that the delegate has started, and the delegate is waited for.
struct Group {
    leader: Child,
    /// Whether the leader was waited for, so that the group's number may be another's.
    is_waited_for: bool,
}

impl Process {
    /// Starts a delegate with this environment and nothing else; it holds a lock on the file until it ends.
    pub(crate) fn start(
        settings: &DelegateSettings,
        lock: &Path,
        environment: &[(String, String)],
    ) -> io::Result<Self> {
        let leader = Command::new("/proc/self/exe")
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
        Self::of(leader)
    }

    /// A delegate that was started as the leader of a process group of its own.
    fn of(leader: Child) -> io::Result<Self> {
        let mut group = Group { leader, is_waited_for: false };
        let leader = &mut group.leader;
        let (input, output, errors) = (leader.stdin.take(), leader.stdout.take(), leader.stderr.take());
        let (Some(input), Some(output), Some(errors)) = (input, output, errors) else {
            return Err(io::Error::other("its pipes are missing"));
        };
        let ended = pidfd_open(Pid::from_child(leader), PidfdFlags::empty())?;
        fcntl_setfl(&input, fcntl_getfl(&input)? | OFlags::NONBLOCK)?;
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        fcntl_setfl(&errors, fcntl_getfl(&errors)? | OFlags::NONBLOCK)?;
        Ok(Self { group, ended, input: Some(input), output, errors })
    }

    /// Kills the delegate and everything in its process group. The group's number is still its own: the delegate was not
    /// waited for yet.
    pub(crate) fn kill(&self) {
        self.group.kill();
    }

    /// How it ended; waits for that.
    pub(crate) fn status(&mut self) -> io::Result<ExitStatus> {
        self.group.wait()
    }
}

impl Group {
    fn kill(&self) {
        let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
    }

    fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.leader.wait()?;
        self.is_waited_for = true;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_waited_for {
            self.kill();
            let _ = self.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rustix::process::test_kill_process;

    use super::*;

    /// A shell that starts another process, which has the shell's standard error open, and waits or ends.
    fn shell(then: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("sleep 1000 & {then}")).process_group(0);
        command
    }

    /// Regression: an error that followed the start of a delegate left it running, for ever.
    #[test]
    fn a_delegate_does_not_outlive_an_error_that_follows_its_start() {
        // Its standard input is not a pipe.
        let mut command = shell("wait");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut leader = command.spawn().unwrap();
        let (pid, mut errors) = (Pid::from_child(&leader), leader.stderr.take().unwrap());
        assert!(Process::of(leader).is_err());
        // Reads to the end only once nothing has it open any more.
        assert_eq!(errors.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(test_kill_process(pid).is_err(), "it was waited for");
    }

    /// Regression: what a delegate had left behind outlived a call that failed after the delegate's end.
    #[test]
    fn what_a_delegate_has_left_behind_does_not_outlive_the_call() {
        let mut command = shell("exit 0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = Process::of(command.spawn().unwrap()).unwrap();
        let errors = rustix::io::fcntl_dupfd_cloexec(&process.errors, 0).unwrap();
        fcntl_setfl(&errors, fcntl_getfl(&errors).unwrap() - OFlags::NONBLOCK).unwrap();
        let mut errors = std::fs::File::from(errors);
        rustix::event::poll(
            &mut [rustix::event::PollFd::new(&process.ended, rustix::event::PollFlags::IN)],
            None,
        )
        .unwrap();
        drop(process);
        assert_eq!(errors.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
