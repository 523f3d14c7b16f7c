//! Identifies where on the node a name was seen.

use std::num::NonZeroU64;

/// The place in which a name was seen: a directory or, for a process id, the PID namespace.
///
/// A missing name proves nothing by itself: in another mount namespace, the same path is another directory. Only if
/// the place is the same is the name gone from where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The file system's device number.
    pub device: u64,
    /// The inode number.
    pub inode: NonZeroU64,
}

impl Place {
    /// The place with these numbers; `None` for an inode number of zero, which no file has.
    #[must_use]
    pub fn new(device: u64, inode: u64) -> Option<Self> {
        Some(Self { device, inode: NonZeroU64::new(inode)? })
    }
}
