//! Exchanges of policies: refused ones, undone ones, and shadow runs.

mod roll_backs;
mod undone;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::ports::{Answer, Catalogue, Offered, Policy};
use tenure_engine::{ExchangeSettings, Settings};
use tenure_fixtures::ports::catalogue::LookUp;
use tenure_fixtures::ports::{ManualClock, policy};
use tenure_ledger::Book;
use tenure_types::{
    ConditionName, Definition, Error, ErrorCode, NetworkConfig, NetworkName, Outcome, PolicyName,
    PolicySelector, PolicyStamp, Request,
};

use crate::support::{Bench, activate, fits, network, poll_once};
use crate::versions::{bench as versioned, mine};

impl Bench {
    fn serves(&self) -> String {
        self.engine.policies_of(&network()).unwrap().now.policy.name.to_string()
    }

    /// The steps of the history, the latest first.
    fn history(&self) -> Vec<String> {
        let steps = self.engine.policies_of(&network()).unwrap().history;
        steps.iter().map(|step| format!("{} {}", step.kind.name(), step.policy.name)).collect()
    }

    fn watch(&self, seconds: u64, worse_percent: u32) {
        let exchange = ExchangeSettings { watch: Duration::from_secs(seconds), worse_percent };
        self.engine.set(Settings { exchange, ..self.engine.settings().as_ref().clone() });
    }

    async fn add_code(&self, number: u32) -> Result<(), ErrorCode> {
        self.engine.add(self.add(number), fits).await.map(drop).map_err(|error| error.code)
    }
}

#[tokio::test]
async fn a_policy_that_does_not_conform_is_refused_and_noted() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    for (policy, why) in [("liar", "is outside pool"), ("failing", "it ran longer than 50 ms")] {
        let refused = bench.engine.activate(&activate(policy)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PolicyNonconforming);
        assert!(refused.cause.contains(why), "{refused}");
    }
    assert_eq!(bench.serves(), "first");
    assert_eq!(bench.history(), ["refused failing", "refused liar", "chosen first"]);
    let policy =
        tenure_types::PolicySelector { name: PolicyName::new("liar").unwrap(), digest: String::new() };
    bench.engine.shadow(&network(), &policy, "").await.unwrap_err();
    let history = bench.engine.policies_of(&network()).unwrap().history;
    let asked = |at: usize| history[at].why.split(": ").next().unwrap().to_owned();
    assert_eq!(
        (asked(0), asked(1)),
        ("shadow run for an operator".into(), "activation by an operator".into())
    );
    let unchecked = tenure_engine::Activate { unchecked: true, ..activate("liar") };
    bench.engine.activate(&unchecked).await.unwrap();
    assert_eq!(bench.serves(), "liar", "an operator may insist");
    // Refusing everything is a rule like any other.
    bench.engine.activate(&activate("refusing")).await.unwrap();
    assert_eq!(bench.add_code(2).await, Err(ErrorCode::PolicyRefused));
}

/// Regression: the exchange was in memory before it was durable, and stayed there when its sync failed.
#[tokio::test]
async fn an_exchange_that_cannot_be_made_durable_is_not_in_force() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let before = bench.engine.policies_of(&network()).unwrap();
    bench.journal.hold();
    {
        // The suite gives way to other tasks.
        let wanted = tenure_engine::Activate { unchecked: true, ..activate("last") };
        let mut exchange = pin!(bench.engine.activate(&wanted));
        assert!(poll_once(exchange.as_mut()).is_pending());
        let mut add = pin!(bench.engine.add(bench.add(2), fits));
        assert!(poll_once(add.as_mut()).is_pending(), "nobody is served by a policy that may not stay");
        bench.journal.resolve(&Err(Error::new(ErrorCode::CheckpointFailed, "no sync")));
        assert_eq!(exchange.await.unwrap_err().code, ErrorCode::CheckpointFailed);
        assert_eq!(add.await.unwrap().addresses[0].ip().to_string(), "10.0.0.3", "by the policy before");
    }
    let after = bench.engine.policies_of(&network()).unwrap();
    assert_eq!((&after.now, &after.before), (&before.now, &before.before));
    assert_eq!(bench.history(), ["refused last", "undone last", "chosen last", "chosen first"]);

    // The same for ranges that would have changed with it.
    let define = tenure_engine::Define {
        network: network(),
        policy: PolicyName::new("first").unwrap(),
        config: bench.add_with(9, "first", "10.0.9.0/29").config,
        by: tenure_types::Definer::Operator,
        apply: true,
        change_ranges: true,
    };
    bench.journal.hold();
    let mut redefined = pin!(bench.engine.define_network(&define));
    assert!(poll_once(redefined.as_mut()).is_pending());
    bench.journal.resolve(&Err(Error::new(ErrorCode::CheckpointFailed, "no sync")));
    assert_eq!(redefined.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    assert_eq!(bench.address(3).await.unwrap(), "10.0.0.4");
}

