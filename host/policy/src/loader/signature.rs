//! Signatures of components: minisign's format, checked against the keys that the configuration trusts.
//!
//! Without keys nothing is checked. With keys, every component but the embedded ones needs a signature by one of them,
//! whenever it is loaded. The bytes that are verified are the ones that are compiled. Where a signature names a policy and
//! a version, it is good for that policy only.

use std::sync::{Arc, RwLock};

use minisign_verify::{PublicKey, Signature};
use tenure_types::{PolicyName, hold_exclusive, hold_shared};

use super::release::SignedRelease;

/// A public key that is trusted.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    /// The key as the configuration has it, to name it.
    text: String,
    key: PublicKey,
}

impl TrustedKey {
    /// Reads a key: the base64 line of a minisign public key file.
    ///
    /// # Errors
    /// Why it is not one.
    pub fn new(text: &str) -> Result<Self, String> {
        let key = PublicKey::from_base64(text.trim())
            .map_err(|error| format!("not a minisign public key: {error}"))?;
        Ok(Self { text: text.trim().to_owned(), key })
    }
}

/// The keys that are trusted, and what is asked of their signatures.
#[derive(Debug, Clone, Default)]
pub struct TrustedKeys {
    /// The keys; none, if signatures are not checked.
    pub keys: Vec<TrustedKey>,
    /// Whether a signature must name the policy and its version.
    pub require_version: bool,
}

/// A signature that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Verified {
    /// The key that signed; empty if nothing is checked.
    pub(crate) signer: String,
    /// The signature file; empty if nothing is checked.
    pub(crate) signature: String,
    /// The release that it signs, if it states one.
    pub(crate) release: Option<SignedRelease>,
}

/// The trusted keys; a reload replaces them.
#[derive(Debug, Default)]
pub(crate) struct Trusted(RwLock<Arc<TrustedKeys>>);

impl Trusted {
    pub(crate) fn set(&self, keys: TrustedKeys) {
        *hold_exclusive(&self.0) = Arc::new(keys);
    }

    fn now(&self) -> Arc<TrustedKeys> {
        Arc::clone(&hold_shared(&self.0))
    }

    /// Whether signatures are checked at all.
    pub(crate) fn checks(&self) -> bool {
        !self.now().keys.is_empty()
    }

    /// Checks a component's signature file.
    pub(crate) fn check(
        &self,
        name: &PolicyName,
        bytes: &[u8],
        signature: Option<&str>,
    ) -> Result<Verified, String> {
        self.now().check(name, bytes, signature)
    }

    /// Checks a component that may have several signature files.
    pub(crate) fn check_any(
        &self,
        name: &PolicyName,
        bytes: &[u8],
        signatures: &[String],
    ) -> Result<Verified, String> {
        self.now().check_any(name, bytes, signatures)
    }
}

impl TrustedKeys {
    /// The reason why a component would not be loaded under a name with this signature file; `None` if it would.
    #[must_use]
    pub fn refusal(&self, name: &PolicyName, bytes: &[u8], signature: Option<&str>) -> Option<String> {
        self.check(name, bytes, signature).err()
    }

    /// Checks the signature files of a component that is to have a name. Of several that are good, the one with the newest release
    /// counts, and the last of equals; if none is good, the cause is that of the last.
    pub(crate) fn check_any(
        &self,
        name: &PolicyName,
        bytes: &[u8],
        signatures: &[String],
    ) -> Result<Verified, String> {
        let Some((last, others)) = signatures.split_last() else { return self.check(name, bytes, None) };
        let version = |verified: &Verified| verified.release.as_ref().map(|release| release.version.clone());
        let good = others.iter().filter_map(|signature| self.check(name, bytes, Some(signature)).ok());
        let good = good.max_by_key(version);
        match (self.check(name, bytes, Some(last)), good) {
            (Ok(last), Some(other)) if version(&last) < version(&other) => Ok(other),
            (Err(_), Some(other)) => Ok(other),
            (last, _) => last,
        }
    }

    /// Checks the signature file of a component that is to have a name.
    pub(crate) fn check(
        &self,
        name: &PolicyName,
        bytes: &[u8],
        signature: Option<&str>,
    ) -> Result<Verified, String> {
        if self.keys.is_empty() {
            return Ok(Verified::default());
        }
        let text = signature.ok_or("it is not signed, and `signatures.keys` requires a signature")?;
        let malformed = |error: &dyn std::fmt::Display| format!("its signature is malformed: {error}");
        let signature = Signature::decode(text).map_err(|error| malformed(&error))?;
        // Signatures of minisign's first format, which did not hash the file, are accepted as well. The key signs the
        // trusted comment, too.
        let signer = self.keys.iter().find(|trusted| trusted.key.verify(bytes, &signature, true).is_ok());
        let signer = signer.ok_or("no key of `signatures.keys` has signed it")?;
        let release = SignedRelease::read(signature.trusted_comment()).map_err(|error| malformed(&error))?;
        match &release {
            Some(SignedRelease { policy, version }) if policy != name => {
                return Err(format!("it is signed as policy {policy}, version {version}, and not as {name}"));
            }
            None if self.require_version => {
                return Err(
                    "its signature names no version, and `signatures.require_version` requires one".into()
                );
            }
            _ => {}
        }
        Ok(Verified { signer: signer.text.clone(), signature: text.to_owned(), release })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair of `minisign -G`, and its signature of `test`; from the library's own documentation.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const SIGNATURE: &str = "untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==";

    #[test]
    fn with_keys_only_what_they_signed_is_accepted() {
        let (trusted, name) = (Trusted::default(), PolicyName::new("p").unwrap());
        let unchecked = trusted.check(&name, b"anything", None);
        assert_eq!(unchecked, Ok(Verified::default()), "without keys nothing is checked");
        let keys =
            |require_version| TrustedKeys { keys: vec![TrustedKey::new(KEY).unwrap()], require_version };
        trusted.set(keys(true));
        let unnamed = trusted.check(&name, b"test", Some(SIGNATURE)).unwrap_err();
        assert!(unnamed.contains("names no version"), "{unnamed}");
        trusted.set(keys(false));
        let verified = Verified { signer: KEY.to_owned(), signature: SIGNATURE.to_owned(), release: None };
        assert_eq!(trusted.check(&name, b"test", Some(SIGNATURE)), Ok(verified.clone()));
        // Whichever of several is good, and the error of the last if none is.
        for several in [["nonsense", SIGNATURE], [SIGNATURE, "nonsense"]] {
            let checked = trusted.check_any(&name, b"test", &several.map(str::to_owned));
            assert_eq!(checked, Ok(verified.clone()), "{several:?}");
        }
        let several = [SIGNATURE, "nonsense"].map(str::to_owned);
        assert!(trusted.check_any(&name, b"tesT", &several).unwrap_err().contains("malformed"));
        assert!(trusted.check_any(&name, b"test", &[]).unwrap_err().contains("it is not signed"));
        for (bytes, signature, why) in [
            (&b"test"[..], None, "it is not signed"),
            (b"tesT", Some(SIGNATURE), "no key of"),
            (b"", Some(SIGNATURE), "no key of"),
            (b"test", Some("nonsense"), "malformed"),
            (b"test", Some(""), "malformed"),
        ] {
            let refused = trusted.check(&name, bytes, signature).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(TrustedKey::new("RWQnonsense").unwrap_err().contains("not a minisign public key"));
    }
}
