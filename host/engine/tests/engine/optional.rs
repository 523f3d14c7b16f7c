//! Families that a claim can do without.

use tenure_engine::{Ask, Claimed, WhyMissing};
use tenure_ledger::{Families, Wish};
use tenure_types::ErrorCode;

use crate::claiming::{addresses, agent, ask};
use crate::support::{Bench, network};

fn wanting_both(name: &str, is_six_optional: bool) -> Ask {
    let four = Families { ipv4: true, ipv6: false };
    let (families, optional) = match is_six_optional {
        true => (four, Families { ipv4: false, ipv6: true }),
        false => (Families { ipv4: true, ipv6: true }, Families::default()),
    };
    Ask { wish: Wish { families, optional, ..Wish::default() }, ..ask(name) }
}

#[tokio::test]
async fn a_claim_is_made_without_a_family_that_it_can_do_without_and_says_why_it_lacks_it() {
    let bench = Bench::with_network().await;
    let refused = bench.claimed("cilium", &wanting_both("router", false)).await;
    assert_eq!(bench.code(refused), ErrorCode::AddressUnavailable);
    let made = bench.engine.ensure(&agent("cilium"), &wanting_both("router", true)).await.unwrap();
    assert_eq!(why(&made), [(true, WhyMissing::NoPool)]);
    // The wish is as durable as the claim, and the same question gets the same answer.
    let bench = bench.restarted(true);
    assert_eq!(why(&bench.engine.claims_of(None)[0]), [(true, WhyMissing::NoPool)]);
    let again = bench.engine.ensure(&agent("cilium"), &wanting_both("router", true)).await.unwrap();
    assert_eq!((why(&again), again.claim.generation), (why(&made), made.claim.generation));
    // Not what it has, and not what it did not ask for.
    let plain = bench.engine.ensure(&agent("cilium"), &ask("health")).await.unwrap();
    assert_eq!(plain.missing, []);
}

fn why(claimed: &Claimed) -> Vec<(bool, WhyMissing)> {
    claimed.missing.iter().map(|missing| (missing.is_ipv6, missing.why)).collect()
}

fn held(claimed: &Claimed) -> Vec<String> {
    addresses(claimed).iter().map(ToString::to_string).collect()
}

/// Regression: where each grant needs an address of each pool, a claim was refused for lack of one that it can do without.
#[tokio::test]
async fn a_claim_does_without_a_pool_that_every_other_grant_needs() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "each", "10.0.0.0/24 fd00::/126").await;
    let cilium = agent("cilium");
    let (needs, can_do_without) = (wanting_both("needs", false), wanting_both("router", true));
    let first = bench.engine.ensure(&cilium, &needs).await.unwrap();
    // Two more have an IPv6 address, and nobody else.
    for name in ["a", "b"] {
        bench.engine.ensure(&agent("monitor"), &ask(name)).await.unwrap();
    }
    let refused = bench.engine.ensure(&agent("monitor"), &ask("c")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PoolExhausted);
    let made = bench.engine.ensure(&cilium, &can_do_without).await.unwrap();
    assert_eq!((held(&made), why(&made)), (vec!["10.0.0.5".to_owned()], vec![(true, WhyMissing::Exhausted)]));
    // The same for a declaration.
    let asks = [needs.clone(), can_do_without.clone(), wanting_both("ingress", true)];
    let declared = bench.engine.declare(&cilium, &asks, true).await.unwrap();
    assert_eq!((held(&declared.created[0]), declared.kept.len()), (vec!["10.0.0.6".to_owned()], 2));

    // Once there is room again, the claim says so, and another one made in its place has both.
    assert!(bench.engine.release_claim(&first.claim.key).await.unwrap());
    bench.tick(30_000);
    bench.engine.ensure(&agent("monitor"), &wanting_both("d", true)).await.unwrap();
    bench.engine.release_claim(&crate::claiming::key("monitor", "a")).await.unwrap();
    bench.tick(30_000);
    // Whoever looks at the network has the cooldowns end.
    bench.engine.book(&network()).await.unwrap();
    let later = bench.engine.ensure(&cilium, &can_do_without).await.unwrap();
    assert_eq!((held(&later), later.claim.generation), (held(&made), made.claim.generation));
    assert_eq!(why(&later), [(true, WhyMissing::Available)]);
    bench.engine.release_claim(&made.claim.key).await.unwrap();
    let anew = bench.engine.ensure(&cilium, &can_do_without).await.unwrap();
    assert_eq!((held(&anew).len(), why(&anew)), (2, vec![]));
}

