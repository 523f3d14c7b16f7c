//! What comes and goes without its runtime's word: imports, and allocations whose sandbox is gone.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

#[cfg(test)]
#[expect(dead_code, reason = "shared with the other suites, which use all of it")]
mod support;

use std::pin::pin;

use support::{Bench, fits, network, owner, poll_once};
use tenure_engine::{Import, Imported, Living};
use tenure_types::{ConditionName, ErrorCode, NetworkConfig, PolicyName, Result};

fn living(number: u32, address: &str) -> Living {
    Living { owner: owner(number), addresses: vec![address.parse().unwrap()], pod: None }
}

fn import(living: Vec<Living>, apply: bool) -> Import {
    Import { network: network(), definition: None, living, apply }
}

fn defining(living: Vec<Living>, apply: bool) -> Import {
    let config = NetworkConfig { ipam: "10.0.0.0/29".into(), attributes: Vec::new() };
    Import { definition: Some((PolicyName::new("first").unwrap(), config)), ..import(living, apply) }
}

fn codes(outcomes: Vec<Result<Imported>>) -> Vec<Result<Imported, ErrorCode>> {
    outcomes.into_iter().map(|outcome| outcome.map_err(|error| error.code)).collect()
}

#[tokio::test]
async fn a_dry_run_says_what_an_import_would_do_and_changes_nothing() {
    let bench = Bench::new(8, 8);
    let all = vec![living(1, "10.0.0.4"), living(2, "10.0.0.4"), living(3, "10.9.0.1")];
    let said = codes(bench.engine.import(defining(all.clone(), false)).await.unwrap());
    let unavailable = Err(ErrorCode::AddressUnavailable);
    assert_eq!(
        said,
        [Ok(Imported::Taken), unavailable, unavailable],
        "a duplicate, and one outside the ranges"
    );
    assert!(bench.journal.records.lock().unwrap().is_empty());
    assert!(bench.engine.book(&network()).await.is_none());

    assert_eq!(codes(bench.engine.import(defining(all, true)).await.unwrap()), said);
    let book = bench.engine.book(&network()).await.unwrap();
    let held: Vec<_> = book.allocations().map(|held| held.owner.to_string()).collect();
    assert_eq!(held, ["c1/eth0"]);
}

#[tokio::test]
async fn what_was_imported_is_kept_from_others_and_is_its_owners() {
    let bench = Bench::new(8, 8);
    bench.engine.import(defining(vec![living(1, "10.0.0.2")], true)).await.unwrap();
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2", "its runtime's next ADD answers the same");
    let again = vec![living(1, "10.0.0.2"), living(1, "10.0.0.5"), living(9, "10.0.0.3")];
    let unavailable = Err(ErrorCode::AddressUnavailable);
    let said = codes(bench.engine.import(import(again, true)).await.unwrap());
    assert_eq!(said, [Ok(Imported::Held), unavailable, unavailable]);
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 1);
}

#[tokio::test]
async fn an_imported_owner_is_answered_when_its_import_is_durable() {
    let bench = Bench::new(8, 8);
    let early = bench.add(1);
    bench.journal.hold();
    let mut import = pin!(bench.engine.import(defining(vec![living(1, "10.0.0.2")], true)));
    assert!(poll_once(import.as_mut()).is_pending());
    let mut add = pin!(bench.engine.add(early, fits));
    assert!(poll_once(add.as_mut()).is_pending(), "a crash now would make it another pod's");
    bench.journal.resolve(&Ok(()));
    assert_eq!(add.await.unwrap().addresses[0].address.addr().to_string(), "10.0.0.2");
    import.await.unwrap();
}

#[tokio::test]
async fn what_was_asked_for_again_is_not_gone() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let gone = bench.engine.book(&network()).await.unwrap().owned_by(&owner(1)).unwrap().as_ref().clone();
    bench.tick(1);
    bench.address(1).await.unwrap();
    assert!(!bench.engine.reap(&gone, "leak").await.unwrap(), "it is another request's now");
    let again = bench.engine.book(&network()).await.unwrap().owned_by(&owner(1)).unwrap().as_ref().clone();
    assert!(bench.engine.reap(&again, "leak").await.unwrap());
}

#[tokio::test]
async fn an_import_needs_a_network_and_no_ready_node() {
    let bench = Bench::new(8, 8);
    let error = bench.engine.import(import(vec![living(1, "10.0.0.2")], true)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::UnknownNetwork);
    bench.engine.conditions().set(ConditionName::StateLost, "", "the state was lost");
    let said = bench.engine.import(defining(vec![living(1, "10.0.0.2")], true)).await.unwrap();
    assert_eq!(codes(said), [Ok(Imported::Taken)]);
}

#[tokio::test]
async fn a_late_reap_does_not_free_the_next_life() {
    let bench = Bench::new(8, 8);
    bench.engine.add(bench.add(1), fits).await.unwrap();
    let first = bench.engine.book(&network()).await.unwrap().owned_by(&owner(1)).cloned().unwrap();
    assert!(bench.engine.reap(&first, "leak").await.unwrap());
    assert!(!bench.engine.reap(&first, "leak").await.unwrap(), "it is gone already");
    bench.engine.add(bench.add(1), fits).await.unwrap();
    assert!(!bench.engine.reap(&first, "leak").await.unwrap(), "its owner has another now");
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 1);
}
