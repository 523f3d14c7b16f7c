//! The child's side: this program, started again, checks the delegate's binary and becomes it.
//!
//! From the moment that it holds its lock, it may outlive the daemon, and the next daemon waits for it.

use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Resource, Rlimit, getppid, setrlimit};
use serde::{Deserialize, Serialize};

use crate::opened::open_checked;
use crate::outlived;

/// The argument that marks a child; the daemon's process id, the file to lock, the path and the digest follow.
pub(crate) const ARGUMENT: &str = "--run-delegate";

/// The exit code of a child that did not become the delegate.
pub(crate) const NOT_STARTED: u8 = 126;

/// The report that a child prints if it cannot become the delegate.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotStarted {
    /// The reason why it could not become the delegate.
    #[serde(rename = "tenureDelegateNotStarted")]
    pub(crate) why: String,
}

/// Becomes a delegate if this process was started for that, and returns only if it cannot. A daemon's `main` must call it
/// first.
#[must_use]
pub fn maybe_run_delegate_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let why = become_it(arguments);
    // Strings always serialize.
    print!("{}", serde_json::to_string(&NotStarted { why }).unwrap_or_default());
    Some(ExitCode::from(NOT_STARTED))
}

/// Becomes the delegate; returns why it cannot.
fn become_it(mut arguments: impl Iterator<Item = OsString>) -> String {
    let mut next = || arguments.next().unwrap_or_default();
    let (parent, lock, path, sha256) = (next(), PathBuf::from(next()), PathBuf::from(next()), next());
    let sha256 = sha256.to_str().filter(|text| !text.is_empty());
    let _lock = match outlived::hold(&lock) {
        Ok(held) => held,
        Err(error) => return format!("{}: {error}", lock.display()),
    };
    // Only now, so that the next daemon has either seen the lock, or has nothing to wait for.
    let is_parent =
        |pid: rustix::process::Pid| Some(pid.as_raw_nonzero().to_string().as_str()) == parent.to_str();
    if !getppid().is_some_and(is_parent) {
        return "the daemon has ended".to_owned();
    }
    let _pipes = match own_readers() {
        Ok(readers) => readers,
        Err(error) => return format!("cannot open its own pipes: {error}"),
    };
    // A core of a foreign program is of no use, and may be large.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let binary = match open_checked(&path, sha256) {
        Ok(binary) => binary,
        Err(why) => return why,
    };
    let error = Command::new(format!("/proc/self/fd/{}", binary.as_raw_fd())).arg0(&path).exec();
    format!("{}: {error}", path.display())
}

/// The other ends of this process's standard output and error. With these open, a delegate that prints something after the
/// daemon has ended is not killed for that.
fn own_readers() -> rustix::io::Result<[OwnedFd; 2]> {
    let reader =
        |number| open(format!("/proc/self/fd/{number}"), OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
    Ok([reader(1)?, reader(2)?])
}
