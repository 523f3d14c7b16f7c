//! A daemon in small: this program again, which waits for a delegate until somebody kills it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use tenure_delegate::DelegateSettings;

use super::{add, call, delegate_at};

const ARGUMENT: &str = "--hang-with-delegate";

/// Starts it with this delegate and this run directory.
pub(crate) fn start(delegate: &Path, run: &Path) -> Child {
    Command::new("/proc/self/exe").arg(ARGUMENT).arg(delegate).arg(run).spawn().unwrap()
}

/// Hangs if this process was started for that.
pub(crate) fn maybe_hang() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let (path, run) = (PathBuf::from(arguments.next()?), PathBuf::from(arguments.next()?));
    let settings = DelegateSettings { timeout: Duration::from_secs(600), ..DelegateSettings::new(path) };
    let _ = add(&delegate_at(settings, &run), &call("10"));
    Some(ExitCode::FAILURE)
}
