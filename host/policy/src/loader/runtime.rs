//! Turns the bytes of a component into a policy that can be called.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp, hold};
use wasmtime::component::Component;

use super::cache::{CompiledCache, trust};
use super::compile::Compiler;
use super::verify;
use crate::decisions::Recorder;
use crate::digest::sha256;
use crate::sandbox::{CallLimits, Granted, Grants, PolicySandbox, WasmPolicy, named};
use crate::text::clean;

/// A sandbox and the loading of components into it. One per daemon: all policies share its instances, memory and
/// ticker.
pub struct PolicyRuntime {
    sandbox: Arc<PolicySandbox>,
    compiler: Compiler,
    cache: Option<CompiledCache>,
    /// The grants of each name that was loaded or granted something. A `std::sync::Mutex`, held to look one up.
    granted: Mutex<HashMap<PolicyName, Arc<Granted>>>,
}

impl PolicyRuntime {
    /// Creates a sandbox with these limits.
    ///
    /// # Errors
    /// `Internal` if the address space is too small for the instance pool or the ticker cannot start.
    pub fn new(limits: CallLimits, compiler: Compiler) -> Result<Self, Error> {
        Ok(Self {
            sandbox: Arc::new(PolicySandbox::new(limits)?),
            compiler,
            cache: None,
            granted: Mutex::default(),
        })
    }

    /// Caches compiled policies in a directory, which must be private to the daemon.
    #[must_use]
    pub fn with_cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = Some(CompiledCache::new(directory.into()));
        self
    }

    /// Makes a policy from a component's bytes.
    ///
    /// # Errors
    /// `PolicyUnloadable` if the bytes do not match the expected digest, are too long, do not compile or are not a
    /// policy.
    pub fn load(
        &self,
        name: &PolicyName,
        bytes: &[u8],
        expected_sha256: Option<&str>,
    ) -> Result<WasmPolicy, Error> {
        let stamp = PolicyStamp { name: name.clone(), digest: sha256(bytes).into() };
        let unloadable = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {stamp}: {cause}"))
        };
        if let Some(expected) = expected_sha256.filter(|expected| **expected != *stamp.digest) {
            return Err(unloadable(&format_args!(
                "its sha256 is {}, but the configuration says {expected}",
                stamp.digest
            )));
        }
        let limits = self.limits();
        if bytes.len() > limits.component {
            let (size, most) = (bytes.len() >> 20, limits.component >> 20);
            return Err(unloadable(&format_args!("it is {size} MiB, and the limit is {most} MiB")));
        }
        let component =
            self.component(&stamp.digest, bytes).map_err(|cause| unloadable(&named(cause, limits)))?;
        verify::interface(self.sandbox.engine(), &component).map_err(|cause| unloadable(&cause))?;
        let (sandbox, granted) = (Arc::clone(&self.sandbox), self.granted(name));
        WasmPolicy::new(sandbox, stamp.clone(), &component, granted).map_err(|error| {
            let (cause, offered) = (clean(&format!("{error:#}")), verify::offered());
            unloadable(&format_args!("it is not a policy of this interface: {cause}; {offered}"))
        })
    }

    /// Grants each of these names what it says, and all others what is granted by default.
    pub(crate) fn grant(&self, mut grants: HashMap<PolicyName, Grants>) {
        let mut granted = hold(&self.granted);
        for (name, granted) in granted.iter() {
            granted.set(grants.remove(name).unwrap_or_default());
        }
        for (name, grants) in grants {
            granted.entry(name).or_default().set(grants);
        }
    }

    /// The grants of a name.
    pub(crate) fn granted(&self, name: &PolicyName) -> Arc<Granted> {
        let mut granted = hold(&self.granted);
        Arc::clone(granted.entry(name.clone()).or_default())
    }

    /// Takes a component from the cache, or compiles it.
    fn component(&self, digest: &str, bytes: &[u8]) -> Result<Component, String> {
        let engine = self.sandbox.engine();
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.get(engine, digest)) {
            return Ok(component);
        }
        let compiled = self.compiler.compile(bytes, self.limits())?;
        let component = trust(engine, &compiled)?;
        if let Some(cache) = &self.cache {
            cache.put(engine, digest, &compiled);
        }
        Ok(component)
    }

    /// Removes from the cache the components not in `named` and those compiled by another version; returns how many
    /// files.
    pub(crate) fn prune(&self, named: &HashSet<Arc<str>>) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.prune(self.sandbox.engine(), named))
    }

    /// Removes the compiled form of a component.
    pub(crate) fn forget(&self, digest: &str) {
        if let Some(cache) = &self.cache {
            cache.remove(self.sandbox.engine(), digest);
        }
    }

    /// Records the calls of networks that are to be recorded.
    #[must_use]
    pub fn recorder(&self) -> &Arc<Recorder> {
        self.sandbox.recorder()
    }

    pub(crate) fn limits(&self) -> &CallLimits {
        self.sandbox.limits()
    }
}

impl std::fmt::Debug for PolicyRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runtime").field("limits", self.limits()).finish_non_exhaustive()
    }
}
