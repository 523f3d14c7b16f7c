//! Allocations that begin or end without a call of their runtime: imports, and reaped leaks.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use tenure_engine::{Claim, Gc, Import, ImportOrigin, Imported, Importing, Place};
use tenure_ledger::{Fact, LedgerFact};
use tenure_types::{ConditionName, End, ErrorCode, NetworkConfig, Owner, PolicyName, Result};

use crate::support::{Bench, fits, network, owner, poll_once};

/// The origin of the imports.
fn files() -> ImportOrigin {
    ImportOrigin { source: "files".to_owned(), ..ImportOrigin::default() }
}

/// A claim as made by a source that keeps one file per address; `number` 0 means no known owner.
fn claim(number: u32, places: &[(&str, &str)]) -> Claim {
    let place = |(address, claim): &(&str, &str)| Place {
        address: address.parse().unwrap(),
        claim: (*claim).to_owned(),
    };
    Claim {
        owner: if number == 0 { Err("empty".to_owned()) } else { Ok(owner(number)) },
        places: places.iter().map(place).collect(),
        pod: None,
        source: "files".to_owned(),
        claimed_at_ms: None,
    }
}

/// Imports all claims in one part, from a source that may name two owners of an address; defines the network.
async fn import(bench: &Bench, claims: &[Claim], apply: bool) -> Vec<String> {
    import_from(bench, claims, false, apply).await
}

async fn import_from(bench: &Bench, claims: &[Claim], exclusive: bool, apply: bool) -> Vec<String> {
    let mut importing = begin(bench, exclusive, apply).await;
    let outcomes = bench.engine.import(&mut importing, claims).await.unwrap();
    bench.engine.end_import(importing).await.unwrap();
    words(outcomes)
}

async fn begin(bench: &Bench, exclusive: bool, apply: bool) -> Importing {
    let config = Arc::new(NetworkConfig { ipam: "10.0.0.0/29".into(), attributes: Vec::new() });
    let definition = Some((PolicyName::new("first").unwrap(), config));
    bench
        .engine
        .begin_import(&Import { network: network(), origin: files(), definition, exclusive, apply })
        .await
        .unwrap()
}

fn words(outcomes: Vec<Result<Imported>>) -> Vec<String> {
    let word = |outcome: Result<Imported>| match outcome {
        Ok(Imported::Taken) => "taken".to_owned(),
        Ok(Imported::Held) => "held".to_owned(),
        Ok(Imported::Released) => "released".to_owned(),
        Ok(Imported::Unknown(why)) => format!("unknown: {why}"),
        Err(error) => error.cause,
    };
    outcomes.into_iter().map(word).collect()
}

/// The owners, in the order in which they were imported.
async fn owners(bench: &Bench) -> Vec<String> {
    let book = bench.engine.book(&network()).await.unwrap();
    let show = |held: &Arc<tenure_types::Allocation>| {
        let waits = if book.is_waiting(held) { ", waiting" } else { "" };
        format!("{}{waits}", held.owner)
    };
    book.allocations().map(show).collect()
}

#[tokio::test]
async fn a_dry_run_says_what_an_import_would_do_and_changes_nothing() {
    let bench = Bench::new(8, 8);
    let all = [
        claim(1, &[("10.0.0.4", "a")]),
        claim(2, &[("10.0.0.4", "b")]),
        claim(3, &[("10.9.0.1", "c")]),
        claim(4, &[("10.0.0.5", "d"), ("10.0.0.6", "e")]),
        claim(0, &[("10.0.0.3", "f")]),
        claim(5, &[]),
    ];
    let said = import(&bench, &all, false).await;
    let expected = [
        "taken",
        "unknown: 10.0.0.4 is held by c1/eth0",
        "unknown: 10.9.0.1 is not in any range of network net",
        "unknown: the claim has 2 addresses, but the network assigns at most 1, one from each pool",
        "unknown: empty",
        "the claim has no address",
    ];
    assert_eq!(said, expected);
    assert!(bench.journal.facts().is_empty());
    assert!(bench.engine.book(&network()).await.is_none());

    assert_eq!(import(&bench, &all, true).await, said);
    let expected = [
        "c1/eth0",
        "the unknown owner of 10.0.0.4, waiting",
        "the unknown owner of 10.9.0.1",
        "the unknown owner of 10.0.0.5",
        "the unknown owner of 10.0.0.6",
        "the unknown owner of 10.0.0.3",
    ];
    assert_eq!(owners(&bench).await, expected);
    for _ in 0..2 {
        let again = import(&bench, &all, true).await;
        assert_eq!(
            (again[0].as_str(), &again[1..]),
            ("held", &said[1..]),
            "repeating the import gives the same outcomes"
        );
    }
    assert_eq!(owners(&bench).await, expected);
}

