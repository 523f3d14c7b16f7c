//! Claims that wait to be restored: whose they are, and until when they wait.

use tenure_engine::{Agent, WitnessedChange, WitnessedClaim, WitnessedClaims};
use tenure_types::ScopeName;

use super::{confirm, lose, witnessed};
use crate::claiming::{agent, ask, key};
use crate::support::Bench;

fn awaited(bench: &Bench) -> Vec<WitnessedClaim> {
    bench.engine.witnessed_claims().into_iter().filter(|claim| claim.is_awaited).collect()
}

/// A claim of another agent may still be restored: its range or its network may come.
#[tokio::test]
async fn a_declaration_gives_up_the_awaited_claims_of_its_own_agent_only() {
    for asks in [vec![], vec![ask("health")]] {
        let bench = Bench::with_network().await;
        let of_another = WitnessedClaim { key: key("monitor", "probe"), ..witnessed("any", "10.9.0.2") };
        bench.engine.await_claims([witnessed("router", "10.9.0.1"), of_another.clone()]);
        bench.engine.declare(&agent("cilium"), &asks, true).await.unwrap();
        assert_eq!(awaited(&bench), [WitnessedClaim { is_awaited: true, ..of_another }]);
    }
}

#[tokio::test]
async fn a_claim_that_is_made_anew_is_not_awaited_any_more() {
    let bench = Bench::with_network().await;
    let other = witnessed("ingress", "10.9.0.2");
    bench.engine.await_claims([witnessed("router", "10.9.0.1"), other.clone()]);
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    bench.address(1).await.unwrap();
    assert_eq!(awaited(&bench), [WitnessedClaim { is_awaited: true, ..other }]);
}

#[tokio::test]
async fn a_claim_that_an_older_state_has_as_the_witness_names_it_stays_as_it_is() {
    let bench = Bench::with_network().await;
    let made = bench.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    bench.engine.await_claims([witnessed("router", "10.0.0.2")]);
    lose(&bench, true);
    let staged = bench.journal.facts().len();
    confirm(&bench).await;
    assert_eq!((bench.engine.claims_of(None), bench.journal.facts().len()), (vec![made], staged));
}

#[tokio::test]
async fn a_witness_is_told_of_a_claim_that_another_component_takes_over() {
    let bench = Bench::with_network().await;
    let mut witness = WitnessedClaims::default();
    bench.claimed("cilium", &ask("router")).await.unwrap();
    assert_eq!(bench.engine.follow_claims(&mut witness).len(), 1);
    let scope = Some(ScopeName::new("router").unwrap());
    let component = Agent { scope: scope.clone(), from_scope: Some(None), ..agent("cilium") };
    let mut taking_over = ask("router");
    taking_over.wish.claimant.scope.clone_from(&scope);
    bench.engine.ensure(&component, &taking_over).await.unwrap();
    let mut now = witnessed("router", "10.0.0.2");
    now.claimant.scope = scope;
    assert_eq!(bench.engine.follow_claims(&mut witness), [WitnessedChange::Present(now)]);
}
