use tenure_types::{ClaimName, Generation, NetworkName};

use super::*;

fn key(agent: &str, network: &str, name: &str) -> ClaimKey {
    ClaimKey {
        agent: AgentName::new(agent).unwrap(),
        network: NetworkName::new(network).unwrap(),
        name: ClaimName::new(name).unwrap(),
    }
}

fn at(boot_ns: u64) -> Moment {
    Moment { boot_ns, wall_ms: 0 }
}

fn claimed(key: ClaimKey, generation: u64) -> ClaimFact {
    let (wish, presence) = (Wish::default(), Presence::Here(at(1)));
    ClaimFact::Claimed(Claim { key, wish, generation: Generation(generation), made_at: at(1), presence })
}

fn released(key: ClaimKey) -> ClaimFact {
    ClaimFact::Released { key, generation: Generation(1), at: at(2), reason: "agent".into() }
}

#[test]
fn an_agent_has_its_own_claims_only() {
    let mut claims = Claims::default();
    let all = [key("a", "lan", "router"), key("a", "lan", "health"), key("b", "lan", "router")];
    for (place, key) in (1..).zip(&all) {
        claims.apply(place, &claimed(key.clone(), place));
    }
    let of = |agent: &str| -> Vec<_> {
        let agent = AgentName::new(agent).unwrap();
        claims.of(&agent).map(|claim| claim.key.name.to_string()).collect()
    };
    assert_eq!(
        (of("a"), of("b"), of("c")),
        (vec!["health".into(), "router".into()], vec!["router".into()], vec![])
    );
    assert_eq!(claims.all().count(), 3);
    assert_eq!(claims.count(&all[0].agent), 2);
}

#[test]
fn a_fact_that_was_applied_before_changes_nothing() {
    let mut claims = Claims::default();
    let router = key("a", "lan", "router");
    claims.apply(1, &claimed(router.clone(), 1));
    claims.apply(2, &released(router.clone()));
    assert_eq!((claims.get(&router), claims.count(&router.agent)), (None, 0));
    claims.apply(1, &claimed(router.clone(), 1));
    assert_eq!((claims.get(&router), claims.through()), (None, 2));
    assert_eq!(claims, Claims::restore(2, []));
}

#[test]
fn after_a_reboot_a_claim_is_reserved_until_its_agent_returns() {
    let mut claims = Claims::default();
    let router = key("a", "lan", "router");
    claims.apply(1, &claimed(router.clone(), 1));
    claims.enter_boot(at(7));
    let presence = |claims: &Claims| claims.get(&router).unwrap().presence;
    assert_eq!(presence(&claims), Presence::Reserved(at(7)));
    claims.apply(2, &ClaimFact::Confirmed { key: router.clone(), at: at(9) });
    assert_eq!(presence(&claims), Presence::Here(at(9)));
    // One that has ended meanwhile does not come back.
    claims.apply(3, &released(router.clone()));
    claims.apply(4, &ClaimFact::Confirmed { key: router.clone(), at: at(9) });
    assert_eq!(claims.get(&router), None);
}