#[tokio::test]
async fn what_an_unknown_owner_may_have_is_given_to_nobody() {
    let bench = Bench::new(8, 8);
    let all =
        [claim(1, &[("10.0.0.2", "a")]), claim(2, &[("10.0.0.2", "b")]), claim(0, &[("10.0.0.3", "c")])];
    import(&bench, &all, true).await;
    bench.tick(1);
    // Two owners claimed it: when the known one releases it, the other may still use it.
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.engine.del(bench.del(2)).await.unwrap();
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    assert_eq!(bench.engine.gc(gc).await.unwrap(), 0);
    bench.tick(3_600_000);
    assert_eq!(owners(&bench).await, ["the unknown owner of 10.0.0.2", "the unknown owner of 10.0.0.3"]);
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.4");

    let address = "10.0.0.2".parse().unwrap();
    let held = bench.engine.book(&network()).await.unwrap().holder(address).cloned().unwrap();
    assert_eq!(held.owner, Owner::Unknown { address });
    for end in [End::Del, End::Gc] {
        assert!(!bench.engine.reap(&held, end, "").await.unwrap(), "{end:?} does not end an unknown owner");
    }
    assert!(bench.engine.reap(&held, End::Operator, "nobody answers").await.unwrap());
    let facts = bench.journal.facts();
    let reason = |fact: &Fact| match fact {
        Fact::Ledger(LedgerFact::Released { reason, .. }) => Some(reason.clone()),
        _ => None,
    };
    assert_eq!(facts.last().and_then(reason).as_deref(), Some("operator: nobody answers"));
}

#[tokio::test]
async fn what_was_imported_is_kept_from_others_and_is_its_owners() {
    let bench = Bench::new(8, 8);
    import(&bench, &[claim(1, &[("10.0.0.2", "a")])], true).await;
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");
    assert_eq!(
        bench.address(1).await.unwrap(),
        "10.0.0.2",
        "its runtime's next ADD returns the same address"
    );
    let again =
        [claim(1, &[("10.0.0.2", "a")]), claim(1, &[("10.0.0.5", "b")]), claim(9, &[("10.0.0.3", "c")])];
    let said = import(&bench, &again, true).await;
    let expected = [
        "held",
        "unknown: c1/eth0 already owns addresses, by allocation 1",
        "unknown: 10.0.0.3 is held by c7/eth0",
    ];
    assert_eq!(said, expected);
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    let left = ["c7/eth0", "the unknown owner of 10.0.0.5", "the unknown owner of 10.0.0.3, waiting"];
    assert_eq!(owners(&bench).await, left);
}

#[tokio::test]
async fn an_import_again_does_not_bring_back_what_has_ended() {
    let bench = Bench::new(8, 8);
    let all = [claim(1, &[("10.0.0.2", "a")]), claim(0, &[("10.0.0.3", "b")])];
    import(&bench, &all, true).await;
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    let address = "10.0.0.3".parse().unwrap();
    let held = bench.engine.book(&network()).await.unwrap().holder(address).cloned().unwrap();
    assert!(bench.engine.reap(&held, End::Operator, "").await.unwrap());
    assert_eq!(import(&bench, &all, true).await, ["released", "released"]);
    assert!(owners(&bench).await.is_empty());
    // A file that was rewritten is a new claim, whichever owner it names.
    assert_eq!(import(&bench, &[claim(1, &[("10.0.0.2", "later")])], true).await, ["taken"]);
}

