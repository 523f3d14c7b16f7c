//! The policies of a node, by name.
//!
//! Loaded policies are behind a `std::sync::RwLock`, held to look up and to insert; the loader owns the rest.

mod given;
mod taking;
mod watched;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use tenure_engine::ports::{Again, Answer, Catalogue, CatalogueEntry, Details, Offered, Policy, TakenIn};
use tenure_ledger::Component;
use tenure_types::{
    Error, ErrorCode, Meter, NetworkName, PolicyName, PolicySelector, PolicyStamp, hold, hold_exclusive,
    hold_shared,
};

use self::given::{CatalogueParts, Taking, catalogued, rank, sources};
use crate::again::again;
use crate::decisions;
use crate::digest::sha256;
use crate::embedded;
use crate::loader::{
    AcceptedReleases, CatalogueSource, Catalogued, ComponentStore, KeptComponents, Load, LoadFailure,
    LoadState, Loader, PolicyRuntime, Rank, SignedRelease, Sources, Trusted, TrustedKeys, Verified,
};
use crate::sandbox::{AskedPolicy, Grants, WasmPolicy};

type Loaded = HashMap<(PolicyName, Arc<str>), Arc<AskedPolicy>>;

/// The policy of a network that names none.
const DEFAULT: &str = "host-local";

/// The first-party policies and those of the configuration.
#[derive(Debug)]
pub struct Policies {
    bytes: Arc<ComponentStore>,
    /// The first-party ones.
    embedded: Sources,
    /// The other sources of the catalogue. A `std::sync::Mutex`, held while the catalogue is rebuilt.
    given: Mutex<CatalogueParts>,
    trusted: Arc<Trusted>,
    accepted: Arc<AcceptedReleases>,
    runtime: Arc<PolicyRuntime>,
    /// By name and digest: the same bytes under two names are two policies with two stamps.
    loaded: RwLock<Loaded>,
    loader: Loader,
    /// The state directory.
    directory: PathBuf,
    /// The digests of components that are being taken in: held while a copy is written, or removed.
    taking: Taking,
}

impl Policies {
    /// A daemon's policies in a sandbox that the caller provides, kept under the state directory.
    ///
    /// A file may take an embedded policy's name, which it then replaces. A policy among `files` that is embedded itself
    /// joins those that every daemon has.
    ///
    /// # Errors
    /// `Internal` if an embedded policy has an invalid name.
    pub fn with_runtime(
        runtime: PolicyRuntime,
        files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>,
        state_directory: &Path,
    ) -> Result<Self, Error> {
        let (mut built_in, mut configured) = (Vec::new(), Vec::new());
        for (name, bytes) in embedded::ALL {
            built_in.push((
                PolicyName::new(name).map_err(|error| Error::new(ErrorCode::Internal, error))?,
                bytes,
            ));
        }
        for (name, source) in files {
            match source {
                CatalogueSource::Embedded(bytes) => built_in.push((name, bytes)),
                source => configured.push((name, source)),
            }
        }
        let embedded: Sources = built_in
            .into_iter()
            .map(|(name, bytes)| catalogued(name, CatalogueSource::Embedded(bytes), sha256(bytes).into()))
            .collect();
        let runtime = Arc::new(runtime);
        let kept = KeptComponents::new(state_directory.join("policies"));
        let given = CatalogueParts { files: configured, ..CatalogueParts::default() };
        let bytes =
            Arc::new(ComponentStore::new(sources(&embedded, &given), kept, runtime.limits().component));
        let trusted = Arc::new(Trusted::default());
        let accepted = Arc::new(AcceptedReleases::new(state_directory.join("policies")));
        let load =
            load(Arc::clone(&bytes), Arc::clone(&runtime), Arc::clone(&trusted), Arc::clone(&accepted));
        let loader = Loader::new(load);
        let (given, directory) = (Mutex::new(given), state_directory.to_owned());
        let (loaded, taking) = (RwLock::default(), Taking::default());
        Ok(Self { bytes, embedded, given, trusted, accepted, runtime, loaded, loader, directory, taking })
    }

    /// Sets the keys that components must be signed with; none, if signatures are not checked. Policies that are loaded
    /// already stay until [`forget_untrusted`](Self::forget_untrusted).
    pub fn trust(&self, keys: TrustedKeys) {
        self.trusted.set(keys);
    }

