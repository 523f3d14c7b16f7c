//! The lock of a record: one installation at a time changes a node.
//!
//! It is a file beside the record that only its owner can open. The directory itself would not do: Kubernetes makes it so that anybody may read it, and a user who
//! may do that could lock it, and keep the node from its plugin.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use tenure_types::{Error, ErrorCode};
use tokio::time::{sleep, timeout};

use super::place;

/// The extension of the lock file, which has the record's name otherwise.
const LOCK: &str = "lock";

/// How long to wait for an installation that is about to end, and for a child process that has not closed the lock of its parent yet.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The pause between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(20);

/// A locked record.
pub(super) struct RecordLock {
    record: PathBuf,
    // The kernel holds the lock as long as this is open.
    _file: File,
}

impl RecordLock {
    /// Locks a record.
    ///
    /// # Errors
    /// `InputOutput` if the file cannot be used, or if another installation is running.
    pub(super) async fn take(record: &Path) -> Result<Self, Error> {
        let locked = async {
            loop {
                if let Some(file) = try_lock(record)? {
                    return Ok::<_, io::Error>(file);
                }
                sleep(PAUSE).await;
            }
        };
        match timeout(LONGEST_WAIT, locked).await {
            Ok(Ok(file)) => Ok(Self { record: record.to_owned(), _file: file }),
            Ok(Err(error)) => Err(place::failed(&record.with_extension(LOCK), &error)),
            Err(_) => {
                let cause = format_args!("{}: another installation is running", record.display());
                Err(Error::new(ErrorCode::InputOutput, cause))
            }
        }
    }
}

impl Drop for RecordLock {
    /// Removes the file where nothing is installed, while it is still locked.
    fn drop(&mut self) {
        if !self.record.exists() {
            let _ = fs::remove_file(self.record.with_extension(LOCK));
        }
    }
}

/// Locks a record, unless another process has locked it. A file that was removed since it was opened locks nothing.
fn try_lock(record: &Path) -> io::Result<Option<File>> {
    make_directory_of(record)?;
    let path = record.with_extension(LOCK);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    let locked = file.metadata()?;
    let is_same = |found: fs::Metadata| (found.dev(), found.ino()) == (locked.dev(), locked.ino());
    Ok(fs::symlink_metadata(&path).is_ok_and(is_same).then_some(file))
}

/// Makes the directory of a record like that of the daemon's unit.
fn make_directory_of(record: &Path) -> io::Result<()> {
    let directory = record.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory.unwrap_or(Path::new(".")))
}
