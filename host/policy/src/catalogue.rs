//! The policies of a node, by name.
//!
//! What is loaded is behind a `std::sync::RwLock`, held to look and to insert. Loading may take seconds; a second lock
//! keeps two requests from compiling the same policy, and neither is held while a policy runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tenure_engine::ports::{Catalogue, CatalogueEntry, Policy};
use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp};

use crate::kept::KeptComponents;
use crate::{Compiler, Limits, Runtime, WasmPolicy, embedded, sha256};

/// Where a policy of the catalogue comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogueSource {
    /// The program itself.
    Embedded(&'static [u8]),
    /// A file, pinned to the byte.
    File {
        /// Where it lies.
        path: PathBuf,
        /// What it must be, in lower-case hexadecimal.
        sha256: String,
    },
}

type Loaded = HashMap<(PolicyName, Arc<str>), Arc<WasmPolicy>>;

/// The first-party policies and those that the configuration names.
#[derive(Debug)]
pub struct Policies {
    runtime: Arc<Runtime>,
    /// With each source the stamp that it promises; hashing an embedded one is not for every request.
    sources: BTreeMap<PolicyName, (PolicyStamp, CatalogueSource)>,
    kept: KeptComponents,
    /// By digest; the same bytes under two names are two policies, as their stamps are.
    loaded: RwLock<Loaded>,
    loading: Mutex<()>,
}

impl Policies {
    /// A daemon's policies, compiled in children and kept under the state directory.
    ///
    /// A file may take an embedded policy's name; then it is meant.
    ///
    /// # Errors
    /// `Internal` when the sandbox cannot be made.
    pub fn open(
        limits: Limits,
        files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>,
        state_directory: &Path,
    ) -> Result<Self, Error> {
        let runtime = Runtime::new(limits, Compiler::Child)?.with_cache(state_directory.join("compiled"));
        Self::with_runtime(runtime, files, state_directory)
    }

    /// Policies in a sandbox of the caller's making.
    ///
    /// # Errors
    /// `Internal` when an embedded policy's name is none.
    pub fn with_runtime(
        runtime: Runtime,
        files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>,
        state_directory: &Path,
    ) -> Result<Self, Error> {
        let embedded = embedded::ALL.into_iter().map(|(name, source)| {
            let name = PolicyName::new(name).map_err(|error| Error::new(ErrorCode::Internal, error))?;
            Ok((name, source))
        });
        let mut sources = embedded.collect::<Result<BTreeMap<_, _>, Error>>()?;
        sources.extend(files);
        let stamped = |(name, source): (PolicyName, CatalogueSource)| {
            let digest = match &source {
                CatalogueSource::Embedded(bytes) => sha256(bytes),
                CatalogueSource::File { sha256, .. } => sha256.clone(),
            };
            (name.clone(), (PolicyStamp { name, digest: digest.into() }, source))
        };
        let sources = sources.into_iter().map(stamped).collect();
        Ok(Self {
            runtime: Arc::new(runtime),
            sources,
            kept: KeptComponents::new(state_directory.join("policies")),
            loaded: RwLock::default(),
            loading: Mutex::default(),
        })
    }

    /// Gives what is loaded under a stamp, or loads what `bytes` finds.
    fn obtain(
        &self,
        stamp: &PolicyStamp,
        bytes: impl FnOnce() -> Result<Cow<'static, [u8]>, Error>,
    ) -> Result<Arc<dyn Policy>, Error> {
        let key = (stamp.name.clone(), stamp.digest.clone());
        let find = || self.loaded.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(policy) = find() {
            return Ok(policy);
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = find() {
            return Ok(policy);
        }
        let bytes = bytes()?;
        let policy = Arc::new(self.runtime.load(&stamp.name, &bytes, Some(&stamp.digest))?);
        self.kept.put(&stamp.digest, &bytes);
        self.loaded.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&policy));
        Ok(policy)
    }

    /// The bytes of a source. A file that is gone is replaced by the node's copy; one that is another is not.
    fn read(&self, source: &CatalogueSource) -> Result<Cow<'static, [u8]>, Error> {
        match source {
            CatalogueSource::Embedded(bytes) => Ok(Cow::Borrowed(bytes)),
            CatalogueSource::File { path, sha256 } => match std::fs::read(path) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(error) => self.kept.get(sha256).map(Cow::Owned).ok_or_else(|| {
                    Error::new(ErrorCode::PolicyUnloadable, format_args!("{}: {error}", path.display()))
                }),
            },
        }
    }

    /// The stamp that a source promises.
    fn stamp(&self, name: &PolicyName) -> Result<(&PolicyStamp, &CatalogueSource), Error> {
        let (stamp, source) = self.sources.get(name).ok_or_else(|| {
            let known: Vec<_> = self.sources.keys().map(PolicyName::as_str).collect();
            let known = known.join(", ");
            Error::new(ErrorCode::UnknownPolicy, format_args!("no policy {name}; there are {known}"))
        })?;
        Ok((stamp, source))
    }

    /// Why a policy of the catalogue cannot be used, as far as one can see without compiling it.
    fn problem(&self, source: &CatalogueSource, digest: &str) -> Option<String> {
        match self.read(source) {
            Ok(bytes) if sha256(&bytes) == digest => None,
            Ok(bytes) => Some(format!("its sha256 is {}", sha256(&bytes))),
            Err(error) => Some(error.cause),
        }
    }
}

impl Catalogue for Policies {
    fn load(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        let (stamp, source) = self.stamp(name)?;
        self.obtain(stamp, || self.read(source))
    }

    fn load_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.obtain(stamp, || {
            let catalogued = self.stamp(&stamp.name).ok().filter(|(now, _)| *now == stamp);
            match (self.kept.get(&stamp.digest), catalogued) {
                (Some(bytes), _) => Ok(Cow::Owned(bytes)),
                (None, Some((_, source))) => self.read(source),
                (None, None) => Err(Error::new(
                    ErrorCode::PolicyUnloadable,
                    format_args!("policy {stamp} is not kept on this node, and the catalogue has another"),
                )),
            }
        })
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        let entry = |(stamp, source): &(PolicyStamp, CatalogueSource)| {
            let problem = self.problem(source, &stamp.digest);
            let source = match source {
                CatalogueSource::Embedded(_) => "embedded".into(),
                CatalogueSource::File { path, .. } => path.display().to_string(),
            };
            CatalogueEntry { stamp: stamp.clone(), source, problem }
        };
        self.sources.values().map(entry).collect()
    }
}