#[tokio::test]
async fn a_network_whose_first_definition_cannot_be_made_durable_does_not_exist() {
    let bench = Bench::new(8, 8);
    let define = tenure_engine::Define {
        network: network(),
        policy: PolicyName::new("first").unwrap(),
        config: bench.add(1).config,
        by: tenure_types::Definer::Operator,
        apply: true,
        change_ranges: false,
    };
    bench.journal.hold();
    let mut defined = pin!(bench.engine.define_network(&define));
    assert!(poll_once(defined.as_mut()).is_pending());
    bench.journal.resolve(&Err(Error::new(ErrorCode::DiskFull, "full")));
    assert_eq!(defined.await.unwrap_err().code, ErrorCode::DiskFull);
    assert_eq!(bench.engine.network_names(), []);
    bench.engine.define_network(&define).await.unwrap();
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
}

#[tokio::test]
async fn a_shadow_decides_every_request_and_changes_nothing() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let report = bench.shadow("last").await;
    assert_eq!((report.rehearsed, report.verdicts.compared(), &report.problem), ((1, 1), 0, &None));
    for (number, address) in [(2, "10.0.0.3"), (3, "10.0.0.4")] {
        assert_eq!(bench.address(number).await.unwrap(), address, "the serving policy decides");
        bench.tick(1_000);
        bench.engine.tend().await;
    }
    bench.engine.del(bench.del(2)).await.unwrap();
    bench.tick(60_000);
    // Both see that the first address is free again.
    assert_eq!(bench.address(4).await.unwrap(), "10.0.0.3");
    bench.engine.tend().await;
    let verdicts = bench.report().verdicts;
    assert_eq!((verdicts.other_address, verdicts.compared()), (3, 3));
    let told: Vec<_> =
        verdicts.examples.iter().map(|found| (found.served.as_str(), found.candidate.as_str())).collect();
    assert_eq!(told, [("10.0.0.3", "10.0.0.6"), ("10.0.0.4", "10.0.0.6"), ("10.0.0.3", "10.0.0.6")]);
    assert_eq!(bench.serves(), "first");
}

#[tokio::test]
async fn a_shadow_that_decides_the_same_can_be_promoted_once_it_has_decided_enough() {
    let bench = Bench::new(8, 8);
    bench.watch(0, 1);
    bench.address(1).await.unwrap();
    let promote = async |now| bench.engine.promote(&network(), false, now, "").await;
    let none = promote(false).await.unwrap_err();
    assert_eq!(none.code, ErrorCode::ShadowInconclusive, "there is none");
    assert!(none.next_step().starts_with("start a shadow run"), "{none:?}");
    bench.shadow("refuses-live").await;
    assert_eq!(promote(false).await.unwrap_err().code, ErrorCode::ShadowInconclusive, "too few");
    bench.shadow("last").await;
    for round in 0..16 {
        bench.address(100 + round).await.unwrap();
        bench.engine.del(bench.del(100 + round)).await.unwrap();
        bench.tick(60_000);
        bench.engine.tend().await;
    }
    let promoted = promote(false).await.unwrap();
    assert_eq!(promoted.after.name.as_str(), "last");
    assert!(bench.engine.shadow_report(&network()).is_none(), "it serves now");
    let why = bench.engine.policies_of(&network()).unwrap().now.why;
    assert_eq!(why, "promoted from the shadow by an operator: 16 requests compared, 16 decided differently");
    bench.engine.tend().await;
}

#[tokio::test]
async fn a_planted_fault_is_found_in_the_shadow_and_not_promoted() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let report = bench.shadow("fails-live").await;
    assert_eq!((report.rehearsed, report.verdicts.failed), ((1, 0), 1), "found without a single request");
    assert_eq!(bench.address(2).await.unwrap(), "10.0.0.3");
    bench.tick(1_000);
    bench.engine.tend().await;
    let found = &bench.report().verdicts.examples[0];
    assert_eq!((found.verdict.name(), found.served.as_str()), ("failed", "10.0.0.3"));
    assert!(found.candidate.contains("it trapped: unreachable") && !found.refuses, "{found:?}");
    let refused = bench.engine.promote(&network(), false, true, "").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ShadowInconclusive, "not even with --now");
    assert!(bench.engine.end_shadow(&network(), "it fails").await.unwrap());
    assert!(!bench.engine.end_shadow(&network(), "").await.unwrap());
    bench.engine.tend().await;
    assert!(bench.engine.shadow_report(&network()).is_none());
}

