//! Where on the node something was seen.

/// What a name was seen in: a directory, or for the name of a process the namespace of process ids.
///
/// A name that is missing says nothing by itself: another mount namespace has another directory of the same path. Only where
/// this is the same is it missing from where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The file system's device number.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}
