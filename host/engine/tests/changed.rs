//! Policies that a configuration names: checked before they serve, and exchanged when their file changes.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers are part of the tests")]

use std::sync::{Arc, Mutex};

use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Offered, Policy, TakenIn};
use tenure_fixtures::ports::policy;
use tenure_ledger::{Book, Component, StepKind};
use tenure_types::{
    Definition, Error, ErrorCode, NetworkConfig, NetworkName, Outcome, PolicyName, PolicySelector,
    PolicyStamp, Request,
};

#[expect(dead_code, reason = "other tests need the rest of it")]
mod support;

use support::{Bench, fits, network};

/// A catalogue with one name, `mine`; its versions behave as the plain policies whose names are their digests.
struct Versions {
    stands_for: Mutex<&'static str>,
    watched: bool,
}

/// A plain policy under another stamp.
struct Version {
    stamp: Arc<PolicyStamp>,
    policy: Arc<dyn Policy>,
}

impl Policy for Version {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        self.policy.define(network, config)
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        self.policy.propose(request, book, state)
    }
}

fn mine(digest: &str) -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("mine").unwrap(), digest: digest.into() }
}

impl Catalogue for Versions {
    fn find(&self, _: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        let digest = *self.stands_for.lock().unwrap();
        self.find_pinned(&mine(digest))
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        let plain = policy::catalogue().find(&PolicyName::new(&*stamp.digest).unwrap())?;
        Ok(Arc::new(Version { stamp: Arc::new(stamp.clone()), policy: plain }))
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        Ok(self.find(&selector.name)?.stamp().as_ref().clone())
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(async { self.find_pinned(stamp) })
    }

    fn take_in(&self, _: Offered) -> Answer<'_, TakenIn> {
        Box::pin(async { Err(Error::new(ErrorCode::PolicyUnloadable, "not here")) })
    }

    fn set_loaded(&self, _: &[Component]) {}

    fn is_watched(&self, _: &PolicyName) -> bool {
        self.watched
    }

    fn needs_vetting(&self, _: &PolicyStamp) -> bool {
        true
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

fn bench(stands_for: &'static str, watched: bool) -> (Bench, Arc<Versions>) {
    let versions = Arc::new(Versions { stands_for: Mutex::new(stands_for), watched });
    (Bench::with(8, 8, |_| Arc::clone(&versions) as _), versions)
}

impl Bench {
    async fn add_mine(&self, number: u32) -> Result<(), ErrorCode> {
        let add = self.add_with(number, "mine", "10.0.0.0/24");
        self.engine.add(add, fits).await.map(drop).map_err(|error| error.code)
    }

    /// The digest of what serves.
    fn digest(&self) -> String {
        self.engine.policies_of(&network()).unwrap().now.policy.digest.to_string()
    }

    /// Makes the checks that wait.
    async fn checked(&self) {
        while self.engine.make_check().await {}
    }

    async fn apply(&self, digest: &str) -> tenure_engine::Changed {
        self.engine.apply_changed(&mine(digest), "file changed").await.unwrap()
    }
}

#[tokio::test]
async fn a_named_policy_is_checked_once_before_it_serves() {
    let (bench, versions) = bench("first", false);
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::NotReady), "it is told to try again");
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::NotReady));
    bench.checked().await;
    assert_eq!(bench.add_mine(1).await, Ok(()));
    assert!(!bench.engine.make_check().await, "once");

    // Another version that does not conform: the one before keeps serving, and it is shown why.
    *versions.stands_for.lock().unwrap() = "liar";
    assert_eq!(bench.add_mine(2).await, Ok(()));
    bench.checked().await;
    assert_eq!(bench.add_mine(3).await, Ok(()));
    assert_eq!(bench.digest(), "first");
    let problem = bench.engine.policies()[0].problem.clone().unwrap();
    assert!(problem.contains("does not pass the conformance suite"), "{problem}");

    // One that does is taken as soon as that is known.
    *versions.stands_for.lock().unwrap() = "last";
    assert_eq!(bench.add_mine(4).await, Ok(()));
    assert_eq!(bench.digest(), "first");
    bench.checked().await;
    assert_eq!(bench.add_mine(5).await, Ok(()));
    assert_eq!(bench.digest(), "last");
}

#[tokio::test]
async fn a_named_policy_that_does_not_conform_is_refused_for_a_new_network() {
    let (bench, _) = bench("liar", false);
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::NotReady));
    bench.checked().await;
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::PolicyNonconforming));
    assert!(bench.engine.policies_of(&network()).is_none());
    let define = tenure_engine::Define {
        network: network(),
        policy: PolicyName::new("mine").unwrap(),
        config: bench.add_with(1, "mine", "10.0.0.0/24").config,
        by: tenure_types::Definer::Operator,
        apply: true,
        change_ranges: false,
    };
    let refused = bench.engine.define_network(&define).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PolicyNonconforming);
}

#[tokio::test]
async fn a_changed_file_is_exchanged_where_it_conforms() {
    let (bench, versions) = bench("first", true);
    bench.add_mine(1).await.unwrap_err();
    bench.checked().await;
    bench.add_mine(1).await.unwrap();
    let changed = bench.apply("last").await;
    assert_eq!((changed.exchanged.len(), changed.kept.len(), changed.holds()), (1, 0, true));
    // Whatever the name stands for meanwhile: only the change itself exchanges a version.
    assert_eq!(bench.add_mine(2).await, Ok(()));
    assert_eq!(bench.digest(), "last");
    *versions.stands_for.lock().unwrap() = "last";
    let served = bench.engine.policies_of(&network()).unwrap();
    assert!(served.now.watched && served.now.why == "file changed");
    assert_eq!(served.now.by, tenure_ledger::Chooser::Configuration, "nobody else has chosen");

    let changed = bench.apply("liar").await;
    assert!(!changed.holds());
    assert_eq!(changed.kept[0].1.code, ErrorCode::PolicyNonconforming);
    assert_eq!(bench.digest(), "last");
    let served = bench.engine.policies_of(&network()).unwrap();
    assert_eq!(served.history[0].kind, StepKind::Refused);
}

#[tokio::test]
async fn a_version_that_was_rolled_back_is_not_applied_again() {
    let (bench, _) = bench("first", true);
    bench.add_mine(1).await.unwrap_err();
    bench.checked().await;
    bench.add_mine(1).await.unwrap();
    assert!(bench.apply("refuses-live").await.holds());
    for number in 2..5 {
        assert_eq!(bench.add_mine(number).await, Err(ErrorCode::PolicyRefused));
    }
    bench.engine.tend().await;
    assert_eq!(bench.digest(), "first", "it was rolled back");
    assert_eq!(bench.engine.given_up_for(&mine("refuses-live")), Some(mine("first")));
    assert_eq!(bench.engine.given_up_for(&mine("first")), None, "it serves");
    assert_eq!(bench.engine.given_up_for(&mine("last")), None, "it has not failed");
    let again = bench.apply("refuses-live").await;
    assert!(again.kept[0].1.cause.contains("was rolled back from policy mine@refuses-live"), "{again:?}");
    assert_eq!(bench.digest(), "first");
    assert!(bench.apply("last").await.holds());
    assert_eq!(bench.digest(), "last");
    let by = bench.engine.policies_of(&network()).unwrap().now.by;
    assert_eq!(by, tenure_ledger::Chooser::Configuration, "the roll-back has been answered");
}