/// Regression: the report was empty while the run was worked on, so what had failed could be promoted then.
#[tokio::test]
async fn what_a_shadow_has_failed_counts_while_it_is_busy() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    assert_eq!(bench.shadow("worsens").await.verdicts.failed, 1);
    bench.address(100).await.unwrap();
    bench.tick(1_000);
    let mut busy = pin!(bench.engine.tend());
    assert!(poll_once(busy.as_mut()).is_pending(), "the candidate does not answer");
    assert_eq!(bench.report().verdicts.failed, 1);
    let refused = bench.engine.promote(&network(), false, true, "").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ShadowInconclusive, "not even with --now");
}

/// Regression: the candidate rested after each decision, so of requests that waited together only the first was compared; or it
/// never rested, since what it used beyond its share was forgotten.
#[tokio::test]
async fn a_shadow_decides_a_batch_within_its_share_of_time() {
    let bench = Bench::with(8, 8, slow);
    let add = |number| bench.engine.add(bench.add_with(number, "first", "10.0.0.0/24"), fits);
    add(1).await.unwrap();
    bench.shadow("last").await;
    let (mut expected, mut began) = ((0, 0), Duration::ZERO);
    // An idle second pays for 10 decisions of 5 ms, and the time that they take for the eleventh.
    for (requests, compared) in [(8, 8), (30, 11)] {
        bench.tick(10_000);
        for _ in 0..requests {
            add(2).await.unwrap();
            bench.engine.del(bench.del(2)).await.unwrap();
            bench.clock.advance(Duration::from_nanos(1));
        }
        began = Duration::from_nanos(bench.now().boot_ns);
        bench.engine.tend().await;
        expected = (expected.0 + compared, expected.1 + requests - compared);
        let report = bench.report();
        assert_eq!((report.verdicts.compared(), report.skipped), expected);
    }
    // What the eleventh took is paid for 100 ms after the batch began, and no sooner.
    let paid = began + Duration::from_millis(100);
    for (at, compared) in [(paid - Duration::from_nanos(1), 19), (paid, 20)] {
        bench.clock.set(at);
        add(3).await.unwrap();
        bench.engine.tend().await;
        assert_eq!(bench.report().verdicts.compared(), compared);
        bench.engine.del(bench.del(3)).await.unwrap();
    }
}

/// The suite reads no clock, so a policy that goes back and forth need not pass it again.
#[tokio::test]
async fn a_policy_passes_the_suite_once_with_a_configuration() {
    let bench = Bench::with(8, 8, slow);
    let exchange = async |policy: &str| {
        let before = bench.now();
        bench.engine.activate(&activate(policy)).await.unwrap();
        bench.now().boot_ns > before.boot_ns
    };
    bench.address(1).await.unwrap();
    assert!(exchange("last").await, "the suite takes time");
    exchange("first").await;
    assert!(!exchange("last").await, "and is not run again");
    bench.engine.check_again();
    exchange("first").await;
    assert!(exchange("last").await, "but after what it may use has changed");
    // Another configuration is another matter.
    bench.engine.del(bench.del(1)).await.unwrap();
    exchange("first").await;
    bench.tick(60_000);
    let wider = bench.add_with(2, "first", "10.0.0.0/28");
    bench.engine.remove_network(&network(), true).await.unwrap();
    bench.engine.add(wider, fits).await.unwrap();
    assert!(exchange("last").await);
}

/// The plain policies, of which `last` is slow.
fn slow(clock: &Arc<ManualClock>) -> Arc<dyn Catalogue> {
    let clock = Arc::clone(clock);
    Arc::new(LookUp(move |name: &PolicyName| {
        let policy = policy::catalogue().find(name)?;
        let clock = Arc::clone(&clock);
        Ok(if name.as_str() == "last" { Arc::new(Slow { policy, clock }) } else { policy })
    }))
}

/// A policy whose proposals take 5 ms.
struct Slow {
    policy: Arc<dyn Policy>,
    clock: Arc<ManualClock>,
}

