//! Policies whose file changes: the new version is exchanged where it conforms.

use std::pin::pin;

use tenure_ledger::StepKind;
use tenure_types::{ErrorCode, NetworkName, PolicyName, PolicyStamp};

use crate::support::{activate, network, poll_once};
use crate::versions::{bench, mine};

#[tokio::test]
async fn a_changed_file_is_exchanged_where_it_conforms() {
    let (bench, versions) = bench("first", true);
    bench.add_mine(1).await.unwrap_err();
    bench.checked().await;
    bench.add_mine(1).await.unwrap();
    let changed = bench.apply("last").await;
    assert_eq!((changed.exchanged.len(), changed.kept.len(), changed.holds()), (1, 0, true));
    // Only the change itself exchanges a version, no matter what the name stands for meanwhile.
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
    assert!(served.history[0].why.starts_with("change of the policy's file: "), "{:?}", served.history[0]);
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

/// Regression: the version that the file itself had replaced counted as one that was rolled back, where an operator had chosen.
#[tokio::test]
async fn a_file_returns_to_its_version_before_whoever_chose_the_policy() {
    let (bench, versions) = bench("first", true);
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    bench.apply("last").await;
    // An operator returns to the version before, and the file follows.
    *versions.stands_for.lock().unwrap() = "first";
    bench.engine.activate(&activate("mine")).await.unwrap();
    assert_eq!(bench.engine.given_up_for(&mine("last")), Some(mine("first")));
    let again = bench.apply("last").await;
    assert!(again.kept[0].1.cause.contains("was rolled back from policy mine@last"), "{again:?}");
    for version in ["refuses-live", "first", "refuses-live"] {
        assert_eq!(bench.apply(version).await.exchanged, [network()], "{version}");
        let now = bench.engine.policies_of(&network()).unwrap().now;
        assert_eq!((now.by, &*now.policy.digest), (tenure_ledger::Chooser::Operator, version));
    }
    assert_eq!(bench.engine.given_up_for(&mine("first")), None, "nobody returned from it");
}

#[tokio::test]
async fn a_file_returns_to_a_version_that_takes_over_the_state() {
    let (bench, _) = bench("counting", true);
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    bench.engine.activate(&activate("mine")).await.unwrap();
    bench.add_mine(1).await.unwrap();
    for version in ["recounting", "counting", "recounting"] {
        assert_eq!(bench.apply(version).await.exchanged, [network()], "{version}");
        let why = bench.engine.policies_of(&network()).unwrap().now.why;
        assert!(why.starts_with("file changed; with the state of mine@"), "{why}");
    }
}

#[tokio::test]
async fn a_version_is_applied_where_another_of_the_same_name_serves() {
    let (bench, _) = bench("first", true);
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    assert_eq!(bench.engine.behind(&mine("last")), [network()]);
    assert_eq!(bench.engine.behind(&mine("first")), [], "it serves already");
    let other = PolicyStamp { name: PolicyName::new("other").unwrap(), ..mine("last") };
    assert_eq!(bench.engine.behind(&other), [], "nobody has chosen it");
    assert!(bench.apply("first").await.holds(), "no network has refused it");
}

#[tokio::test]
async fn a_network_that_is_removed_meanwhile_refuses_nothing() {
    let (bench, _) = bench("first", true);
    let other = NetworkName::new("other").unwrap();
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    bench.define_versioned(&other, "10.0.1.0/24").await.unwrap();
    let mut apply = pin!(bench.apply("last"));
    assert!(poll_once(apply.as_mut()).is_pending(), "it is checked on the first network");
    assert!(bench.engine.remove_network(&other, true).await.unwrap());
    let changed = apply.await;
    assert_eq!((changed.exchanged, changed.kept), (vec![network()], vec![]));
}

/// Regression: after a restart, the name stood for the version to which one network had returned, also where another one is served by the newer.
#[tokio::test]
async fn a_version_that_serves_one_network_holds_where_another_was_rolled_back() {
    let (bench, _) = bench("first", true);
    let other = NetworkName::new("other").unwrap();
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    bench.define_versioned(&other, "10.0.1.0/24").await.unwrap();
    assert_eq!(bench.apply("last").await.exchanged.len(), 2);
    bench.engine.roll_back(&network(), "").await.unwrap();
    assert_eq!(bench.digest(), "first");
    // What a start finds in the file.
    let again = bench.apply("last").await;
    assert_eq!((again.exchanged.len(), again.kept.len(), again.holds()), (0, 1, true), "{again:?}");
}

#[tokio::test]
async fn versions_stay_as_long_as_a_network_may_return_to_them() {
    let (bench, versions) = bench("first", true);
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    for version in ["last", "refuses-live"] {
        bench.apply(version).await;
        bench.tick(300_000);
    }
    *versions.freed.lock().unwrap() = Default::default();
    bench.engine.free_policies();
    let [used, kept] = versions.freed.lock().unwrap().clone();
    assert_eq!(used, ["refuses-live", "last"]);
    assert_eq!(kept, ["refuses-live", "last", "first"]);
    let name = |name| PolicyName::new(name).unwrap();
    assert_eq!(bench.engine.last_version(&name("mine")), Some(mine("refuses-live")));
    assert_eq!(bench.engine.last_version(&name("other")), None);
}

#[tokio::test]
async fn a_version_holds_that_one_network_takes_and_another_does_not() {
    let (bench, _) = bench("first", true);
    let other = NetworkName::new("other").unwrap();
    bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    bench.apply("last").await;
    bench.engine.roll_back(&network(), "").await.unwrap();
    bench.define_versioned(&other, "10.0.1.0/24").await.unwrap();
    let changed = bench.apply("last").await;
    assert_eq!((&changed.exchanged[..], changed.kept.len(), changed.serves), (&[other][..], 1, false));
    assert!(changed.holds());
}
