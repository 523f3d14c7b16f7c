//! The daemon's own cache of compiled policies.
//!
//! Compiled code is native code: the right to write it is the right to run code as the daemon. So compiled code is never accepted
//! from outside. The daemon writes each file itself, in a directory that only it can access, under a name that
//! contains the component's digest and a hash of everything that the compiled form depends on, and with a checksum in
//! front. Anything else is recompiled.

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

/// The length of the checksum at the start of each file.
const CHECKSUM: usize = 32;

/// A directory of compiled policies.
#[derive(Debug)]
pub(super) struct CompiledCache(PrivateDirectory);

impl CompiledCache {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self(PrivateDirectory::new(directory))
    }

    /// The compiled form of a component, if it is cached and intact.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let name = file_name(engine, digest);
        if !self.0.has(&name) {
            return None;
        }
        let compiled = self.0.read(&name).map_err(|error| error.to_string()).and_then(|file| {
            let (checksum, compiled) = file.split_at_checked(CHECKSUM).ok_or("it is truncated")?;
            if checksum != Sha256::digest(compiled).as_slice() {
                return Err("its checksum does not match".into());
            }
            trust(engine, compiled)
        });
        compiled
            .inspect_err(|cause| {
                tracing::warn!(file = name, cause, "cannot use a cached compiled policy; recompiling it");
            })
            .ok()
    }

    /// Caches a compiled form. A failure only costs the next start a compilation.
    pub(super) fn put(&self, engine: &Engine, digest: &str, compiled: &[u8]) {
        let mut file = Sha256::digest(compiled).to_vec();
        file.extend_from_slice(compiled);
        if let Err(error) = self.0.write(&file_name(engine, digest), &file) {
            tracing::warn!(%error, "cannot cache a compiled policy");
        }
    }

    /// Removes the form of a component. A failure only costs disk space.
    pub(super) fn remove(&self, engine: &Engine, digest: &str) {
        let name = file_name(engine, digest);
        if self.0.has(&name)
            && let Err(error) = self.0.remove(&name)
        {
            tracing::warn!(%error, file = name, "cannot remove a compiled policy");
        }
    }

    /// Removes the forms of components not in `named` and those compiled for another engine; returns how many. A
    /// failure only costs disk space.
    pub(super) fn prune(&self, engine: &Engine, named: &HashSet<Arc<str>>) -> usize {
        let engine = compatibility(engine);
        let pruned = self.0.prune(|name| {
            let (digest, compiled_for) = parts(name)?;
            Some(named.contains(digest) && compiled_for == engine)
        });
        pruned
            .inspect_err(|error| tracing::warn!(%error, "cannot remove unused compiled policies"))
            .unwrap_or_default()
    }
}

/// The extension of a compiled form's file name.
const EXTENSION: &str = ".cwasm";

/// How many digits of the compatibility hash are in a file name.
const COMPATIBILITY_DIGITS: usize = 16;

/// The file name of a compiled form: for this component, this engine, this processor.
fn file_name(engine: &Engine, digest: &str) -> String {
    format!("{digest}-{}{EXTENSION}", compatibility(engine))
}

/// The digest and the compatibility hash in a file name, if it is that of a compiled form.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (digest, compatibility) = name.strip_suffix(EXTENSION)?.split_once('-')?;
    let ours = is_hexadecimal(digest, DIGITS) && is_hexadecimal(compatibility, COMPATIBILITY_DIGITS);
    ours.then_some((digest, compatibility))
}

/// A hash of what compiled code depends on besides its component.
fn compatibility(engine: &Engine) -> String {
    let mut hasher = Compatibility(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hexadecimal(&hasher.0.finalize()).chars().take(COMPATIBILITY_DIGITS).collect()
}

/// A hasher with the same result in every build, which the standard library's does not promise.
struct Compatibility(Sha256);

impl Hasher for Compatibility {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

/// Turns compiled code into a component without checking it.
#[expect(unsafe_code, reason = "native code cannot be checked, only its origin can")]
pub(super) fn trust(engine: &Engine, compiled: &[u8]) -> Result<Component, String> {
    // SAFETY: the bytes come from our own compiler: either just now, through a pipe that only we and it hold, from a
    // process that nobody but root could attach to at any moment (`confine`); or from a file that only this user could
    // write and whose checksum matches. wasmtime itself rejects code of another version.
    unsafe { Component::deserialize(engine, compiled) }.map_err(|error| clean(&format!("{error:#}")))
}