impl Policy for Slow {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        self.policy.stamp()
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        self.policy.define(network, config)
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        self.clock.advance(Duration::from_millis(5));
        self.policy.propose(request, book, state)
    }
}

#[tokio::test]
async fn a_shadow_that_falls_behind_begins_again() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.shadow("last").await;
    for _ in 0..3_000 {
        bench.address(2).await.unwrap();
        bench.engine.del(bench.del(2)).await.unwrap();
        bench.tick(1);
        bench.tick(60_000);
    }
    bench.engine.tend().await;
    bench.tick(60_000);
    bench.engine.tend().await;
    assert_eq!(bench.report().problem, None);
    let compared = bench.report().verdicts.compared();
    bench.address(3).await.unwrap();
    bench.engine.tend().await;
    let report = bench.report();
    assert_eq!(report.verdicts.compared(), compared + 1, "{report:?}");
    let last = &report.verdicts.examples[0];
    assert_eq!((last.served.as_str(), last.candidate.as_str()), ("10.0.0.3", "10.0.0.6"));
}

#[tokio::test]
async fn policies_are_loaded_and_unloaded_and_neither_while_they_are_used() {
    let bench = Bench::new(8, 8);
    let offered = |name: &str| Offered {
        name: PolicyName::new(name).unwrap(),
        bytes: Vec::new(),
        sha256: String::new(),
        signature: String::new(),
        source: "a test".into(),
        older: false,
    };
    let loaded = bench.engine.load_policy(offered("last")).await.unwrap();
    assert_eq!(loaded.policy.name.as_str(), "last");
    assert_eq!(bench.engine.components()[0].policy, loaded.policy);
    bench.address(1).await.unwrap();
    let last = PolicyName::new("last").unwrap().into();
    bench.engine.activate(&activate("last")).await.unwrap();
    assert_eq!(bench.engine.unload_policy(&last).await.unwrap_err().code, ErrorCode::PolicyInUse);
    bench.engine.roll_back(&network(), "").await.unwrap();
    bench.shadow("last").await;
    assert_eq!(bench.engine.unload_policy(&last).await.unwrap_err().code, ErrorCode::PolicyInUse);
    bench.engine.end_shadow(&network(), "").await.unwrap();
    bench.engine.unload_policy(&last).await.unwrap();
    assert_eq!(bench.engine.unload_policy(&last).await.unwrap_err().code, ErrorCode::UnknownPolicy);

    // A load that cannot be made durable leaves nothing.
    bench.journal.hold();
    {
        let mut load = pin!(bench.engine.load_policy(offered("last")));
        assert!(poll_once(load.as_mut()).is_pending());
        bench.journal.resolve(&Err(Error::new(ErrorCode::CheckpointFailed, "no sync")));
        assert_eq!(load.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    }
    assert_eq!(bench.engine.components(), []);
}

/// Regression: a failed change left the policy out that was loaded before, or another version of it as the one that its name stands for.
#[tokio::test]
async fn a_change_of_what_is_loaded_that_cannot_be_made_durable_leaves_all_as_it_was() {
    let (bench, _) = versioned("first", false);
    let offered = |digest: &str| Offered {
        name: PolicyName::new("mine").unwrap(),
        bytes: Vec::new(),
        sha256: digest.into(),
        signature: String::new(),
        source: "a test".into(),
        older: false,
    };
    let digests = || -> Vec<String> {
        bench.engine.components().iter().map(|component| component.policy.digest.to_string()).collect()
    };
    for digest in ["first", "last", "refuses-live"] {
        bench.engine.load_policy(offered(digest)).await.unwrap();
    }
    let failed = Err(Error::new(ErrorCode::CheckpointFailed, "no sync"));
    for again in ["first", "last", "refuses-live"] {
        bench.journal.hold();
        let mut load = pin!(bench.engine.load_policy(offered(again)));
        assert!(poll_once(load.as_mut()).is_pending());
        bench.journal.resolve(&failed);
        load.await.unwrap_err();
        assert_eq!(digests(), ["first", "last", "refuses-live"], "{again} was loaded again");

        bench.journal.hold();
        let selector = PolicySelector { name: mine(again).name, digest: again.into() };
        let mut unload = pin!(bench.engine.unload_policy(&selector));
        assert!(poll_once(unload.as_mut()).is_pending());
        bench.journal.resolve(&failed);
        unload.await.unwrap_err();
        assert_eq!(digests(), ["first", "last", "refuses-live"], "{again} was unloaded");
    }
}
