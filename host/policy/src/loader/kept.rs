//! The node's own copies of the components that it has loaded.
//!
//! A policy that an operator has activated serves unchanged after a restart, even if the configured file is missing
//! or different, or the daemon embeds a newer policy of that name. Where no operator has chosen, the name in the
//! network's configuration counts: a newer component of that name serves from the next ADD on, and the copy replaces
//! only a missing file.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::private::PrivateDirectory;
use super::source::SIGNATURE;
use crate::digest::{DIGITS, is_hexadecimal, sha256};

/// A directory of components by digest.
#[derive(Debug)]
pub(crate) struct KeptComponents(PrivateDirectory);

impl KeptComponents {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(PrivateDirectory::new(directory))
    }

    /// A component's bytes, if they are here and match their digest.
    pub(crate) fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let bytes = self.0.read(&file_name(digest)).ok()?;
        (sha256(&bytes) == digest).then_some(bytes)
    }

    /// A component's signature.
    pub(crate) fn signature(&self, digest: &str) -> Option<String> {
        String::from_utf8(self.0.read(&signature_name(digest)).ok()?).ok()
    }

    /// Keeps a component and its signature, replacing a damaged copy; durable when this returns. Returns whether there was
    /// no copy before.
    pub(crate) fn put(&self, digest: &str, bytes: &[u8], signature: Option<&str>) -> io::Result<bool> {
        if let Some(signature) = signature.filter(|text| self.signature(digest).as_deref() != Some(text)) {
            self.0.write(&signature_name(digest), signature.as_bytes())?;
        }
        let is_new = self.get(digest).is_none();
        if is_new {
            self.0.write(&file_name(digest), bytes)?;
        }
        Ok(is_new)
    }

    /// Removes the copy of a component that turned out to be unusable. A failure only costs disk space.
    pub(crate) fn remove(&self, digest: &str) {
        for name in [file_name(digest), signature_name(digest)] {
            match self.0.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, file = name, "cannot remove the copy of a policy");
                }
                _ => {}
            }
        }
    }

    /// Removes the copies of components not in `named`; returns how many. A failure only costs disk space.
    pub(crate) fn prune(&self, named: &HashSet<Arc<str>>) -> usize {
        let pruned = self.0.prune(|name| Some(named.contains(digest_of(name)?)));
        pruned
            .inspect_err(|error| tracing::warn!(%error, "cannot remove unused copies of policies"))
            .unwrap_or_default()
    }
}

/// The extension of a copy's file name.
const EXTENSION: &str = ".wasm";

fn file_name(digest: &str) -> String {
    format!("{digest}{EXTENSION}")
}

fn signature_name(digest: &str) -> String {
    format!("{digest}{EXTENSION}.{SIGNATURE}")
}

/// The digest in a file name, if it is that of a copy or its signature.
fn digest_of(name: &str) -> Option<&str> {
    let name = name.strip_suffix(SIGNATURE).and_then(|name| name.strip_suffix('.')).unwrap_or(name);
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
        kept.put(&digest, b"a component", Some("signed")).unwrap();
        assert_eq!(kept.get(&digest).as_deref(), Some(&b"a component"[..]));

        std::fs::write(directory.path().join("policies").join(file_name(&digest)), "half a comp").unwrap();
        assert_eq!(kept.get(&digest), None);
        kept.put(&digest, b"a component", Some("signed")).unwrap();
        assert_eq!(kept.get(&digest).as_deref(), Some(&b"a component"[..]));
        assert_eq!(kept.signature(&digest).as_deref(), Some("signed"));
        assert_eq!(kept.prune(&HashSet::from([digest.as_str().into()])), 0);
        assert_eq!(kept.prune(&HashSet::new()), 2, "the signature goes with the component");
    }
}
