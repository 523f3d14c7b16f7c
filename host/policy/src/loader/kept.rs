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

use tenure_types::PolicyStamp;

use super::private::PrivateDirectory;
use super::source::SIGNATURE;
use crate::digest::{DIGITS, is_hexadecimal, sha256};

/// A directory of components by digest, and of their signatures by digest and name: a signature is good for one name only, and the same
/// component may be loaded under several.
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

    /// The signature of a policy's component.
    pub(crate) fn signature(&self, policy: &PolicyStamp) -> Option<String> {
        let read = |name: String| String::from_utf8(self.0.read(&name).ok()?).ok();
        read(signature_name(policy)).or_else(|| read(unnamed_signature(&policy.digest)))
    }

    /// Keeps a policy's component and its signature, replacing a damaged copy; durable when this returns. Returns whether there
    /// was no copy before.
    pub(crate) fn put(
        &self,
        policy: &PolicyStamp,
        bytes: &[u8],
        signature: Option<&str>,
    ) -> io::Result<bool> {
        if let Some(signature) = signature.filter(|text| self.signature(policy).as_deref() != Some(text)) {
            self.0.write(&signature_name(policy), signature.as_bytes())?;
        }
        let is_new = self.get(&policy.digest).is_none();
        if is_new {
            self.0.write(&file_name(&policy.digest), bytes)?;
        }
        Ok(is_new)
    }

    /// Removes the copy of a component that turned out to be unusable, and its signatures. A failure only costs disk space.
    pub(crate) fn remove(&self, digest: &str) {
        let removed = self.0.prune(|name| (digest_of(name)? == digest).then_some(false));
        if let Err(error) = removed {
            tracing::warn!(%error, digest, "cannot remove the copy of a policy");
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

fn signature_name(PolicyStamp { name, digest }: &PolicyStamp) -> String {
    format!("{digest}.{name}{EXTENSION}.{SIGNATURE}")
}

/// The file of a signature as it was named before signatures were kept by name.
fn unnamed_signature(digest: &str) -> String {
    format!("{digest}{EXTENSION}.{SIGNATURE}")
}

/// The digest in a file name, if it is that of a copy or of a signature.
fn digest_of(name: &str) -> Option<&str> {
    let is_signature = name.ends_with(&format!("{EXTENSION}.{SIGNATURE}"));
    let digest = match is_signature {
        true => name.split('.').next(),
        false => name.strip_suffix(EXTENSION),
    };
    digest.filter(|digest| is_hexadecimal(digest, DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(name: &str, digest: &str) -> PolicyStamp {
        PolicyStamp { name: tenure_types::PolicyName::new(name).unwrap(), digest: digest.into() }
    }

    #[test]
    fn a_damaged_copy_is_not_used_and_is_replaced_by_the_next_load() {
        let directory = tempfile::tempdir().unwrap();
        let kept = KeptComponents::new(directory.path().join("policies"));
        let digest = sha256(b"a component");
        let policy = stamp("zones", &digest);
        kept.put(&policy, b"a component", Some("signed")).unwrap();
        assert_eq!(kept.get(&digest).as_deref(), Some(&b"a component"[..]));

        std::fs::write(directory.path().join("policies").join(file_name(&digest)), "half a comp").unwrap();
        assert_eq!(kept.get(&digest), None);
        kept.put(&policy, b"a component", Some("signed")).unwrap();
        assert_eq!(kept.get(&digest).as_deref(), Some(&b"a component"[..]));
        assert_eq!(kept.signature(&policy).as_deref(), Some("signed"));
        assert_eq!(kept.prune(&HashSet::from([digest.as_str().into()])), 0);
        assert_eq!(kept.prune(&HashSet::new()), 2, "the signature goes with the component");
    }

    /// Regression: there was one signature for each component, so that the name under which it was loaded first lost its own.
    #[test]
    fn a_component_has_a_signature_for_each_of_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let kept = KeptComponents::new(directory.path().join("policies"));
        let digest = sha256(b"a component");
        let other = sha256(b"another");
        let [zones, canary, older] = ["zones", "zones.canary", "older"].map(|name| stamp(name, &digest));
        for policy in [&zones, &canary, &stamp("zones", &other)] {
            kept.put(policy, b"a component", Some(&format!("signed as {}", policy.name))).unwrap();
        }
        kept.0.write(&unnamed_signature(&digest), b"signed before").unwrap();
        let signed = [&zones, &canary, &older].map(|policy| kept.signature(policy).unwrap());
        assert_eq!(signed, ["signed as zones", "signed as zones.canary", "signed before"]);
        kept.remove(&digest);
        assert_eq!([&zones, &canary, &older].map(|policy| kept.signature(policy)), [None, None, None]);
        assert_eq!(kept.get(&digest), None);
        assert_eq!(kept.prune(&HashSet::new()), 2, "the other component and its signature are left");
    }
}
