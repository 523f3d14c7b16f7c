//! The policies of a node, by name.
//!
//! Loaded policies are behind a `std::sync::RwLock`, held to look up and to insert; the loader owns the rest.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Policy};
use tenure_types::{Error, ErrorCode, Meter, PolicyName, PolicyStamp};

use crate::decisions;
use crate::digest::sha256;
use crate::embedded;
use crate::loader::{
    Bytes, CatalogueSource, Catalogued, Compiler, Failed, KeptComponents, Loader, Rank, Runtime, Sources,
    Standing,
};
use crate::sandbox::{AskedPolicy, Limits};

type Loaded = HashMap<(PolicyName, Arc<str>), Arc<AskedPolicy>>;

/// The policy of a network that names none.
const DEFAULT: &str = "host-local";

/// The first-party policies and those of the configuration.
#[derive(Debug)]
pub struct Policies {
    bytes: Arc<Bytes>,
    /// The first-party ones.
    embedded: Sources,
    runtime: Arc<Runtime>,
    /// By name and digest: the same bytes under two names are two policies with two stamps.
    loaded: RwLock<Loaded>,
    loader: Loader,
}

impl Policies {
    /// A daemon's policies, compiled in child processes and kept under the state directory.
    ///
    /// A file may take an embedded policy's name, which it then replaces.
    ///
    /// # Errors
    /// `Internal` if the sandbox cannot be created.
    pub fn open(
        limits: Limits,
        files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>,
        state_directory: &Path,
    ) -> Result<Self, Error> {
        let runtime = Runtime::new(limits, Compiler::Child)?.with_cache(state_directory.join("compiled"));
        Self::with_runtime(runtime, files, state_directory)
    }

    /// Policies in a sandbox that the caller provides.
    ///
    /// # Errors
    /// `Internal` if an embedded policy has an invalid name.
    pub fn with_runtime(
        runtime: Runtime,
        files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>,
        state_directory: &Path,
    ) -> Result<Self, Error> {
        let embedded = embedded::ALL.into_iter().map(|(name, bytes)| {
            let name = PolicyName::new(name).map_err(|error| Error::new(ErrorCode::Internal, error))?;
            Ok(catalogued(name, CatalogueSource::Embedded(bytes)))
        });
        let embedded = embedded.collect::<Result<Sources, Error>>()?;
        let runtime = Arc::new(runtime);
        let kept = KeptComponents::new(state_directory.join("policies"));
        let bytes = Arc::new(Bytes::new(with_files(&embedded, files), kept, runtime.limits().component));
        let (found, loading) = (Arc::clone(&bytes), Arc::clone(&runtime));
        let load = move |stamp: &PolicyStamp| {
            let component = found.find(stamp).map_err(|error| Failed { error, missing: true })?;
            let policy = loading.load(&stamp.name, &component, Some(&stamp.digest));
            let policy =
                policy.map_err(|error| Failed { error, missing: sha256(&component) != *stamp.digest })?;
            found.kept.put(&stamp.digest, &component);
            Ok(AskedPolicy::new(policy))
        };
        let loader = Loader::new(Box::new(load));
        Ok(Self { bytes, embedded, runtime, loaded: RwLock::default(), loader })
    }

    /// Replaces the catalogue's files, and starts loading those that are new.
    ///
    /// A policy that serves a network continues to serve it, whether or not the catalogue still names it.
    pub fn set_files(&self, files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>) {
        let now = with_files(&self.embedded, files);
        let before = self.bytes.replace(now.clone());
        let is_named = |stamp: &PolicyStamp| now.get(&stamp.name).is_some_and(|now| now.stamp == *stamp);
        for gone in before.values().filter(|before| !is_named(&before.stamp)) {
            self.loader.forget(&gone.stamp);
        }
        for catalogued in now.values() {
            self.loader.want(&catalogued.stamp, rank(&catalogued.source));
        }
    }

    /// Removes unused files from the state directory, and returns how many: copies and compiled forms of policies
    /// that neither the catalogue nor `serving` names, and forms compiled by another version of the program.
    ///
    /// Call it at startup, before anything is loaded. Files that are not named as this crate names its own are left
    /// alone.
    pub fn prune(&self, serving: impl IntoIterator<Item = Arc<str>>) -> usize {
        let sources = self.bytes.sources();
        let catalogued = sources.values().map(|catalogued| Arc::clone(&catalogued.stamp.digest));
        let named: HashSet<Arc<str>> = serving.into_iter().chain(catalogued).collect();
        let removed = self.bytes.kept.prune(&named) + self.runtime.prune(&named);
        if removed > 0 {
            tracing::info!(removed, "removed policies that neither a network nor the catalogue uses");
        }
        removed
    }

