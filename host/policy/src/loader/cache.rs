//! Our own cache of compiled policies.
//!
//! Compiled code is native code: whoever can write it runs it as the daemon. So none is ever taken from outside; what
//! is here was written by the daemon, in a directory that is its alone, keyed by the component's digest and by what
//! the compiled form depends on, and closed by a checksum over it. Anything else is compiled again.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::private::PrivateDirectory;
use crate::digest::{DIGITS, hexadecimal, is_hexadecimal};
use crate::text::clean;

/// The length of the checksum in front of each file.
const CHECKSUM: usize = 32;

/// A directory of compiled policies.
#[derive(Debug)]
pub(super) struct CompiledCache(PrivateDirectory);

impl CompiledCache {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self(PrivateDirectory::new(directory))
    }

    /// The compiled form of a component, when it is here and whole.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let name = file_name(engine, digest);
        if !self.0.has(&name) {
            return None;
        }
        let compiled = self.0.read(&name).map_err(|error| error.to_string()).and_then(|file| {
            let (checksum, compiled) = file.split_at_checked(CHECKSUM).ok_or("it is cut short")?;
            if checksum != Sha256::digest(compiled).as_slice() {
                return Err("its checksum does not fit".into());
            }
            trust(engine, compiled)
        });
        compiled
            .inspect_err(|cause| {
                tracing::warn!(file = name, cause, "a compiled policy is not used; it is compiled again");
            })
            .ok()
    }

    /// Keeps a compiled form. A failure costs the next start a compilation, nothing else.
    pub(super) fn put(&self, engine: &Engine, digest: &str, compiled: &[u8]) {
        let mut file = Sha256::digest(compiled).to_vec();
        file.extend_from_slice(compiled);
        if let Err(error) = self.0.write(&file_name(engine, digest), &file) {
            tracing::warn!(%error, "a compiled policy could not be kept");
        }
    }

    /// Removes what none of these digests names, and what another engine has compiled; returns how many. A failure costs room on the
    /// disk, nothing else.
    pub(super) fn prune(&self, engine: &Engine, named: &HashSet<Arc<str>>) -> usize {
        let engine = compatibility(engine);
        let pruned = self.0.prune(|name| {
            let (digest, compiled_for) = parts(name)?;
            Some(named.contains(digest) && compiled_for == engine)
        });
        pruned
            .inspect_err(
                |error| tracing::warn!(%error, "compiled policies that nobody needs are not removed"),
            )
            .unwrap_or_default()
    }
}

/// What ends a compiled form's name.
const EXTENSION: &str = ".cwasm";

/// How much of the compatibility hash is in a name.
const COMPATIBILITY_DIGITS: usize = 16;

/// What a compiled form is good for: this component, this engine, this processor.
fn file_name(engine: &Engine, digest: &str) -> String {
    format!("{digest}-{}{EXTENSION}", compatibility(engine))
}

/// The digest and the compatibility in a compiled form's name, if it is one's.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (digest, compatibility) = name.strip_suffix(EXTENSION)?.split_once('-')?;
    let ours = is_hexadecimal(digest, DIGITS) && is_hexadecimal(compatibility, COMPATIBILITY_DIGITS);
    ours.then_some((digest, compatibility))
}

/// What compiled code depends on beside its component.
fn compatibility(engine: &Engine) -> String {
    let mut hasher = Compatibility(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hexadecimal(&hasher.0.finalize()).chars().take(COMPATIBILITY_DIGITS).collect()
}

/// A hasher whose outcome is the same in every build, which the standard library's does not promise.
struct Compatibility(Sha256);

impl Hasher for Compatibility {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

/// Takes compiled code for what it says it is.
#[expect(unsafe_code, reason = "native code cannot be checked, only its origin can")]
pub(super) fn trust(engine: &Engine, compiled: &[u8]) -> Result<Component, String> {
    // SAFETY: the bytes come from our own compiler, either just now through a pipe that no one else holds, or from a
    // file that only this user could write and whose checksum fits. wasmtime itself refuses another version's code.
    unsafe { Component::deserialize(engine, compiled) }.map_err(|error| clean(&format!("{error:#}")))
}