    /// Which of these policies would not be loaded with these keys, and why; a policy that is not here anyway is not among
    /// them. Reads their files.
    #[must_use]
    pub fn untrusted(&self, keys: &TrustedKeys, policies: &[PolicyStamp]) -> Vec<(PolicyStamp, String)> {
        let cause = |stamp: &PolicyStamp| {
            let component = self.bytes.find(stamp).ok().filter(|_| !embedded::has(&stamp.digest))?;
            keys.check_any(&stamp.name, &component, &self.bytes.signatures(stamp)).err()
        };
        policies.iter().filter_map(|stamp| Some((stamp.clone(), cause(stamp)?))).collect()
    }

    /// Checks the policies that are loaded against the keys in force, and forgets those that these keys do not verify, so that
    /// they cannot be activated; returns them. `serving` stay: they serve as long as the daemon runs. The releases of
    /// the others count as accepted from now on. Reads their files.
    #[must_use]
    pub fn forget_untrusted(&self, serving: &[PolicyStamp]) -> Vec<PolicyStamp> {
        let mut forgotten = Vec::new();
        for stamp in self.loader.loaded().into_iter().filter(|stamp| !embedded::has(&stamp.digest)) {
            let Ok(component) = self.bytes.find(&stamp) else { continue };
            match self.trusted.check_any(&stamp.name, &component, &self.bytes.signatures(&stamp)) {
                Ok(verified) => note_release(&self.accepted, &stamp, &verified),
                Err(_) if serving.contains(&stamp) => {}
                Err(_) => {
                    hold_exclusive(&self.loaded).remove(&(stamp.name.clone(), Arc::clone(&stamp.digest)));
                    self.loader.free(&stamp);
                    forgotten.push(stamp);
                }
            }
        }
        forgotten
    }

    /// Loads the policies again that were not loaded for want of a signature, without waiting for their next turn, and
    /// those that were forgotten for it, so that they are listed with the reason.
    pub async fn load_untrusted_again(&self, forgotten: Vec<PolicyStamp>) {
        let is_untrusted = |stamp: &PolicyStamp| {
            let standing = self.loader.want_bytes(stamp, Rank::Configured);
            let LoadState::Failed(LoadFailure { error, .. }) = standing else { return false };
            error.code == ErrorCode::PolicyUntrusted
        };
        let untrusted: Vec<_> = self.loader.unloaded().into_iter().filter(is_untrusted).collect();
        for stamp in forgotten.into_iter().chain(untrusted) {
            // The loader reports a failure.
            let _ = self.load_now(&stamp).await;
        }
    }

    /// Grants each of these names what it says, and all others what is granted by default. Calls in progress keep
    /// what they were granted.
    pub fn grant(&self, grants: HashMap<PolicyName, Grants>) {
        self.runtime.grant(grants);
    }

    /// Replaces the catalogue's files, and starts loading those that are new. Embedded policies among them are those of the
    /// start.
    ///
    /// A policy that serves a network continues to serve it, whether or not the catalogue still names it.
    pub fn set_files(&self, files: impl IntoIterator<Item = (PolicyName, CatalogueSource)>) {
        let files = files.into_iter().filter(|(_, source)| !matches!(source, CatalogueSource::Embedded(_)));
        self.give(|given| given.files = files.collect());
    }

