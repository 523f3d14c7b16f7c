//! The run directory, which is locked before the daemon reads or writes anything in it.
//!
//! It contains the state mark and the spooled DELs, on which correctness depends. A second daemon, started by mistake next to
//! the one that serves, must not touch them, so this directory is locked just as the state directory is.

use std::io;
use std::path::{Path, PathBuf};

use tenure_checkpoint::{Lock, LockError};
use tenure_rpc::run_dir;

use crate::dels::{LockTime, LockTimes};

/// A run directory that nobody else can write to, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct RunDir {
    _lock: Lock,
    /// Times at which the directory was locked, now and before.
    pub(crate) times: LockTimes,
}

/// Why a run directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunDirError {
    /// Others can write to it. Retrying does not help.
    #[error("run directory {}: {objection}", path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// Users with access, and the command that removes it.
        objection: String,
    },
    /// The directory cannot be created or examined.
    #[error("run directory {}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another daemon has locked it.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl RunDir {
    /// Creates the directory if necessary, checks who can write to it, and locks it.
    ///
    /// # Errors
    /// [`RunDirError`] says who has locked it, or who can write to it.
    pub(crate) fn take(path: &Path) -> Result<Self, RunDirError> {
        let io = |source| RunDirError::Io { path: path.into(), source };
        run_dir::create(path).map_err(io)?;
        Self::check(path)?;
        let lock = path.join(Lock::FILE);
        let before = LockTime::of(&lock);
        let taken = Lock::take(path)?;
        Ok(Self { _lock: taken, times: LockTimes { before, now: LockTime::of(&lock) } })
    }

    /// Checks who can write to the directory, if it exists.
    ///
    /// # Errors
    /// [`RunDirError`] says who can write to it, or why it cannot be examined.
    pub(crate) fn check(path: &Path) -> Result<(), RunDirError> {
        match run_dir::objection(path) {
            Ok(None) => Ok(()),
            Ok(Some(objection)) => Err(RunDirError::Unsafe { path: path.into(), objection }),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(RunDirError::Io { path: path.into(), source }),
        }
    }
}
