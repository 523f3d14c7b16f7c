//! Components of one agent: each has claims of its own, and a run of one that ends takes nothing from its successor.

use tenure_engine::{Agent, Ask, ClaimFilter, Precondition, WitnessedClaim};
use tenure_ledger::Claimant;
use tenure_types::{ErrorCode, Generation, HolderName, ScopeName};

use crate::claiming::{agent, ask, key, leasing, names};
use crate::delegating::start;
use crate::support::Bench;

fn scope(name: &str) -> Option<ScopeName> {
    Some(ScopeName::new(name).unwrap())
}

fn component(name: &str) -> Agent {
    Agent { scope: scope(name), ..agent("cilium") }
}

/// A claim as this component asks for it.
fn of(component: &Agent, mut ask: Ask) -> Ask {
    ask.wish.claimant.scope.clone_from(&component.scope);
    ask
}

fn held_by(holder: &str) -> Ask {
    let mut ask = ask("router");
    ask.wish.claimant.holder = Some(HolderName::new(holder).unwrap());
    ask
}

#[tokio::test]
async fn a_declaration_concerns_the_claims_of_its_own_scope_only() {
    let bench = Bench::new(8, 8);
    bench.define("net", "10.0.0.0/27").await;
    let (router, ingress, plain) = (component("router"), component("ingress"), agent("cilium"));
    bench.claimed("cilium", &ask("health")).await.unwrap();
    bench.engine.ensure(&router, &of(&router, ask("router"))).await.unwrap();
    let declared = bench.engine.declare(&ingress, &[of(&ingress, ask("v4"))], true).await.unwrap();
    assert_eq!((names(&declared.created), declared.released.len()), (vec!["v4".to_owned()], 0));
    let declared = bench.engine.declare(&plain, &[], true).await.unwrap();
    assert_eq!(declared.released, [key("cilium", "health")], "one that names no scope has those of none");
    // What they have counts together.
    let many: Vec<Ask> = ["a", "b", "c"].map(|name| of(&ingress, ask(name))).into();
    let refused = bench.engine.declare(&ingress, &many, true).await.map(drop);
    assert_eq!(refused, Ok(()), "four in all");
    let one_more = bench.engine.ensure(&router, &of(&router, ask("another"))).await.unwrap_err();
    assert_eq!(one_more.code, ErrorCode::ClaimDenied);
    let more: Vec<Ask> = ["a", "b", "c", "d"].map(|name| of(&ingress, ask(name))).into();
    assert_eq!(bench.engine.declare(&ingress, &more, true).await.unwrap_err().code, ErrorCode::ClaimDenied);
    // As durable as the claims, across reboots too.
    let bench = bench.restarted(true);
    let declared = bench.engine.declare(&ingress, &[], true).await.unwrap();
    assert_eq!(declared.released.len(), 3);
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
    let filter = |name| ClaimFilter::Scope(scope(name));
    let claims = bench.engine.claims_of(None);
    assert!(filter("router").admits(&claims[0].claim) && !filter("ingress").admits(&claims[0].claim));
}

#[tokio::test]
async fn a_claim_of_another_scope_is_neither_given_nor_released_nor_declared() {
    let bench = Bench::with_network().await;
    let (router, ingress) = (component("router"), component("ingress"));
    bench.engine.ensure(&router, &of(&router, ask("router"))).await.unwrap();
    for other in [&ingress, &agent("cilium")] {
        let asked = of(other, ask("router"));
        let release = Precondition { scope: other.scope.clone(), ..Precondition::default() };
        for refused in [
            bench.engine.ensure(other, &asked).await.map(drop),
            bench.engine.declare(other, std::slice::from_ref(&asked), true).await.map(drop),
            bench.engine.release_claim_if(&key("cilium", "router"), &release).await.map(drop),
        ] {
            assert_eq!(refused.unwrap_err().code, ErrorCode::ClaimOfAnotherScope);
        }
    }
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
    let own = Precondition { scope: scope("router"), ..Precondition::default() };
    assert_eq!(bench.engine.release_claim_if(&key("cilium", "router"), &own).await, Ok(true));
}

#[tokio::test]
async fn a_component_that_gets_a_scope_takes_its_claims_over_with_their_addresses() {
    let bench = Bench::with_network().await;
    let before = bench.claimed("cilium", &ask("router")).await.unwrap();
    bench.claimed("cilium", &ask("health")).await.unwrap();
    let router = Agent { from_scope: Some(None), ..component("router") };
    let declared = bench.engine.declare(&router, &[of(&router, ask("router"))], true).await.unwrap();
    assert_eq!((names(&declared.kept), declared.released.len()), (vec!["router".to_owned()], 0));
    let kept = &declared.kept[0];
    assert_eq!(
        (kept.places[0].assigned.ip().to_string(), kept.claim.wish.claimant.scope.clone()),
        (before, scope("router"))
    );
    // And back.
    let plain = Agent { from_scope: Some(scope("router")), ..agent("cilium") };
    let claimed = bench.engine.ensure(&plain, &ask("router")).await.unwrap();
    assert_eq!((claimed.claim.generation, claimed.claim.wish.claimant.scope), (kept.claim.generation, None));
}

