//! A policy that does not answer delays its own network and no other.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tenure_engine::{Add, Load};
use tenure_ledger::{Fact, LedgerFact, Page};
use tenure_types::{ErrorCode, NetworkName, PolicyName, PolicyStamp};

use crate::support::{Bench, activate, fits, network, owner};

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn of(add: Add, network: &str) -> Add {
    let mut add = add;
    add.request.network = NetworkName::new(network).unwrap();
    add
}

/// An ADD whose policy has the book and never answers.
fn stalled(bench: &Bench, number: u32) -> Add {
    bench.add_with(number, "stalled", "10.0.0.0/29")
}

#[tokio::test]
async fn the_checkpoint_and_whoever_only_looks_wait_for_no_policy() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let mut add = pin!(bench.engine.add(stalled(&bench, 2), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    // If this waited for the policy, the test would hang here.
    let mut pages = bench.engine.images().pages(1);
    let Some(Page::Book(image)) = pages.next() else { panic!() };
    assert_eq!(image.allocations.len(), 1);
    assert!(bench.engine.check(&network(), &owner(1)).await.is_ok());
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 1);
}

#[tokio::test]
async fn a_stalled_network_takes_one_place_however_many_of_its_requests_wait() {
    let bench = Bench::new(2, 64);
    let mut waiting: Vec<_> =
        (0..20).map(|number| Box::pin(bench.engine.add(stalled(&bench, number), fits))).collect();
    assert!(waiting.iter_mut().all(|add| poll_once(add.as_mut()).is_pending()));
    assert_eq!(bench.engine.load(), Load { in_flight: 1, queued: 19 });
    for number in 0..20 {
        let add = of(bench.add(number), "other");
        let added = bench.engine.add(add, fits).await.map(drop);
        assert!(
            matches!(&added, Ok(()) | Err(tenure_types::Error { code: ErrorCode::PoolExhausted, .. })),
            "{added:?}"
        );
    }
    drop(waiting);
    assert_eq!(bench.engine.load(), Load::default(), "the abandoned requests leave nothing behind");
    assert!(bench.address(100).await.is_ok(), "nor does the network's turn stay taken");
}

#[tokio::test]
async fn what_was_abandoned_is_undone_behind_no_other_networks_policy() {
    let mut bench = Bench::new(8, 64);
    tokio::spawn(bench.abandoned.take().unwrap().run());
    bench.address(1).await.unwrap();
    let other = NetworkName::new("other").unwrap();
    bench.journal.hold();
    {
        let mut first = pin!(bench.engine.add(bench.add(2), fits));
        let mut second = pin!(bench.engine.add(of(bench.add(3), "other"), fits));
        assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
        bench.journal.resolve(&Ok(()));
    }
    // A stalled ADD takes the first network's turn before the undo gets it.
    let mut stalled = pin!(bench.engine.add(stalled(&bench, 4), fits));
    assert!(poll_once(stalled.as_mut()).is_pending());
    while bench.engine.check(&other, &owner(3)).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(bench.engine.check(&network(), &owner(2)).await.is_ok(), "its own network is still busy");
}

#[tokio::test]
async fn a_policy_that_keeps_failing_is_refused_at_once_on_its_network_and_no_other() {
    let bench = Bench::new(8, 64);
    let failing = |number| bench.add_with(number, "failing", "10.0.0.0/29");
    for number in 0..5 {
        assert_eq!(bench.engine.add(failing(number), fits).await.unwrap_err().code, ErrorCode::PolicyFailed);
    }
    let refusal = bench.engine.add(failing(5), fits).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::PolicyBenched);
    let add = failing(5);
    let status = bench.engine.status(&add.request.network, &add.policy, &add.config).await.unwrap_err();
    assert_eq!(status.code, ErrorCode::Unavailable);
    assert!(status.cause.starts_with("policy-benched: "), "{status}");
    let wrong = bench.engine.whats_wrong();
    assert_eq!(wrong.len(), 1);
    assert_eq!((wrong[0].name.name(), wrong[0].subject.as_str()), ("policy-benched", "net/failing"));
    let benched = |name: &str| {
        bench.engine.benched(&PolicyStamp { name: PolicyName::new(name).unwrap(), digest: "d".into() })
    };
    assert_eq!(benched("first"), Vec::<String>::new());
    assert_eq!(benched("failing"), [wrong[0].message.as_str()]);
    let elsewhere = bench.engine.add(of(failing(6), "other"), fits).await.unwrap_err();
    assert_eq!(elsewhere.code, ErrorCode::PolicyFailed);
    assert!(bench.address(7).await.is_ok(), "another policy serves the network");
    bench.tick(1_000);
    assert_eq!(
        bench.engine.add(failing(8), fits).await.unwrap_err().code,
        ErrorCode::PolicyFailed,
        "one trial call is made"
    );
    assert_eq!(bench.engine.add(failing(9), fits).await.unwrap_err().code, ErrorCode::PolicyBenched);
}

/// Regression: nothing answered any more, so that the condition stayed until a restart.
#[tokio::test]
async fn a_policy_that_has_kept_failing_is_forgotten_once_another_serves_the_network() {
    let bench = Bench::new(8, 64);
    bench.define_with("net", "failing", "10.0.0.0/29").await;
    for number in 0..5 {
        bench.engine.add(bench.add_with(number, "failing", "10.0.0.0/29"), fits).await.unwrap_err();
    }
    bench.tick(300_000);
    assert_eq!(bench.engine.whats_wrong().len(), 1, "it serves the network");
    bench.engine.activate(&activate("first")).await.unwrap();
    assert!(bench.engine.whats_wrong().is_empty());
}

#[tokio::test]
async fn networks_are_bounded_and_one_that_never_was_leaves_nothing() {
    let bench = Bench::new(8, 64);
    for number in 0..20 {
        let add = of(bench.add_with(number, "first", "no subnet"), &format!("never-{number}"));
        assert_eq!(bench.engine.add(add, fits).await.unwrap_err().code, ErrorCode::InvalidConfig);
    }
    for number in 0..3 {
        bench.engine.add(of(bench.add(1), &format!("net-{number}")), fits).await.unwrap();
    }
    let refused = bench.engine.add(of(bench.add(1), "one-more"), fits).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooManyNetworks);
    assert!(bench.engine.add(of(bench.add(2), "net-1"), fits).await.is_ok());
    let facts = bench.journal.facts();
    let defined = |fact: &&Fact| matches!(fact, Fact::Ledger(LedgerFact::Defined(_)));
    assert_eq!(facts.iter().filter(defined).count(), 3);
}
