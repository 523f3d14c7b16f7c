//! Whether the state directory, and a file in it, are still the ones that were opened.
//!
//! A process keeps writing to a file after its directory was removed, renamed, replaced or mounted over, and every sync
//! succeeds; but the next start looks at the path and finds nothing of it. So what is at the path is compared by device
//! and inode before anything is acknowledged.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The directory or file that was opened, even if its path now leads elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    device: u64,
    inode: u64,
}

impl Opened {
    /// The directory or file that has this metadata.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Checks that a path leads to it.
    ///
    /// # Errors
    /// [`Displaced`] if it leads to something else or nowhere; any other I/O error of looking.
    pub(crate) fn is_at(self, path: &Path) -> io::Result<()> {
        match fs::metadata(path) {
            Ok(found) if Self::of(&found) == self => return Ok(()),
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(error);
            }
            Ok(_) | Err(_) => {}
        }
        Err(io::Error::other(Displaced { path: path.to_owned() }))
    }
}

/// The path no longer leads to what the daemon has opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is no longer what this daemon opened: it was removed, renamed, replaced or mounted over; put the state directory back, and the daemon continues by itself; if it is gone for good, drain the node and restart tenured",
    path.display()
)]
struct Displaced {
    path: PathBuf,
}
