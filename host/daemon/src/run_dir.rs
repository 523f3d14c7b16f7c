//! The run directory, which is this daemon's alone before anything in it is read or written.
//!
//! What lies in it decides what is promised: the mark of the state, and the DELs that wait. A daemon that was started by
//! mistake beside the one that serves must find nothing of that, so the directory is locked as the state directory is.

use std::io;
use std::path::{Path, PathBuf};

use tenure_checkpoint::{Lock, LockError};
use tenure_rpc::run_dir;

/// A run directory that nobody else may write to, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct RunDir {
    _lock: Lock,
}

/// Why a run directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunDirError {
    /// Others may write to it. Trying again does not help.
    #[error("run directory {}: {objection}", path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// Who may, and what ends it.
        objection: String,
    },
    /// It cannot be made or looked at.
    #[error("run directory {}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another daemon has it.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl RunDir {
    /// Makes the directory if need be, looks at who may write to it, and locks it.
    ///
    /// # Errors
    /// [`RunDirError`] says who has it, or who may write to it.
    pub(crate) fn take(path: &Path) -> Result<Self, RunDirError> {
        let io = |source| RunDirError::Io { path: path.into(), source };
        run_dir::create(path).map_err(io)?;
        if let Some(objection) = run_dir::objection(path).map_err(io)? {
            return Err(RunDirError::Unsafe { path: path.into(), objection });
        }
        Ok(Self { _lock: Lock::take(path)? })
    }
}
