//! Signatures of components: minisign's format, checked against the keys that the configuration trusts.
//!
//! Without keys nothing is checked. With keys, every component but the embedded ones needs a signature by one of them,
//! whenever it is loaded. The bytes that are verified are the ones that are compiled.

use std::sync::{Arc, PoisonError, RwLock};

use minisign_verify::{PublicKey, Signature};

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

/// The trusted keys; a reload replaces them.
#[derive(Debug, Default)]
pub(crate) struct Trusted(RwLock<Arc<[TrustedKey]>>);

impl Trusted {
    pub(crate) fn set(&self, keys: Vec<TrustedKey>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys.into();
    }

    fn keys(&self) -> Arc<[TrustedKey]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether signatures are checked at all.
    pub(crate) fn checks(&self) -> bool {
        !self.keys().is_empty()
    }

    /// Checks a component's signature file. Returns the key that signed it; empty if nothing is checked.
    pub(crate) fn check(&self, bytes: &[u8], signature: Option<&str>) -> Result<String, String> {
        let keys = self.keys();
        if keys.is_empty() {
            return Ok(String::new());
        }
        let signature = signature.ok_or("it is not signed, and `signatures.keys` requires a signature")?;
        let signature =
            Signature::decode(signature).map_err(|error| format!("its signature is malformed: {error}"))?;
        // Signatures of minisign's first format, which did not hash the file, are accepted as well.
        let signer = keys.iter().find(|trusted| trusted.key.verify(bytes, &signature, true).is_ok());
        match signer {
            Some(signer) => Ok(signer.text.clone()),
            None => Err("no key of `signatures.keys` has signed it".into()),
        }
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
        let trusted = Trusted::default();
        assert_eq!(trusted.check(b"anything", None), Ok(String::new()), "without keys nothing is checked");
        trusted.set(vec![TrustedKey::new(KEY).unwrap()]);
        assert_eq!(trusted.check(b"test", Some(SIGNATURE)), Ok(KEY.to_owned()));
        for (bytes, signature, why) in [
            (&b"test"[..], None, "it is not signed"),
            (b"tesT", Some(SIGNATURE), "no key of"),
            (b"", Some(SIGNATURE), "no key of"),
            (b"test", Some("nonsense"), "malformed"),
            (b"test", Some(""), "malformed"),
        ] {
            let refused = trusted.check(bytes, signature).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(TrustedKey::new("RWQnonsense").unwrap_err().contains("not a minisign public key"));
    }
}
