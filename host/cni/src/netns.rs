//! Which network namespace a path leads to, and whether it is the plugin's own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Device and inode number of what is under a path, which are the same for everybody on the node.
pub(crate) fn identity(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok()
}

/// Whether this is the namespace that this process is in; what cannot be looked at is another one.
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
