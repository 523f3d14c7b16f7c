//! Whether a network namespace is the plugin's own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Whether a path names the namespace that this process is in; what cannot be looked at is another one.
pub(crate) fn is_own(path: &str) -> bool {
    let identity = |path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity("/proc/self/ns/net").is_some_and(|own| identity(path) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_namespace_is_recognised_by_any_name() {
        assert!(is_own("/proc/self/ns/net") && is_own(&format!("/proc/{}/ns/net", std::process::id())));
        assert!(!is_own("/proc/self/ns/mnt") && !is_own("/no/such/path") && !is_own(""));
    }
}
