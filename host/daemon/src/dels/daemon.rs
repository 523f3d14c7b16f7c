//! Whether the daemon that wrote the record was the last one in the run directory.
//!
//! An older program serves DELs and records none. Each daemon of any version writes to the run directory's lock when it starts, so
//! each that keeps a record notes when it did: `<run-dir>/dels.daemon`. The next one compares that with the lock as it was found.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The time at which a lock was last taken, in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockTime(i64, i64);

/// The times at which the lock of the run directory was taken: by the previous daemon, if there was one, and by this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockTimes {
    pub(crate) before: Option<LockTime>,
    pub(crate) now: Option<LockTime>,
}

impl LockTime {
    /// Returns the time at which a lock file was last written; `None` if there is none.
    pub(crate) fn of(lock: &Path) -> Option<Self> {
        let metadata = fs::metadata(lock).ok()?;
        Some(Self(metadata.mtime(), metadata.mtime_nsec()))
    }

    #[cfg(test)]
    pub(super) fn at(seconds: i64) -> Self {
        Self(seconds, 0)
    }
}

impl LockTimes {
    /// Whether the daemon before this one was the one that noted itself.
    pub(super) fn continue_from(&self, run_dir: &Path) -> bool {
        let noted = fs::read_to_string(path(run_dir)).ok();
        self.before.is_some_and(|before| noted.is_some_and(|noted| noted == text(before)))
    }

    /// Notes this daemon.
    ///
    /// # Errors
    /// The system's; the next daemon then relies on nothing that was recorded.
    pub(super) fn note(&self, run_dir: &Path) -> io::Result<()> {
        fs::write(path(run_dir), self.now.map(text).unwrap_or_default())
    }
}

fn path(run_dir: &Path) -> PathBuf {
    run_dir.join("dels.daemon")
}

fn text(LockTime(seconds, nanoseconds): LockTime) -> String {
    format!("{seconds}.{nanoseconds:09}\n")
}
