//! Components in OCI registries: from `oci://HOST/REPOSITORY@sha256:DIGEST` to the component's bytes.
//!
//! ```text
//! reference ─▶ fetch the manifest ─▶ its digest ─▶ its one layer ─▶ fetch that ─▶ its digest ─▶ the component
//!                     ▲                                                ▲
//!                     └──────── a child with limits, which alone speaks to the network
//! ```
//!
//! The digest of a reference is the manifest's, as everywhere in OCI; the manifest names the digest of the component.
//! Both are checked here, over the bytes that came, so nothing depends on what the registry or the child says of itself.
//! tenurectl pulls and the daemon does not: a node's daemon needs no way to the outside, no registry's credentials and
//! no TLS. It gets the bytes and checks their signature as it does with a file's.

mod child;
mod credentials;
mod fetch;
mod manifest;
mod order;
mod reference;

use std::time::Duration;

use tenure_policy::{CallLimits, sha256};
use tenure_types::{Error, ErrorCode};

pub(crate) use self::child::maybe_run_child;
use self::fetch::Fetcher;
use self::manifest::Artifact;
pub(crate) use self::manifest::{LAYER, SIGNATURE};
use self::order::What;
use self::reference::OciReference;
use crate::progress::progress;

/// The largest manifest, in bytes: what the OCI specification asks registries to accept.
const MANIFEST: usize = 4 << 20;

/// A component that was pulled.
pub(crate) struct Pulled {
    /// The component.
    pub(crate) bytes: Vec<u8>,
    /// Reference that it was pulled by, with the manifest's digest.
    pub(crate) source: String,
    /// The policy's name, unless another is given: the repository's last part.
    pub(crate) name: String,
    /// The minisign signature that the manifest has, if any.
    pub(crate) signature: Option<String>,
}

/// How to pull.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pull {
    /// Whether a tag without a digest is accepted.
    pub(crate) unpinned: bool,
    /// Whether any registry may be asked over plain HTTP; one on loopback always is.
    pub(crate) plain_http: bool,
    /// How long a registry may be silent.
    pub(crate) patience: Duration,
}

/// Whether a source names a registry, as opposed to a file.
pub(crate) fn is_reference(source: &str) -> bool {
    source.starts_with(reference::SCHEME)
}

/// Pulls a component.
pub(crate) fn pull(text: &str, options: Pull) -> Result<Pulled, Error> {
    let reference = OciReference::parse(text)?;
    if reference.digest().is_none() && !options.unpinned {
        return Err(reference.unpinned());
    }
    let auth = credentials::of(reference.registry())?;
    let fetcher = Fetcher::new(&reference, auth, options);
    let manifest = fetcher.fetch(What::Manifest, MANIFEST, |_| ())?;
    let digest = format!("sha256:{}", sha256(&manifest));
    if let Some(expected) = reference.digest().filter(|expected| *expected != digest) {
        let cause = format_args!(
            "{reference}: the registry sent a manifest with the digest {digest}, not {expected}"
        );
        return Err(Error::new(ErrorCode::RegistryMismatch, cause));
    }
    let pinned = reference.pinned(&digest);
    let wrong = |cause: String| Error::new(ErrorCode::RegistryMismatch, format_args!("{pinned}: {cause}"));
    let Artifact { layer, size, signature } = Artifact::read(&manifest).map_err(wrong)?;
    let most = CallLimits::default().component;
    let size = usize::try_from(size).ok().filter(|size| *size <= most).ok_or_else(|| {
        wrong(format!(
            "its component has {} MiB, and the limit is {} MiB",
            size.div_ceil(1 << 20),
            most >> 20
        ))
    })?;
    let bytes =
        fetcher.fetch(What::Blob(layer.clone()), size, |done| progress(reference.name(), done, size))?;
    let found = format!("sha256:{}", sha256(&bytes));
    if bytes.len() != size || found != layer {
        return Err(wrong(format!(
            "its manifest says {layer} of {size} bytes, but the registry sent {found} of {} bytes",
            bytes.len()
        )));
    }
    Ok(Pulled { bytes, source: pinned, name: reference.name().to_owned(), signature })
}