#[tokio::test]
async fn the_source_says_by_now_whose_an_address_is() {
    let bench = Bench::new(8, 8);
    let before = [claim(1, &[("10.0.0.2", "a")]), claim(2, &[("10.0.0.3", "b"), ("10.0.0.4", "c")])];
    import_from(&bench, &before, true, true).await;
    // The other IPAM kept running: it released c1 and assigned its address to c3, and the stray file of c2 was removed.
    let after = [claim(3, &[("10.0.0.2", "d")]), claim(2, &[("10.0.0.3", "b")])];
    assert_eq!(import_from(&bench, &after, true, true).await, ["taken", "taken"]);
    assert_eq!(import_from(&bench, &after, true, true).await, ["held", "held"]);
    assert_eq!(owners(&bench).await, ["the unknown owner of 10.0.0.4", "c3/eth0", "c2/eth0"]);
}

#[tokio::test]
async fn an_imported_owner_is_answered_when_its_import_is_durable() {
    let bench = Bench::new(8, 8);
    let early = bench.add(1);
    let mut importing = begin(&bench, true, true).await;
    bench.journal.hold();
    let claims = [claim(1, &[("10.0.0.2", "a")])];
    let mut import = pin!(bench.engine.import(&mut importing, &claims));
    assert!(poll_once(import.as_mut()).is_pending());
    let mut add = pin!(bench.engine.add(early, fits));
    assert!(poll_once(add.as_mut()).is_pending(), "after a crash now, another pod could get the address");
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
    assert!(!bench.engine.reap(&gone, End::Leak, "").await.unwrap(), "a newer request has renewed it");
    let again = bench.engine.book(&network()).await.unwrap().owned_by(&owner(1)).unwrap().as_ref().clone();
    assert!(bench.engine.reap(&again, End::Leak, "").await.unwrap());
}

#[tokio::test]
async fn nobody_new_is_served_before_an_import_has_ended() {
    let bench = Bench::new(8, 8);
    let claims = [claim(1, &[("10.0.0.2", "a")])];
    let mut importing = begin(&bench, true, true).await;
    bench.engine.import(&mut importing, &claims).await.unwrap();
    assert_eq!(bench.address(7).await.unwrap_err().code, ErrorCode::NotTakenOver);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2", "an owner with an address gets its answer");
    // The import was interrupted, and addresses not yet imported may be in use.
    drop(importing);
    let refused = bench.address(7).await.unwrap_err();
    assert!(refused.code == ErrorCode::NotTakenOver && refused.cause.contains("interrupted"), "{refused}");
    assert_eq!(import(&bench, &claims, false).await, ["held"], "a dry run does not finish the import");
    assert_eq!(bench.address(7).await.unwrap_err().code, ErrorCode::NotTakenOver);
    assert_eq!(import(&bench, &claims, true).await, ["held"]);
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");

    // The same for a network that was serving before.
    let importing = begin(&bench, true, true).await;
    assert_eq!(bench.address(8).await.unwrap_err().code, ErrorCode::NotTakenOver);
    drop(importing);
    assert_eq!(bench.address(8).await.unwrap_err().code, ErrorCode::NotTakenOver);
    assert_eq!(import(&bench, &claims, true).await, ["held"]);
    assert_eq!(bench.address(8).await.unwrap(), "10.0.0.4");
}

#[tokio::test]
async fn an_import_needs_a_network_and_no_ready_node() {
    let bench = Bench::new(8, 8);
    let undefined =
        Import { network: network(), origin: files(), definition: None, exclusive: true, apply: true };
    let error = bench.engine.begin_import(&undefined).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::UnknownNetwork);
    bench.engine.conditions().set(ConditionName::StateLost, "", "the state was lost");
    assert_eq!(import(&bench, &[claim(1, &[("10.0.0.2", "a")])], true).await, ["taken"]);
}

#[tokio::test]
async fn a_late_reap_does_not_free_the_next_life() {
    let bench = Bench::new(8, 8);
    bench.engine.add(bench.add(1), fits).await.unwrap();
    let first = bench.engine.book(&network()).await.unwrap().owned_by(&owner(1)).cloned().unwrap();
    assert!(bench.engine.reap(&first, End::Leak, "").await.unwrap());
    assert!(!bench.engine.reap(&first, End::Leak, "").await.unwrap(), "it has ended already");
    bench.engine.add(bench.add(1), fits).await.unwrap();
    assert!(!bench.engine.reap(&first, End::Leak, "").await.unwrap(), "its owner has a new allocation");
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 1);
}
