//! Answers to an agent: the families that it wants, its gateways, what has ended since, and how many may wait.

use std::pin::pin;

use tenure_engine::Ask;
use tenure_ledger::{Families, Wish};
use tenure_types::ErrorCode;

use crate::claiming::{agent, ask, key, named};
use crate::support::{Bench, poll_once};

#[tokio::test]
async fn a_claim_without_a_family_that_its_agent_needs_is_not_made() {
    let bench = Bench::with_network().await;
    bench.define("six", "fd00::/125").await;
    let four = Families { ipv4: true, ipv6: false };
    let six = Families { ipv4: false, ipv6: true };
    let both = Families { ipv4: true, ipv6: true };
    let of = |network: &str, families| {
        let wish = Wish { families, ..Wish::default() };
        Ask { network: named(network), wish, ..ask("router") }
    };
    for (network, families) in [("six", four), ("six", both), ("net", six), ("net", both)] {
        let refusal = bench.claimed("cilium", &of(network, families)).await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::AddressUnavailable, "{network} {families:?}");
    }
    assert_eq!(bench.engine.claims_of(None), []);
    assert_eq!(bench.claimed("cilium", &of("net", four)).await.unwrap(), "10.0.0.2");
    assert_eq!(bench.claimed("cilium", &of("six", six)).await.unwrap(), "fd00::1");
}

#[tokio::test]
async fn a_claim_has_the_gateway_of_its_range() {
    let bench = Bench::with_network().await;
    let claimed = bench.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    assert_eq!(claimed.places[0].gateway(), "10.0.0.1".parse().ok());
    assert_eq!(claimed.places[0].assigned.gateway(), claimed.places[0].gateway());
}

#[tokio::test]
async fn an_agent_hears_once_that_its_claim_has_ended() {
    let bench = Bench::with_network().await;
    let cilium = agent("cilium").name;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let before = bench.engine.changes(&cilium, None).await.unwrap();
    bench.engine.release_claim(&key("cilium", "router")).await.unwrap();
    let told = bench.engine.changes(&cilium, Some(&before.version)).await.unwrap();
    assert_eq!(told.released, [(key("cilium", "router"), "agent".into())]);
    let again = bench.engine.changes(&cilium, Some(&told.version)).await.unwrap();
    assert_eq!((again.is_all, again.claims.len(), again.released), (false, 0, vec![]));
}

#[tokio::test]
async fn one_agent_with_too_many_requests_is_refused_and_others_are_served() {
    let bench = Bench::with_network().await;
    let (cilium, monitor, router) = (agent("cilium"), agent("monitor"), ask("router"));
    bench.journal.hold();
    let mut waiting: Vec<_> = (0..128).map(|_| Box::pin(bench.engine.ensure(&cilium, &router))).collect();
    for one in &mut waiting {
        assert!(poll_once(one.as_mut()).is_pending());
    }
    let refused = bench.engine.ensure(&cilium, &router).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Overloaded);
    assert!(refused.cause.contains("128 requests of agent cilium"), "{refused}");
    let mut other = pin!(bench.engine.ensure(&monitor, &router));
    assert!(poll_once(other.as_mut()).is_pending(), "another agent's waits for the disk alone");
    bench.journal.resolve(&Ok(()));
    for one in waiting {
        one.await.unwrap();
    }
    other.await.unwrap();
    bench.engine.ensure(&cilium, &router).await.unwrap();
}
