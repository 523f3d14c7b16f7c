//! Locks a directory for one daemon: its state directory, and its run directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// The lock of a directory. It is released when it is dropped or the process ends in any way.
#[derive(Debug)]
pub struct Lock {
    // The kernel holds the lock as long as this is open; nothing reads it.
    _file: fs::File,
}

/// Why a directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon has locked it.
    #[error(
        "{} is in use by process {holder}: stop that daemon, or start this one with another --run-dir and --state-dir",
        directory.display()
    )]
    Held {
        /// The directory.
        directory: PathBuf,
        /// The process that has locked it, according to the lock file.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error("cannot use the lock file: {0}")]
    Io(#[from] io::Error),
}

impl Lock {
    /// The name of the lock file. The process that takes the lock writes to it.
    pub const FILE: &str = "lock";

    /// Locks an existing directory; fails immediately if it is locked.
    ///
    /// # Errors
    /// [`LockError::Held`] names the process that has locked it.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let path = directory.join(Self::FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let holder = if holder.trim().is_empty() { "unknown" } else { holder.trim() };
                return Err(LockError::Held { directory: directory.to_owned(), holder: holder.to_owned() });
            }
            Err(error) => return Err(LockError::Io(error.into())),
        }
        // A full disk must not prevent a start: the process id is only for people.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
