//! The witness of claims, which outlives the state: what it is told, and what is restored from it.

mod awaited;

use tenure_engine::{Claimed, WitnessedChange, WitnessedClaim, WitnessedClaims};
use tenure_ledger::{Claimant, Presence};
use tenure_types::{ConditionName, End, ErrorCode};

use crate::claiming::{agent, ask, key, leasing};
use crate::support::{Bench, network, owner};

fn witnessed(name: &str, address: &str) -> WitnessedClaim {
    WitnessedClaim {
        key: key("cilium", name),
        addresses: vec![address.parse().unwrap()],
        is_awaited: false,
        claimant: Claimant::default(),
    }
}

/// Has the state count as lost, or as confirmed.
fn lose(bench: &Bench, is_lost: bool) {
    match is_lost {
        true => bench.engine.conditions().set(ConditionName::StateLost, "", "lost"),
        false => bench.engine.conditions().clear(ConditionName::StateLost, ""),
    }
}

/// Confirms a lost state whose claims are all known.
async fn confirm(bench: &Bench) {
    bench.engine.end_unwitnessed().await.unwrap();
    lose(bench, false);
}

#[tokio::test]
async fn the_claims_of_a_lost_state_are_restored_before_anybody_gets_their_addresses() {
    let bench = Bench::with_network().await;
    // An older state: the agent has claimed another address since, and another claim.
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    let elsewhere = witnessed("elsewhere", "10.9.0.1");
    bench.engine.await_claims([
        witnessed("router", "10.0.0.4"),
        witnessed("ingress", "10.0.0.2"),
        elsewhere.clone(),
    ]);
    let lost = |is_lost| lose(&bench, is_lost);
    lost(true);
    let staged = bench.journal.facts().len();
    let answers = [
        bench.claimed("cilium", &ask("router")).await.map(drop),
        bench.engine.changes(&agent("cilium").name, None).await.map(drop),
        bench.engine.declare(&agent("cilium"), &[], true).await.map(drop),
        bench.engine.release_claim(&key("cilium", "router")).await.map(drop),
        bench.engine.confirm(&key("cilium", "router")).await,
    ];
    assert!(
        answers.iter().all(|answer| answer.as_ref().is_err_and(|error| error.code == ErrorCode::NotReady))
    );
    assert_eq!(bench.journal.facts().len(), staged, "nothing is written to an unconfirmed state");
    let awaited = |addresses: &[&str]| {
        let known = bench.engine.awaited_addresses(&key("cilium", "router").network);
        assert_eq!(known.iter().map(ToString::to_string).collect::<Vec<_>>(), addresses);
    };
    awaited(&["10.9.0.1", "10.0.0.2", "10.0.0.4"]);
    confirm(&bench).await;
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.3");
    awaited(&["10.9.0.1"]);
    let is_reserved = |claimed: &Claimed| matches!(claimed.claim.presence, Presence::Reserved(_));
    assert!(bench.engine.claims_of(None).iter().all(is_reserved));
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.4");
    assert_eq!(bench.claimed("cilium", &ask("ingress")).await.unwrap(), "10.0.0.2");
    let awaited: Vec<_> =
        bench.engine.witnessed_claims().into_iter().filter(|claim| claim.is_awaited).collect();
    assert_eq!(awaited, [WitnessedClaim { is_awaited: true, ..elsewhere }], "its range may come");
    bench.engine.declare(&agent("cilium"), &[ask("router")], true).await.unwrap();
    assert_eq!(bench.engine.witnessed_claims().len(), 1, "what is not declared is given up");
}

/// Regression: the leases counted from the daemon's start, because each call since was refused.
#[tokio::test]
async fn no_lease_runs_out_while_a_lost_state_refuses_its_agent() {
    for asks in [true, false] {
        let bench = Bench::with_network().await;
        bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
        lose(&bench, true);
        bench.tick(120_000);
        assert_eq!(bench.engine.lapse().await, Ok(0));
        if asks {
            bench.tick(120_000);
            let refused = bench.claimed("cilium", &leasing("router", 60)).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::NotReady);
        }
        lose(&bench, false);
        bench.tick(59_000);
        assert_eq!(bench.engine.lapse().await, Ok(0), "asks: {asks}");
        bench.tick(1_000);
        assert_eq!(bench.engine.lapse().await, Ok(1), "asks: {asks}");
    }
}

