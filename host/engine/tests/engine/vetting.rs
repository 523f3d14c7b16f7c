//! Policies that a configuration names are checked before they serve.

use std::pin::pin;

use tenure_fixtures::ports::{ManualJournal, restored};
use tenure_types::{ErrorCode, NetworkName};

use crate::support::{Bench, fits, network, poll_once};
use crate::versions::{Versions, bench, bench_of, mine};

#[tokio::test]
async fn a_named_policy_is_checked_once_before_it_serves() {
    let (bench, versions) = bench("first", false);
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::Preparing), "it is told to try again");
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::Preparing));
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
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::Preparing));
    bench.checked().await;
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::PolicyNonconforming));
    assert!(bench.engine.policies_of(&network()).is_none());
    let defined = bench.define_versioned(&network(), "10.0.0.0/24").await;
    assert_eq!(defined, Err(ErrorCode::PolicyNonconforming));
}

#[tokio::test]
async fn a_configuration_that_a_policy_does_not_accept_says_nothing_about_the_policy() {
    let (bench, _) = bench("liar", false);
    for odd in ["no subnet", "nor this"] {
        assert_eq!(bench.add_to(&network(), 1, odd).await, Err(ErrorCode::Preparing));
        bench.checked().await;
        assert_eq!(bench.add_to(&network(), 1, odd).await, Err(ErrorCode::InvalidConfig));
        assert_eq!(bench.define_versioned(&network(), odd).await, Err(ErrorCode::InvalidConfig));
    }
    let again = bench.add_to(&network(), 1, "no subnet").await;
    assert_eq!(again, Err(ErrorCode::InvalidConfig), "both are remembered");
    assert_eq!(bench.add_mine(1).await, Err(ErrorCode::Preparing), "with this one it may lie");
    let meanwhile = bench.add_to(&network(), 1, "no subnet").await;
    assert_eq!(meanwhile, Err(ErrorCode::InvalidConfig), "another network's check delays nobody");
    let defined = bench.define_versioned(&network(), "10.0.0.0/24").await;
    assert_eq!(defined, Err(ErrorCode::PolicyNonconforming), "an operator waits for the verdict");
    bench.engine.check_again();
    for _ in 0..2 {
        let changed = bench.add_to(&network(), 1, "no subnet").await;
        assert_eq!(changed, Err(ErrorCode::Preparing), "what it may use has changed");
    }
}

#[tokio::test]
async fn a_listed_policy_is_checked_before_a_network_names_it() {
    for (digest, problem, added) in
        [("first", false, Ok(())), ("liar", true, Err(ErrorCode::PolicyNonconforming))]
    {
        let (bench, _) =
            bench_of(Versions { stands_for: digest.into(), general: true, ..Versions::default() });
        assert!(bench.engine.policies()[0].loading, "it is being checked");
        bench.checked().await;
        let listed = &bench.engine.policies()[0];
        assert_eq!((listed.loading, listed.problem.is_some()), (false, problem));
        assert_eq!(bench.add_mine(1).await, added, "at once");
    }
}

#[tokio::test]
async fn a_version_that_conforms_nowhere_is_applied_nowhere() {
    let (bench, _) = bench_of(Versions { general: true, watched: true, ..Versions::default() });
    let refused = bench.engine.apply_changed(&mine("liar")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PolicyNonconforming);
}

#[tokio::test]
async fn whoever_makes_the_checks_waits_until_one_is_due() {
    let (bench, _) = bench("first", false);
    let mut due = pin!(bench.engine.check_due());
    assert!(poll_once(due.as_mut()).is_pending());
    bench.add_mine(1).await.unwrap_err();
    assert!(poll_once(due.as_mut()).is_ready());
}

#[tokio::test]
async fn what_has_served_needs_no_check_after_a_restart() {
    let (first, versions) = bench("first", false);
    first.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
    let state = restored(first.engine.images().pages(1)).unwrap();
    let journal = ManualJournal::after(state.node.choices.through().max(state.books[0].through()));
    let restarted = Bench::of(state, journal, |_| versions, 8, 8);
    let other = NetworkName::new("other").unwrap();
    assert_eq!(restarted.add_to(&other, 1, "10.0.1.0/24").await, Ok(()));
}

/// Regression: the verdict counted for the component, although what it may use is granted to the policy's name.
#[tokio::test]
async fn a_verdict_under_one_name_says_nothing_about_the_same_component_under_another() {
    let second = NetworkName::new("second").unwrap();
    for starved_first in [true, false] {
        let starved = "starved";
        let (bench, _) = bench_of(Versions { stands_for: "first".into(), starved, ..Versions::default() });
        let mut names =
            [(network(), starved, Err(ErrorCode::PolicyNonconforming)), (second.clone(), "mine", Ok(()))];
        if !starved_first {
            names.reverse();
        }
        for (network, name, outcome) in names {
            let add = async || {
                let mut add = bench.add_with(1, name, "10.0.0.0/24");
                add.request.network = network.clone();
                bench.engine.add(add, fits).await.map(drop).map_err(|error| error.code)
            };
            assert_eq!(add().await, Err(ErrorCode::Preparing), "{name} is checked");
            bench.checked().await;
            assert_eq!(add().await, outcome, "{name}");
        }
    }
}
