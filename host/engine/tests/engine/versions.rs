//! A policy of which there are versions, and the engine that they serve.

use std::sync::{Arc, Mutex};

use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Offered, Policy, TakenIn};
use tenure_engine::{Changed, Define};
use tenure_fixtures::ports::policy;
use tenure_ledger::{Book, Component};
use tenure_types::{
    Definer, Definition, Error, ErrorCode, NetworkConfig, NetworkName, Outcome, PolicyName, PolicySelector,
    PolicyStamp, Request,
};

use crate::support::{Bench, fits, network};

/// A catalogue with one name, `mine`; its versions behave as the plain policies whose names are their digests.
#[derive(Default)]
pub(crate) struct Versions {
    pub(crate) stands_for: Mutex<&'static str>,
    pub(crate) watched: bool,
    /// Whether they accept the configuration of the network that is made up to check them.
    pub(crate) general: bool,
    /// The name under which they have too little to work with, and lie.
    pub(crate) starved: &'static str,
    /// Whether the node has lost its copies of those that serve.
    pub(crate) lost: Mutex<bool>,
    /// The digests of those that were in use and of those that were to be kept, when others were freed last.
    pub(crate) freed: Mutex<[Vec<String>; 2]>,
}

/// A plain policy under another stamp.
struct Version {
    stamp: Arc<PolicyStamp>,
    policy: Arc<dyn Policy>,
    general: bool,
}

impl Policy for Version {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        if !self.general || !config.ipam.starts_with('{') {
            return self.policy.define(network, config);
        }
        let config = NetworkConfig { ipam: "10.1.0.0/24".into(), attributes: Vec::new() };
        Box::pin(async move { self.policy.define(network, &config).await })
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        self.policy.propose(request, book, state)
    }

    fn keeps_state(&self) -> bool {
        self.policy.keeps_state()
    }

    fn migrate<'a>(
        &'a self,
        state: Arc<[u8]>,
        from: &'a PolicyStamp,
        book: Arc<Book>,
    ) -> Answer<'a, Arc<[u8]>> {
        let from = PolicyStamp { name: PolicyName::new(&*from.digest).unwrap(), ..from.clone() };
        Box::pin(async move { self.policy.migrate(state, &from, book).await })
    }
}

pub(crate) fn mine(digest: &str) -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("mine").unwrap(), digest: digest.into() }
}

impl Versions {
    fn version(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        let behaves = if stamp.name.as_str() == self.starved { "liar" } else { &*stamp.digest };
        let plain = policy::catalogue().find(&PolicyName::new(behaves).unwrap())?;
        Ok(Arc::new(Version { stamp: Arc::new(stamp.clone()), policy: plain, general: self.general }))
    }
}

impl Catalogue for Versions {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        self.version(&PolicyStamp { name: name.clone(), ..mine(*self.stands_for.lock().unwrap()) })
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        match *self.lost.lock().unwrap() {
            true => Err(Error::new(ErrorCode::PolicyUnloadable, "its copy is lost")),
            false => self.version(stamp),
        }
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        Ok(self.find(&selector.name)?.stamp().as_ref().clone())
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(async { self.find_pinned(stamp) })
    }

    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn> {
        let policy = self.version(&mine(&offered.sha256));
        Box::pin(async { Ok(TakenIn { policy: policy?, signer: String::new() }) })
    }

    fn set_loaded(&self, _: &[Component]) {}

    fn is_watched(&self, _: &PolicyName) -> bool {
        self.watched
    }

    fn needs_vetting(&self, _: &PolicyStamp) -> bool {
        true
    }

    fn free(&self, used: &[PolicyStamp], kept: &[PolicyStamp]) {
        let digests = |stamps: &[PolicyStamp]| stamps.iter().map(|stamp| stamp.digest.to_string()).collect();
        *self.freed.lock().unwrap() = [digests(used), digests(kept)];
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        let stamp = mine(*self.stands_for.lock().unwrap());
        vec![CatalogueEntry {
            stamp,
            source: "here".into(),
            problem: None,
            loading: false,
            file_problem: None,
        }]
    }

    fn awaited(&self) -> Option<String> {
        None
    }
}

pub(crate) fn bench(stands_for: &'static str, watched: bool) -> (Bench, Arc<Versions>) {
    bench_of(Versions { stands_for: stands_for.into(), watched, ..Versions::default() })
}

pub(crate) fn bench_of(versions: Versions) -> (Bench, Arc<Versions>) {
    let versions = Arc::new(versions);
    (Bench::with(8, 8, |_| Arc::clone(&versions) as _), versions)
}

impl Bench {
    pub(crate) async fn add_mine(&self, number: u32) -> Result<(), ErrorCode> {
        self.add_to(&network(), number, "10.0.0.0/24").await
    }

    pub(crate) async fn add_to(&self, name: &NetworkName, number: u32, ipam: &str) -> Result<(), ErrorCode> {
        let mut add = self.add_with(number, "mine", ipam);
        add.request.network = name.clone();
        self.engine.add(add, fits).await.map(drop).map_err(|error| error.code)
    }

    /// A definition of a network by an operator.
    pub(crate) async fn define_versioned(&self, name: &NetworkName, ipam: &str) -> Result<(), ErrorCode> {
        let define = Define {
            network: name.clone(),
            policy: PolicyName::new("mine").unwrap(),
            config: self.add_with(1, "mine", ipam).config,
            by: Definer::Operator,
            apply: true,
            change_ranges: false,
        };
        self.engine.define_network(&define).await.map(drop).map_err(|error| error.code)
    }

    /// The digest of what serves.
    pub(crate) fn digest(&self) -> String {
        self.engine.policies_of(&network()).unwrap().now.policy.digest.to_string()
    }

    /// Makes the checks that wait.
    pub(crate) async fn checked(&self) {
        while self.engine.make_check().await {}
    }

    pub(crate) async fn apply(&self, digest: &str) -> Changed {
        self.engine.apply_changed(&mine(digest)).await.unwrap()
    }
}