#[tokio::test]
async fn a_run_that_ends_does_not_release_what_its_successor_has_asked_for() {
    let bench = Bench::with_network().await;
    let (cilium, router) = (agent("cilium"), key("cilium", "router"));
    let first = bench.engine.ensure(&cilium, &held_by("pod-1")).await.unwrap().claim.generation;
    let second = bench.engine.ensure(&cilium, &held_by("pod-2")).await.unwrap().claim.generation;
    assert_eq!(first, second, "it is the same allocation");
    let holder = |name: &str| Precondition {
        holder: Some(HolderName::new(name).unwrap()),
        generation: Some(first),
        ..Precondition::default()
    };
    let refused = bench.engine.release_claim_if(&router, &holder("pod-1")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ClaimSuperseded);
    assert!(refused.cause.contains("holder pod-2"), "{}", refused.cause);
    // Also after a crash, and if the successor says nothing of itself.
    let bench = bench.restarted(false);
    assert!(bench.engine.release_claim_if(&router, &holder("pod-1")).await.is_err());
    bench.claimed("cilium", &ask("router")).await.unwrap();
    assert!(bench.engine.release_claim_if(&router, &holder("pod-2")).await.is_err());
    bench.engine.ensure(&cilium, &held_by("pod-2")).await.unwrap();
    assert_eq!(bench.engine.release_claim_if(&router, &holder("pod-2")).await, Ok(true));
    assert_eq!(bench.engine.release_claim_if(&router, &holder("pod-2")).await, Ok(false), "there is none");
    // One that was made anew is another allocation.
    bench.engine.ensure(&cilium, &held_by("pod-1")).await.unwrap();
    let refused = bench.engine.release_claim_if(&router, &holder("pod-1")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ClaimSuperseded);
    assert!(bench.engine.claimed(&router).is_some());
}

#[tokio::test]
async fn a_watch_of_a_scope_renews_the_leases_of_that_scope_only() {
    let bench = Bench::with_network().await;
    for name in ["router", "ingress"] {
        let component = component(name);
        bench.engine.ensure(&component, &of(&component, leasing(name, 40))).await.unwrap();
    }
    let _watching = bench.engine.watching(&agent("cilium").name, ClaimFilter::Scope(scope("router")));
    bench.tick(41_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
}

#[tokio::test]
async fn claims_of_a_lost_state_come_back_in_their_scopes() {
    let bench = Bench::with_network().await;
    let claimant = Claimant { scope: scope("router"), holder: Some(HolderName::new("pod-1").unwrap()) };
    let addresses = vec!["10.0.0.4".parse().unwrap()];
    let witnessed = |name| WitnessedClaim {
        key: key("cilium", name),
        addresses: addresses.clone(),
        is_awaited: true,
        claimant: claimant.clone(),
    };
    bench.engine.await_claims([witnessed("router")]);
    // Another component's declaration does not give it up.
    bench.engine.declare(&agent("cilium"), &[], true).await.unwrap();
    let claims = bench.engine.claims_of(None);
    assert_eq!(
        (names(&claims), claims[0].claim.wish.claimant.clone()),
        (vec!["router".to_owned()], claimant.clone())
    );
    assert_eq!(
        bench.engine.witnessed_claims(),
        [WitnessedClaim { is_awaited: false, ..witnessed("router") }]
    );
    let router = component("router");
    let declared = bench.engine.declare(&router, &[of(&router, ask("router"))], true).await.unwrap();
    assert_eq!(names(&declared.kept), ["router"]);
}

/// The ledger does not have it: a delegate gives its addresses once its agent asks.
#[tokio::test]
async fn a_claim_that_is_still_to_be_restored_is_its_components_and_its_runs() {
    let (before, foreign) = start().await;
    let router = component("router");
    before.engine.ensure(&router, &of(&router, held_by("pod-2"))).await.unwrap();
    let claimed = foreign.given();
    let (bench, other) = start().await;
    claimed.iter().for_each(|container| other.knows(container));
    let claimant = Claimant { scope: scope("router"), holder: Some(HolderName::new("pod-2").unwrap()) };
    let key = key("cilium", "router");
    bench.engine.await_claims([WitnessedClaim {
        key: key.clone(),
        addresses: vec!["10.7.0.2".parse().unwrap()],
        is_awaited: false,
        claimant,
    }]);
    let condition = |scope_name: &str, holder: &str| Precondition {
        scope: scope(scope_name),
        holder: Some(HolderName::new(holder).unwrap()),
        ..Precondition::default()
    };
    let release = async |condition: &Precondition| {
        bench.engine.release_claim_if(&key, condition).await.map_err(|error| error.code)
    };
    assert_eq!(release(&condition("bgp", "pod-2")).await, Err(ErrorCode::ClaimOfAnotherScope));
    assert_eq!(release(&condition("router", "pod-1")).await, Err(ErrorCode::ClaimSuperseded));
    let older = Precondition { generation: Some(Generation(1)), ..condition("router", "pod-2") };
    assert_eq!(release(&older).await, Err(ErrorCode::ClaimSuperseded));
    let bgp = component("bgp");
    let refused = bench.engine.ensure(&bgp, &of(&bgp, ask("router"))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ClaimOfAnotherScope);
    bench.engine.tidy().await;
    assert_eq!((other.given(), bench.engine.witnessed_claims().len()), (claimed, 1));
    // Its own run gives it up.
    assert_eq!(release(&condition("router", "pod-2")).await, Ok(false), "the ledger had none");
    bench.engine.tidy().await;
    assert_eq!((other.given().len(), bench.engine.witnessed_claims().len()), (0, 0));
}
