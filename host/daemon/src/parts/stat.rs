//! A fingerprint of a file, taken without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// A fingerprint that distinguishes the states of a file, behind all symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
