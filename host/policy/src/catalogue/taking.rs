//! Taking in a component, from an operator or from a watched file: its digest and its signature are checked, a copy is
//! kept, and the copy is compiled. Freeing those that nothing uses any more.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::Arc;

use tenure_engine::ports::{Catalogue as _, Offered, TakenIn};
use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp, hold, hold_exclusive, hold_shared};

use super::Policies;
use crate::digest::sha256;
use crate::loader::{AcceptedReleases, ComponentStore, SignedRelease, Trusted, Verified, apart};

/// How many references to a loaded policy are the catalogue's own: one here, one of the loader.
const OWN: usize = 2;

/// A component of which the node has a copy.
struct CopiedComponent {
    stamp: PolicyStamp,
    /// The signer, and the name and version that it signed.
    verified: Verified,
    /// Whether the node had no copy before.
    is_new: bool,
}

impl Policies {
    /// Takes in a component, whichever name it is to have. One that does not load leaves no trace.
    pub(super) async fn take(&self, offered: Offered) -> Result<TakenIn, Error> {
        // Hashing and writing take a while, and this may be a thread that serves requests.
        let (bytes, trusted) = (Arc::clone(&self.bytes), Arc::clone(&self.trusted));
        let accepted = Arc::clone(&self.accepted);
        let taking = Arc::clone(&self.taking);
        let CopiedComponent { stamp, verified, is_new } = apart(move || {
            let mut taking = hold(&taking);
            let kept = keep(&bytes, &trusted, &accepted, &offered)?;
            taking.push(Arc::clone(&kept.stamp.digest));
            Ok::<_, Error>(kept)
        })
        .await??;
        let loaded = self.load(&stamp).await;
        let taken = {
            let mut taking = hold(&self.taking);
            let place = taking.iter().position(|digest| *digest == stamp.digest);
            place.map(|place| taking.swap_remove(place))
        };
        match loaded {
            Ok(policy) => {
                let Verified { signer, release, .. } = verified;
                let (accepted, stamp) = (Arc::clone(&self.accepted), stamp.clone());
                // Durable before it can serve, so that a crash does not let an older one pass.
                apart(move || note(&accepted, &stamp, release.as_ref())).await??;
                Ok(TakenIn { policy, signer })
            }
            Err(error) => {
                self.loader.forget(&stamp);
                if let Some(digest) = taken.filter(|_| is_new) {
                    self.remove_copy(&digest);
                }
                Err(error)
            }
        }
    }

    /// Keeps the signature of a component that was taken in before and has been signed again, by another key or as a release, so that it
    /// outlasts the file. One that is not good is left: the one before may still be.
    pub async fn keep_signature(&self, stamp: &PolicyStamp, component: Vec<u8>, signature: String) {
        let (bytes, trusted) = (Arc::clone(&self.bytes), Arc::clone(&self.trusted));
        let (accepted, stamp) = (Arc::clone(&self.accepted), stamp.clone());
        let kept = apart(move || {
            if bytes.kept.signature(&stamp).is_some_and(|kept| kept == signature) {
                return Ok(());
            }
            let (name, sha256) = (stamp.name.clone(), stamp.digest.to_string());
            let (source, older) = (String::new(), false);
            let offered = Offered { name, bytes: component, sha256, signature, source, older };
            let CopiedComponent { stamp, verified, .. } = keep(&bytes, &trusted, &accepted, &offered)?;
            note(&accepted, &stamp, verified.release.as_ref())
        });
        if let Err(error) = kept.await.and_then(|kept| kept) {
            tracing::warn!(cause = error.cause, "the new signature of a policy is not kept");
        }
    }

    /// Removes the copy of a component that is not loaded, catalogued or being taken in.
    fn remove_copy(&self, digest: &Arc<str>) {
        let taking = hold(&self.taking);
        if !taking.contains(digest) && !self.has_digest(digest) {
            self.bytes.kept.remove(digest);
            self.runtime.forget(digest);
        }
    }