/// Regression: the reservation counted from the daemon's start, which may be long before the state is confirmed.
#[tokio::test]
async fn a_claim_that_is_restored_late_is_reserved_from_then_on() {
    let bench = Bench::with_network().await;
    bench.engine.await_claims([witnessed("router", "10.0.0.4")]);
    let reserved = u64::try_from(bench.engine.settings().reserved.as_millis()).unwrap();
    bench.tick(reserved + 1_000);
    bench.address(1).await.unwrap();
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(reserved - 1);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(1);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

/// Regression: a claim that an older state has, and that ended since, kept the address of a living one, and both agents were told it.
#[tokio::test]
async fn a_claim_that_the_witness_lacks_is_over_once_an_older_state_is_confirmed() {
    let bench = Bench::with_network().await;
    assert_eq!(bench.claimed("cilium", &ask("old")).await.unwrap(), "10.0.0.2");
    bench.engine.await_claims([witnessed("ingress", "10.0.0.2")]);
    lose(&bench, true);
    let bench = bench.restarted(false);
    bench.engine.await_claims([witnessed("ingress", "10.0.0.2")]);
    lose(&bench, true);
    confirm(&bench).await;
    assert_eq!(bench.engine.claims_of(None), []);
    // A restart in between changes nothing.
    let bench = bench.restarted(false);
    bench.engine.await_claims([witnessed("ingress", "10.0.0.2")]);
    assert_eq!(bench.claimed("cilium", &ask("old")).await.unwrap(), "10.0.0.3");
    assert_eq!(bench.claimed("cilium", &ask("ingress")).await.unwrap(), "10.0.0.2");
}

/// Regression: a pod of an older state, which ended since, kept a claim from being restored.
#[tokio::test]
async fn a_pod_that_holds_the_address_of_a_witnessed_claim_is_over_too() {
    let bench = Bench::with_network().await;
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    assert_eq!(bench.address(2).await.unwrap(), "10.0.0.3");
    bench.engine.await_claims([witnessed("ingress", "10.0.0.2")]);
    lose(&bench, true);
    confirm(&bench).await;
    assert_eq!(bench.address(3).await.unwrap(), "10.0.0.4");
    assert_eq!(bench.claimed("cilium", &ask("ingress")).await.unwrap(), "10.0.0.2");
    assert!(bench.engine.check(&network(), &owner(2)).await.is_ok(), "nobody else has that one");
    assert_eq!(
        bench.engine.check(&network(), &owner(1)).await.unwrap_err().code,
        ErrorCode::UnknownAttachment
    );
}

/// Regression: a claim that an operator released before its network had served a request was restored by the next one.
#[tokio::test]
async fn a_claim_that_an_operator_releases_after_a_loss_stays_released() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    bench.engine.await_claims([witnessed("router", "10.0.0.2"), witnessed("ingress", "10.0.0.4")]);
    let book = bench.engine.book(&network()).await.unwrap();
    let held = book.owned_by(&key("cilium", "router").owner()).unwrap();
    assert!(bench.engine.reap(held, End::Operator, "").await.unwrap());
    // One that is not in the ledger yet can be released, too.
    let ingress = key("cilium", "ingress");
    let addresses = Some(vec!["10.0.0.4".parse().unwrap()]);
    for apply in [false, true] {
        assert_eq!(bench.engine.give_up_awaited(&ingress, apply).await, Ok(addresses.clone()));
    }
    assert_eq!(bench.engine.give_up_awaited(&ingress, true).await, Ok(None));
    bench.address(1).await.unwrap();
    assert_eq!(bench.engine.claims_of(None), []);
    assert_eq!(bench.engine.witnessed_claims(), []);
}

#[tokio::test]
async fn a_version_says_that_claims_have_changed_or_are_awaited() {
    let bench = Bench::with_network().await;
    let before = bench.engine.witnessed_version();
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let claimed = bench.engine.witnessed_version();
    assert_ne!(claimed, before);
    let (key, addresses) = (key("cilium", "health"), vec!["10.0.0.6".parse().unwrap()]);
    let claimant = Claimant::default();
    bench.engine.await_claims([WitnessedClaim { key, addresses, is_awaited: false, claimant }]);
    let awaited = bench.engine.witnessed_version();
    assert_ne!(awaited, claimed);
    assert_eq!(bench.engine.witnessed_version(), awaited, "nothing has changed");
}

#[tokio::test]
async fn a_witness_is_told_what_has_changed_and_nothing_else() {
    let bench = Bench::with_network().await;
    let mut witness = WitnessedClaims::default();
    for name in ["ingress", "router"] {
        bench.claimed("cilium", &ask(name)).await.unwrap();
    }
    let present = |changes: Vec<WitnessedChange>| {
        let name = |change: &WitnessedChange| match change {
            WitnessedChange::Present(claim) => (true, claim.key.name.to_string()),
            WitnessedChange::Ended(key) => (false, key.name.to_string()),
        };
        changes.iter().map(name).collect::<Vec<_>>()
    };
    let of = |is_present, name: &str| (is_present, name.to_owned());
    let told = |witness: &mut WitnessedClaims| present(bench.engine.follow_claims(witness));
    assert_eq!(told(&mut witness), [of(true, "ingress"), of(true, "router")]);
    assert_eq!(told(&mut witness), [], "nothing has changed");
    bench.engine.release_claim(&key("cilium", "ingress")).await.unwrap();
    bench.claimed("cilium", &ask("api")).await.unwrap();
    bench.claimed("cilium", &ask("zone")).await.unwrap();
    assert_eq!(told(&mut witness), [of(false, "ingress"), of(true, "api"), of(true, "zone")]);
    // Ended and made again: another allocation.
    bench.engine.release_claim(&key("cilium", "router")).await.unwrap();
    let again = bench.claimed("cilium", &ask("router")).await.unwrap();
    assert_eq!(told(&mut witness), [of(true, "router")], "{again}");
    let all: Vec<_> = witness.iter().cloned().collect();
    assert_eq!(all, bench.engine.witnessed_claims());
    bench.engine.declare(&agent("cilium"), &[], true).await.unwrap();
    assert_eq!(told(&mut witness), [of(false, "api"), of(false, "router"), of(false, "zone")]);
    assert_eq!(witness.iter().len(), 0);
}
