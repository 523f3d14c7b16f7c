//! One daemon for a directory: for its state, and for where it is reached.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// The right to write into a directory, until it is dropped or the process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    // The kernel holds the lock as long as this is open; nothing reads it.
    _file: fs::File,
}

/// Why a directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon has it.
    #[error(
        "{} is in use by process {holder}: stop that daemon first, or give this one other directories with --run-dir and --state-dir",
        directory.display()
    )]
    Held {
        /// The directory.
        directory: PathBuf,
        /// The process that has it, as it says itself.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error("the lock file: {0}")]
    Io(#[from] io::Error),
}

impl Lock {
    /// Takes the lock of a directory that exists, at once or not at all.
    ///
    /// # Errors
    /// [`LockError::Held`] names the process that has it.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let path = directory.join("lock");
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
        // A full disk must not keep a daemon from starting: the process id is only for people.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