    /// Rebuilds the catalogue, and starts loading what is new in it.
    fn give(&self, change: impl FnOnce(&mut CatalogueParts)) {
        let mut given = hold(&self.given);
        change(&mut given);
        let now = sources(&self.embedded, &given);
        let before = self.bytes.replace(now.clone());
        drop(given);
        let is_named = |stamp: &PolicyStamp| now.get(&stamp.name).is_some_and(|now| now.stamp == *stamp);
        for gone in before.values().filter(|before| !is_named(&before.stamp)) {
            self.loader.forget(&gone.stamp);
        }
        for catalogued in now.values().filter(|catalogued| !catalogued.is_unread()) {
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
        for catalogued in self.bytes.sources().values().filter(|catalogued| !catalogued.is_unread()) {
            let Catalogued { stamp, source } = catalogued.as_ref();
            if stamp.name.as_str() == DEFAULT || matches!(source, CatalogueSource::Embedded(_)) {
                self.loader.await_for(stamp, rank(source));
            } else {
                self.loader.want(stamp, rank(source));
            }
        }
    }

    /// A writer of recorded decisions in the state directory.
    #[must_use]
    pub fn decisions(&self) -> decisions::DecisionWriter {
        let limits = self.runtime.limits().recorded();
        decisions::DecisionWriter::new(Arc::clone(self.runtime.recorder()), &self.directory, limits)
    }

    /// Loads a policy and waits for it.
    async fn load_now(&self, stamp: &PolicyStamp) -> Result<Arc<AskedPolicy>, Error> {
        let policy = self.loader.load(stamp).await?;
        Ok(self.keep(stamp, policy))
    }

    /// Returns the policy loaded under a stamp, or why it is not loaded.
    fn obtain(&self, stamp: &PolicyStamp, rank: Rank) -> Result<Arc<dyn Policy>, Error> {
        let key = (stamp.name.clone(), stamp.digest.clone());
        if let Some(policy) = hold_shared(&self.loaded).get(&key) {
            return Ok(Arc::clone(policy) as Arc<dyn Policy>);
        }
        match self.loader.want(stamp, rank) {
            LoadState::Loaded(policy) => Ok(self.keep(stamp, policy)),
            LoadState::Loading => {
                Err(Error::new(ErrorCode::Preparing, format_args!("policy {stamp} is still being compiled")))
            }
            LoadState::Failed(failed) => Err(failed.error),
        }
    }

    fn keep(&self, stamp: &PolicyStamp, policy: Arc<AskedPolicy>) -> Arc<AskedPolicy> {
        let key = (stamp.name.clone(), stamp.digest.clone());
        hold_exclusive(&self.loaded).insert(key, Arc::clone(&policy));
        policy
    }

    /// An entry of the catalogue. Listing a policy whose bytes were missing looks for them again.
    fn entry(&self, stamp: &PolicyStamp, source: String, rank: Rank) -> CatalogueEntry {
        let file_problem = self.file_problem(&stamp.name);
        if stamp.digest.is_empty() {
            let (problem, loading) = match file_problem {
                Some(problem) => (problem, false),
                None => ("its file has not been read yet".to_owned(), true),
            };
            let stamp = stamp.clone();
            return CatalogueEntry { stamp, source, problem: Some(problem), loading, file_problem: None };
        }
        let standing = self.loader.want_bytes(stamp, rank);
        // Otherwise the same file is the problem of the policy itself.
        let file_problem = file_problem.filter(|_| matches!(standing, LoadState::Loaded(_)));
        let (problem, loading) = match standing {
            LoadState::Loaded(_) => (None, false),
            LoadState::Loading => (Some("it is still being compiled".to_owned()), true),
            LoadState::Failed(failed) => (Some(failed.error.cause), false),
        };
        CatalogueEntry { stamp: stamp.clone(), source, problem, loading, file_problem }
    }
}

/// Finds, verifies and compiles a policy, and keeps a copy of it.
fn load(
    bytes: Arc<ComponentStore>,
    runtime: Arc<PolicyRuntime>,
    trusted: Arc<Trusted>,
    accepted: Arc<AcceptedReleases>,
) -> Load {
    Box::new(move |stamp: &PolicyStamp| {
        let component = bytes.find(stamp).map_err(|error| LoadFailure { error, missing: true })?;
        let missing = sha256(&component) != *stamp.digest;
        let failed = |error| LoadFailure { error, missing };
        let mut verified = Verified::default();
        if trusted.checks() && !embedded::has(&stamp.digest) {
            let untrusted =
                |cause| Error::new(ErrorCode::PolicyUntrusted, format_args!("policy {stamp}: {cause}"));
            verified = trusted
                .check_any(&stamp.name, &component, &bytes.signatures(stamp))
                .map_err(untrusted)
                .map_err(failed)?;
        }
        let policy = runtime.load(&stamp.name, &component, Some(&stamp.digest)).map_err(failed)?;
        if let Some(notice) = details(&policy).notice(&stamp.name) {
            tracing::warn!(policy = %stamp, "{notice}");
        }
        note_release(&accepted, stamp, &verified);
        // Without a copy, the node depends on the component's file.
        let signature = Some(verified.signature.as_str()).filter(|text| !text.is_empty());
        if let Err(error) = bytes.kept.put(stamp, &component, signature) {
            tracing::warn!(%error, policy = %stamp, "cannot keep a copy of a policy");
        }
        Ok(AskedPolicy::new(policy))
    })
}

/// The abilities of a policy and its present grants, without its use.
fn details(policy: &WasmPolicy) -> Details {
    let (grants, limits) = (policy.grants(), policy.limits());
    Details {
        worlds: policy.worlds(),
        effects: grants.effects.iter().map(|effect| effect.name()).collect(),
        deadline: limits.deadline,
        memory: u64::try_from(limits.memory).unwrap_or(u64::MAX),
        unchecked: grants.unchecked,
        meter: Meter::default(),
    }
}

/// Notes the release of a policy that is loaded, so that no older one passes from now on.
fn note_release(accepted: &AcceptedReleases, stamp: &PolicyStamp, verified: &Verified) {
    let Some(SignedRelease { version, .. }) = &verified.release else { return };
    if let Err(error) = accepted.note(&stamp.name, &stamp.digest, version) {
        tracing::warn!(%error, policy = %stamp, "cannot note which version of a policy is accepted");
    }
}

impl Catalogue for Policies {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        let catalogued = self.bytes.named(name)?;
        self.read_before(&catalogued)?;
        self.obtain(&catalogued.stamp, rank(&catalogued.source))
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.obtain(stamp, Rank::Serving)
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        let named = self.bytes.named(&selector.name);
        let named = named.and_then(|named| self.read_before(&named).map(|()| named));
        if let Some(named) = named.as_ref().ok().filter(|named| selector.matches(&named.stamp)) {
            return Ok(named.stamp.clone());
        }
        // Another version: one that was loaded before it, or one that has served.
        let given = hold(&self.given);
        let given = given
            .loaded
            .iter()
            .map(|component| component.policy.clone())
            .rfind(|policy| selector.matches(policy));
        let known = given.or_else(|| {
            let loaded = hold_shared(&self.loaded);
            loaded
                .values()
                .map(|policy| policy.stamp().as_ref().clone())
                .find(|policy| selector.matches(policy))
        });
        let unknown = |named: &PolicyStamp| {
            let cause = format_args!("no policy {selector}; {} is {named}", selector.name);
            Error::new(ErrorCode::UnknownPolicy, cause)
        };
        match known {
            Some(known) => Ok(known),
            None => Err(unknown(&named?.stamp)),
        }
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(async move { Ok(self.load_now(stamp).await? as Arc<dyn Policy>) })
    }