    /// Whether the configuration has a file for a name.
    pub(super) fn is_configured(&self, name: &PolicyName) -> bool {
        hold(&self.given).is_configured(name)
    }

    /// Whether a component is loaded, or catalogued, under any name.
    fn has_digest(&self, digest: &Arc<str>) -> bool {
        let given = hold(&self.given);
        let is_given = given.loaded.iter().any(|component| component.policy.digest == *digest);
        drop(given);
        let loaded = hold_shared(&self.loaded);
        is_given
            || loaded.keys().any(|(_, loaded)| loaded == digest)
            || self.bytes.sources().values().any(|named| named.stamp.digest == *digest)
    }

    /// Frees the loaded policies that neither the catalogue nor `used` names and that nobody is using. Removes the copies of
    /// those that `kept` does not name either.
    pub(super) fn free_unused(&self, used: &[PolicyStamp], kept: &[PolicyStamp]) {
        let sources = self.bytes.sources();
        let named = sources.values().map(|catalogued| &catalogued.stamp);
        let named: HashSet<_> = named.chain(used).map(|stamp| (&stamp.name, &stamp.digest)).collect();
        let freed: Vec<_> = {
            let mut loaded = hold_exclusive(&self.loaded);
            let unused = loaded.extract_if(|(name, digest), policy| {
                !named.contains(&(name, digest)) && Arc::strong_count(policy) <= OWN
            });
            unused.collect()
        };
        for ((name, digest), policy) in freed {
            self.loader.free(&PolicyStamp { name, digest: Arc::clone(&digest) });
            drop(policy);
            if !kept.iter().any(|kept| kept.digest == digest) {
                self.remove_copy(&digest);
            }
        }
    }
}

/// Checks the digest and the signature of a component that is loaded, and keeps a copy: the copy is what is compiled, now and
/// after a restart.
fn keep(
    bytes: &ComponentStore,
    trusted: &Trusted,
    accepted: &AcceptedReleases,
    offered: &Offered,
) -> Result<CopiedComponent, Error> {
    let Offered { name, bytes: component, sha256: expected, signature, older, .. } = offered;
    let stamp = PolicyStamp { name: name.clone(), digest: sha256(component).into() };
    let refused =
        |code, cause: &dyn std::fmt::Display| Error::new(code, format_args!("policy {stamp}: {cause}"));
    if !expected.is_empty() && **expected != *stamp.digest {
        let cause = format!("its sha256 is {}, but {expected} was expected", stamp.digest);
        return Err(refused(ErrorCode::PolicyUnloadable, &cause));
    }
    let signature = Some(signature.as_str()).filter(|text| !text.is_empty());
    let verified = trusted.check(name, component, signature);
    let verified = verified.map_err(|cause| refused(ErrorCode::PolicyUntrusted, &cause))?;
    if trusted.checks() && !older {
        let current = accepted.check(name, &stamp.digest, verified.release.as_ref());
        current.map_err(|cause| refused(ErrorCode::PolicyOutdated, &cause))?;
    }
    if trusted.checks() && verified.release.is_none() {
        tracing::warn!(policy = %stamp, "the signature of a policy names no version, so an older one could pass for it");
    }
    let is_new = bytes.kept.put(&stamp, component, signature);
    let is_new = is_new.map_err(|error| {
        let code = match error.kind() {
            ErrorKind::StorageFull => ErrorCode::DiskFull,
            _ => ErrorCode::PolicyUnloadable,
        };
        refused(code, &format_args!("cannot keep a copy: {error}"))
    })?;
    Ok(CopiedComponent { stamp, verified, is_new })
}

/// Notes the release that a component was accepted as.
fn note(
    accepted: &AcceptedReleases,
    stamp: &PolicyStamp,
    release: Option<&SignedRelease>,
) -> Result<(), Error> {
    let Some(SignedRelease { version, .. }) = release else { return Ok(()) };
    accepted.note(&stamp.name, &stamp.digest, version).map_err(|error| {
        let cause = format_args!("policy {stamp}: cannot note that its version was accepted: {error}");
        Error::new(ErrorCode::PolicyUnloadable, cause)
    })
}
