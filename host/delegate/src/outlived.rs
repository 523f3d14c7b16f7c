//! Calls of an earlier daemon that still run: found by the lock that each call holds, waited for, and killed if
//! it does not end in time.
//!
//! The lock is a record lock (`fcntl(2)`): a process keeps it through `execve`, does not share it with what it forks, and
//! loses it when it ends, however that happens. The kernel names the process that holds it, so that a process id that was
//! written down and then reused cannot be taken for it.

use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_lock, open};
use rustix::io::Errno;
use rustix::process::{
    Flock, FlockOffsetType, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, kill_process_group, pidfd_open,
    pidfd_send_signal,
};
use rustix::time::{ClockId, clock_gettime};

/// How long a process may take to end after it was killed.
const DYING: Duration = Duration::from_secs(5);

/// Locks the file for this process and for the program that it becomes: the descriptor stays open in that.
///
/// # Errors
/// Also if the daemon has not made the file.
pub(crate) fn hold(file: &Path) -> io::Result<OwnedFd> {
    let file = open(file, OFlags::RDONLY, Mode::empty())?;
    fcntl_lock(&file, FlockOperation::NonBlockingLockShared)?;
    Ok(file)
}

/// Waits until no process holds the lock, and kills those that still do after the time limit. Creates the file,
/// and blocks the calling thread.
pub(crate) fn wait(file: &Path, limit: Duration) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
        std::fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = open(file, flags, Mode::RUSR | Mode::WUSR)?;
    let deadline = now().saturating_add(limit);
    while let Some((pid, process)) = running(&file)? {
        if ends(&process, deadline.saturating_sub(now()))? {
            continue;
        }
        tracing::warn!(
            pid = pid.as_raw_nonzero().get(),
            "killed a delegate that an earlier daemon has started and that did not end within {limit:?}"
        );
        kill(&file, pid, &process)?;
        if !ends(&process, DYING)? {
            return Err(io::Error::other(format!("process {pid:?} does not end although it was killed")));
        }
    }
    Ok(())
}

/// A process that holds the lock, with a descriptor of exactly that process.
fn running(file: &OwnedFd) -> io::Result<Option<(Pid, OwnedFd)>> {
    loop {
        let Some(pid) = holder(file)? else { return Ok(None) };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => continue,
            opened => opened?,
        };
        // It held the lock before and after it was opened, so it is the one that was opened.
        if holder(file)? == Some(pid) {
            return Ok(Some((pid, process)));
        }
    }
}

/// The process that holds the lock.
fn holder(file: &OwnedFd) -> io::Result<Option<Pid>> {
    let everything = Flock {
        start: 0,
        length: 0,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    match fcntl_getlk(file, &everything)? {
        None => Ok(None),
        Some(Flock { pid: Some(pid), .. }) => Ok(Some(pid)),
        Some(_) => Err(io::Error::other("one of its processes runs in another PID namespace")),
    }
}

/// Kills a process with its group.
fn kill(file: &OwnedFd, pid: Pid, process: &OwnedFd) -> io::Result<()> {
    // It leads its group. Stopped, it cannot end by itself, so that the group's number stays its own.
    match pidfd_send_signal(process, Signal::STOP) {
        Err(Errno::SRCH) => return Ok(()),
        sent => sent?,
    }
    if holder(file)? == Some(pid) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    match pidfd_send_signal(process, Signal::KILL) {
        Err(Errno::SRCH) => Ok(()),
        sent => Ok(sent?),
    }
}

/// Waits for the end of a process; false if it has not ended in time.
fn ends(process: &OwnedFd, limit: Duration) -> io::Result<bool> {
    let deadline = now().saturating_add(limit);
    loop {
        let left = deadline.saturating_sub(now());
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Ok(number) => return Ok(number > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A monotonic reading.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}
