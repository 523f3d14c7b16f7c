//! The node's own copies of the components that it has loaded.
//!
//! A policy that an operator has activated is served to the byte after a restart, also when the configured file is gone or
//! another, or the daemon carries a newer one of that name. Where nobody has chosen, the name in the network's configuration
//! counts: a newer component of it serves from the next ADD on, and the copy stands in for a file that is gone.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::private::PrivateDirectory;
use crate::digest::{DIGITS, is_hexadecimal, sha256};

/// A directory of components by digest.
#[derive(Debug)]
pub(crate) struct KeptComponents(PrivateDirectory);

impl KeptComponents {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(PrivateDirectory::new(directory))
    }

    /// A component's bytes, when they are here and still what their name says.
    pub(crate) fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let bytes = self.0.read(&file_name(digest)).ok()?;
        (sha256(&bytes) == digest).then_some(bytes)
    }

    /// Keeps a component, in the place of a copy that is damaged. A failure makes the node depend on the component's file, nothing
    /// else.
    pub(crate) fn put(&self, digest: &str, bytes: &[u8]) {
        if self.get(digest).is_some() {
            return;
        }
        let name = file_name(digest);
        if let Err(error) = self.0.write(&name, bytes) {
            tracing::warn!(%error, file = name, "a policy could not be kept");
        }
    }

    /// Removes the copies that none of these digests names; returns how many. A failure costs room on the disk, nothing else.
    pub(crate) fn prune(&self, named: &HashSet<Arc<str>>) -> usize {
        let pruned = self.0.prune(|name| Some(named.contains(digest_of(name)?)));
        pruned
            .inspect_err(
                |error| tracing::warn!(%error, "copies of policies that nobody needs are not removed"),
            )
            .unwrap_or_default()
    }
}

/// What ends a copy's name.
const EXTENSION: &str = ".wasm";

fn file_name(digest: &str) -> String {
    format!("{digest}{EXTENSION}")
}

/// The digest in a copy's name, if it is one's.
fn digest_of(name: &str) -> Option<&str> {
    name.strip_suffix(EXTENSION).filter(|digest| is_hexadecimal(digest, DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_copy_is_not_used_and_is_replaced_by_the_next_load() {
        let directory = tempfile::tempdir().unwrap();
        let kept = KeptComponents::new(directory.path().join("policies"));
        let digest = sha256(b"a component");
        kept.put(&digest, b"a component");
        assert_eq!(kept.get(&digest).as_deref(), Some(&b"a component"[..]));

        std::fs::write(directory.path().join("policies").join(file_name(&digest)), "half a comp").unwrap();
        assert_eq!(kept.get(&digest), None);
        kept.put(&digest, b"a component");
        assert_eq!(kept.get(&digest).as_deref(), Some(&b"a component"[..]));
    }
}
