//! The identity of the network namespace under a path, and whether it is the plugin's own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// The device and inode number of the file under a path, which are the same for every process on the node.
pub(crate) fn identity(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok()
}

/// Whether this is the namespace of this process; `None` is not.
pub(crate) fn is_own(namespace: Option<(u64, u64)>) -> bool {
    identity("/proc/self/ns/net").is_some_and(|own| namespace == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_namespace_is_recognised_by_any_name() {
        let is_own = |path: &str| is_own(identity(path));
        assert!(is_own("/proc/self/ns/net") && is_own(&format!("/proc/{}/ns/net", std::process::id())));
        assert!(!is_own("/proc/self/ns/mnt") && !is_own("/no/such/path") && !is_own(""));
    }
}