    /// Starts loading: first the policies that serve networks, then the embedded ones, then those of the
    /// configuration.
    ///
    /// [`awaited`](Catalogue::awaited) names the serving and embedded policies and the default until each has loaded
    /// or failed to load.
    pub fn begin(&self, serving: impl IntoIterator<Item = PolicyStamp>) {
        for stamp in serving {
            self.loader.await_for(&stamp, Rank::Serving);
        }
        for catalogued in self.bytes.sources().values() {
            let Catalogued { stamp, source } = catalogued.as_ref();
            if stamp.name.as_str() == DEFAULT || matches!(source, CatalogueSource::Embedded(_)) {
                self.loader.await_for(stamp, rank(source));
            } else {
                self.loader.want(stamp, rank(source));
            }
        }
    }

    /// A writer of recorded decisions in a state directory.
    #[must_use]
    pub fn decisions(&self, state_directory: &Path) -> decisions::Writer {
        let limits = self.runtime.limits().recorded();
        decisions::Writer::new(Arc::clone(self.runtime.recorder()), state_directory, limits)
    }

    /// Returns the policy loaded under a stamp, or why it is not loaded.
    fn obtain(&self, stamp: &PolicyStamp, rank: Rank) -> Result<Arc<dyn Policy>, Error> {
        let key = (stamp.name.clone(), stamp.digest.clone());
        if let Some(policy) = self.loaded.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(policy) as Arc<dyn Policy>);
        }
        match self.loader.want(stamp, rank) {
            Standing::Loaded(policy) => Ok(self.keep(stamp, policy)),
            Standing::Loading => {
                Err(Error::new(ErrorCode::NotReady, format_args!("policy {stamp} is still being compiled")))
            }
            Standing::Failed(failed) => Err(failed.error),
        }
    }

    fn keep(&self, stamp: &PolicyStamp, policy: Arc<AskedPolicy>) -> Arc<dyn Policy> {
        let key = (stamp.name.clone(), stamp.digest.clone());
        self.loaded.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&policy));
        policy
    }

    /// An entry of the catalogue. Listing a policy whose bytes were missing looks for them again.
    fn entry(&self, stamp: &PolicyStamp, source: String, rank: Rank) -> CatalogueEntry {
        let standing = self.loader.want_bytes(stamp, rank);
        let (problem, loading) = match standing {
            Standing::Loaded(_) => (None, false),
            Standing::Loading => (Some("it is still being compiled".to_owned()), true),
            Standing::Failed(failed) => (Some(failed.error.cause), false),
        };
        CatalogueEntry { stamp: stamp.clone(), source, problem, loading }
    }
}

/// A name and the component that it stands for.
fn catalogued(name: PolicyName, source: CatalogueSource) -> (PolicyName, Arc<Catalogued>) {
    let digest = match &source {
        CatalogueSource::Embedded(bytes) => sha256(bytes),
        CatalogueSource::File { sha256, .. } => sha256.clone(),
    };
    (name.clone(), Arc::new(Catalogued { stamp: PolicyStamp { name, digest: digest.into() }, source }))
}

/// The embedded policies and the files; a file replaces the embedded policy of its name.
fn with_files(embedded: &Sources, files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>) -> Sources {
    let mut sources = embedded.clone();
    sources.extend(files.into_iter().map(|(name, source)| catalogued(name, source)));
    sources
}

fn rank(source: &CatalogueSource) -> Rank {
    match source {
        CatalogueSource::Embedded(_) => Rank::Embedded,
        CatalogueSource::File { .. } => Rank::Configured,
    }
}

impl Catalogue for Policies {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        let catalogued = self.bytes.named(name)?;
        self.obtain(&catalogued.stamp, rank(&catalogued.source))
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.obtain(stamp, Rank::Serving)
    }

    fn load<'a>(&'a self, name: &'a PolicyName) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(async move {
            let catalogued = self.bytes.named(name)?;
            let policy = self.loader.load(&catalogued.stamp).await?;
            Ok(self.keep(&catalogued.stamp, policy))
        })
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        let sources = self.bytes.sources();
        let line =
            |Catalogued { stamp, source }: &Catalogued| self.entry(stamp, source.to_string(), rank(source));
        let mut entries: Vec<_> = sources.values().map(|catalogued| line(catalogued)).collect();
        // A policy that serves a network but is no longer catalogued is listed only while it is not loaded.
        let listed: BTreeSet<_> = entries.iter().map(|entry| entry.stamp.digest.clone()).collect();
        let unloaded = self.loader.unloaded().into_iter().filter(|stamp| !listed.contains(&stamp.digest));
        entries.extend(unloaded.map(|stamp| self.entry(&stamp, "kept on this node".into(), Rank::Serving)));
        entries
    }

    fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.values().map(|policy| (policy.stamp().as_ref().clone(), policy.meter())).collect()
    }

    fn awaited(&self) -> Option<String> {
        let awaited: Vec<_> = self.loader.awaited().iter().map(ToString::to_string).collect();
        (!awaited.is_empty()).then(|| format!("compiling {}", awaited.join(", ")))
    }
}