    fn decide_again<'a>(&'a self, policy: &'a PolicyStamp, network: &'a NetworkName) -> Answer<'a, Again> {
        Box::pin(async move {
            let policy = self.load_now(policy).await?;
            let record = decisions::folder(&self.directory).join(network.as_str());
            let again = policy.beside(move |policy| again(policy, &record)).await;
            again.inspect_err(|error| {
                tracing::warn!(%network, %error, "a shadow cannot decide what is recorded again");
            })
        })
    }

    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn> {
        Box::pin(async move {
            if self.is_configured(&offered.name) {
                let name = offered.name;
                let cause = format_args!("policies.{name} is defined in tenured.toml; change it there");
                return Err(Error::new(ErrorCode::OutOfBounds, cause));
            }
            self.take(offered).await
        })
    }

    fn set_loaded(&self, loaded: &[Component]) {
        self.give(|given| given.loaded = loaded.to_vec());
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

    fn is_watched(&self, name: &PolicyName) -> bool {
        self.bytes.named(name).is_ok_and(|now| matches!(now.source, CatalogueSource::Watched { .. }))
    }

    fn needs_vetting(&self, stamp: &PolicyStamp) -> bool {
        !embedded::has(&stamp.digest) && !self.runtime.granted(&stamp.name).get().unchecked
    }

    fn free(&self, used: &[PolicyStamp], kept: &[PolicyStamp]) {
        self.free_unused(used, kept);
    }

    fn details(&self, stamp: &PolicyStamp) -> Option<Details> {
        let loaded = hold_shared(&self.loaded);
        let policy = loaded.get(&(stamp.name.clone(), Arc::clone(&stamp.digest)))?;
        Some(Details { meter: policy.meter(), ..details(policy.policy()) })
    }

    fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        let loaded = hold_shared(&self.loaded);
        loaded.values().map(|policy| (policy.stamp().as_ref().clone(), policy.meter())).collect()
    }

    fn awaited(&self) -> Option<String> {
        let awaited: Vec<_> = self.loader.awaited().iter().map(ToString::to_string).collect();
        (!awaited.is_empty()).then(|| format!("compiling {}", awaited.join(", ")))
    }
}