/// Regression: a claim was refused for lack of what it can do without where the host's supply may grow, as long as it did not.
#[tokio::test]
async fn a_claim_does_without_a_pool_that_may_grow() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "growing", "10.0.0.0/24 fd00::/126").await;
    for name in ["a", "b", "c"] {
        bench.engine.ensure(&agent("monitor"), &ask(name)).await.unwrap();
    }
    let refused = bench.engine.ensure(&agent("monitor"), &ask("d")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotYet);
    let cilium = agent("cilium");
    let made = bench.engine.ensure(&cilium, &wanting_both("router", true)).await.unwrap();
    assert_eq!((held(&made), why(&made)), (vec!["10.0.0.5".to_owned()], vec![(true, WhyMissing::Exhausted)]));
    let asks = [wanting_both("router", true), wanting_both("ingress", true)];
    let declared = bench.engine.declare(&cilium, &asks, true).await.unwrap();
    assert_eq!((declared.created.len(), declared.kept.len()), (1, 1));
}

#[tokio::test]
async fn a_claim_is_refused_for_lack_of_what_it_needs_whatever_it_can_do_without() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "each", "10.0.0.0/30 fd00::/120").await;
    bench.engine.ensure(&agent("monitor"), &ask("a")).await.unwrap();
    let refused = bench.engine.ensure(&agent("cilium"), &wanting_both("router", true)).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.cause.as_str()),
        (ErrorCode::PoolExhausted, "nothing is free in pool 0")
    );
    assert_eq!(bench.engine.claims_of(Some(&agent("cilium").name)), []);
    // An agent that can do without either still needs one address.
    bench.define_with("other", "each", "10.1.0.0/30 fd01::/126").await;
    let either = Families { ipv4: true, ipv6: true };
    let wish = Wish { optional: either, ..Wish::default() };
    for (name, expected) in [("a", Ok(2)), ("b", Ok(1)), ("c", Ok(1)), ("d", Err(ErrorCode::PoolExhausted))] {
        let ask = Ask { network: crate::claiming::named("other"), wish: wish.clone(), ..ask(name) };
        let made = bench.engine.ensure(&agent("cilium"), &ask).await;
        assert_eq!(made.map(|made| made.places.len()).map_err(|error| error.code), expected, "{name}");
    }
}

#[tokio::test]
async fn a_claim_does_without_an_ipv4_address_where_only_that_is_optional() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "each", "10.0.0.0/30 fd00::/120").await;
    bench.engine.ensure(&agent("monitor"), &ask("a")).await.unwrap();
    let (four, six) = (Families { ipv4: true, ipv6: false }, Families { ipv4: false, ipv6: true });
    let wish = Wish { families: six, optional: four, ..Wish::default() };
    let made = bench.engine.ensure(&agent("cilium"), &Ask { wish, ..ask("router") }).await.unwrap();
    assert_eq!((held(&made), why(&made)), (vec!["fd00::2".to_owned()], vec![(false, WhyMissing::Exhausted)]));
}

#[test]
fn each_reason_for_a_missing_family_has_a_stable_name_and_an_explanation() {
    use WhyMissing::{Available, Exhausted, NoPool, Unknown};
    let all = [NoPool, Exhausted, Available, Unknown];
    assert_eq!(all.map(WhyMissing::name), ["no-pool", "pool-exhausted", "available", "unknown"]);
    let mut told = all.map(|why| why.to_string());
    assert_eq!(told[0], "the network has no addresses of this family");
    told.sort_unstable();
    assert!(told.is_sorted_by(|one, other| one < other), "{told:?}");
}

#[tokio::test]
async fn a_policy_that_fails_is_not_asked_again_for_what_the_claim_can_do_without() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "failing", "10.0.0.0/24 fd00::/120").await;
    let mut codes = Vec::new();
    for _ in 0..6 {
        let failed = bench.engine.ensure(&agent("cilium"), &wanting_both("router", true)).await;
        codes.push(failed.unwrap_err().code);
    }
    let [failures @ .., benched] = codes.as_slice() else { panic!() };
    assert_eq!((failures, *benched), (&[ErrorCode::PolicyFailed; 5][..], ErrorCode::PolicyBenched));
}
