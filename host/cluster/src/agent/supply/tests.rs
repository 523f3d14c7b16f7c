use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use serde_json::json;
use tenure_fixtures::ports::ManualClock;
use tenure_leases::{ClaimKind, TurnId, Uid};

use super::*;
use crate::NodeIPAM;
use crate::agent::records::LeaseTurn;
use crate::agent::sample::{agent, agent_with, network};
use crate::objects::delivery::BlockIndexRange;
use crate::pools::ClaimName;

/// The operator tells the settings of the pool `names`.
fn tell(core: &AgentCore, generation: i64, excluded: &str) {
    tell_of(core, generation, excluded, &json!([]));
}

/// The same with hints.
fn tell_of(core: &AgentCore, generation: i64, excluded: &str, hints: &serde_json::Value) {
    let exclusions = json!([{ "cidr": excluded }]);
    let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": generation, "exclusions": exclusions });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let object =
        json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool], "blocks": hints } });
    let object: NodeIPAM = serde_json::from_value(object).unwrap();
    core.state().see(Some(object));
}

#[tokio::test]
async fn a_block_whose_cidr_was_taken_out_of_the_pool_keeps_its_exclusions() {
    let (core, _abandoned) = agent().await;
    let lease = HeldLease {
        name: "default.10-0-0-0.28".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: None,
    };
    core.record(&lease).await.unwrap();
    let hint = |leaving: bool| json!([{ "name": lease.name.to_string(), "cidr": "10.0.0.0/28", "uid": Uid(6).to_string(), "leaving": leaving }]);
    let ranges = async |generation: i64, excluded: &str, hints: &serde_json::Value| {
        tell_of(&core, generation, excluded, hints);
        core.supply(&network()).await.unwrap();
        let book = core.book(&network()).await.unwrap();
        labelled(&book).map(|(_, view, _)| view.range.to_string()).collect::<Vec<_>>()
    };
    let (kept, whole) = (["10.0.0.8-10.0.0.15"], ["10.0.0.0-10.0.0.15"]);
    assert_eq!(ranges(1, "10.0.0.0/29", &hint(false)).await, kept);
    assert_eq!(ranges(2, "10.9.0.0/29", &hint(true)).await, kept);
    // Somebody deleted the node's object, or its lease: nothing tells of the CIDR meanwhile.
    assert_eq!(ranges(3, "10.9.0.0/29", &json!([])).await, kept);
    assert_eq!(
        ranges(4, "10.9.0.0/29", &hint(false)).await,
        whole,
        "it was put back, without its exclusions"
    );
}

#[tokio::test]
async fn a_block_that_leaves_hands_out_nothing_that_it_did_not_hand_out_before() {
    let (core, _abandoned) = agent().await;
    let lease = HeldLease {
        name: "default.10-0-0-0.28".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: None,
    };
    core.record(&lease).await.unwrap();
    let hint = |leaving: bool| json!([{ "name": lease.name.to_string(), "cidr": "10.0.0.0/28", "uid": Uid(6).to_string(), "leaving": leaving }]);
    let ranges = async |generation: i64, excluded: &str, hints: &serde_json::Value| {
        tell_of(&core, generation, excluded, hints);
        core.supply(&network()).await.unwrap();
        labelled(&core.book(&network()).await.unwrap()).count()
    };
    assert_eq!(ranges(1, "10.0.0.0/24", &hint(false)).await, 0, "all of it is excluded");
    assert_eq!(ranges(2, "10.9.0.0/24", &hint(true)).await, 0);
    assert_eq!(
        ranges(3, "10.9.0.0/24", &hint(false)).await,
        1,
        "its CIDR was put back, without the exclusion"
    );
}

#[tokio::test]
async fn the_address_of_a_claim_keeps_its_gateway_when_its_cidr_is_taken_out_of_the_pool() {
    let (core, _abandoned) = agent().await;
    let claim = ClaimName { kind: ClaimKind::Address, namespace: "default".into(), name: "db-0".into() };
    let pod = "default/db-0".to_owned();
    let lease = HeldLease {
        name: "default.10-0-0-9.32".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: Some(LeaseTurn { claim, uid: Some(Uid(8)), turn: TurnId(5), pod, guest: None, addresses: 1 }),
    };
    core.record(&lease).await.unwrap();
    let told = |generation: i64, subnet: &str, leaving: &[&str]| {
        let gateway = subnet.replace(".0/24", ".1");
        let pool = json!({
            "name": "names", "uid": Uid(7).to_string(), "generation": generation, "gateway": { "ipv4": gateway },
            "gatewaySubnets": [subnet],
        });
        let spec =
            json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
        let status = json!({ "pools": [pool], "claimsLeaving": leaving });
        let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": status });
        serde_json::from_value::<NodeIPAM>(object).unwrap()
    };
    let delivered = async |object: NodeIPAM| {
        core.state().see(Some(object));
        core.supply(&network()).await.unwrap();
        let book = core.book(&network()).await.unwrap();
        let range = labelled(&book).next().unwrap().1.range.clone();
        (range.gateway().map(|gateway| gateway.to_string()), range.prefix_length())
    };
    let of = |gateway: &str| (Some(gateway.to_owned()), 24);
    assert_eq!(delivered(told(1, "10.0.0.0/24", &[])).await, of("10.0.0.1"));
    let renumbered = told(2, "10.9.0.0/24", &["default.10-0-0-9.32"]);
    assert_eq!(delivered(renumbered.clone()).await, of("10.0.0.1"));
    // Somebody deleted the node's object, and the operator has not answered the new one yet.
    assert_eq!(delivered(NodeIPAM { status: None, ..renumbered }).await, of("10.0.0.1"));
}

#[tokio::test]
async fn a_node_that_can_use_no_block_asks_once_an_hour_until_the_pool_is_edited() {
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::try_from(Config::new("http://127.0.0.1:9".parse().unwrap())).unwrap();
    let clock = Arc::new(ManualClock::default());
    let (core, _abandoned) = agent_with(client, Arc::clone(&clock) as _, 1).await;
    let pool = PoolKey { name: "names".into(), uid: Uid(7) };
    let (cidr, other) = ("10.0.0.0/28".parse().unwrap(), "10.0.0.16/28".parse().unwrap());
    assert_eq!(core.unusable(cidr, &pool).await, None, "its settings are not known yet");
    tell(&core, 1, "10.0.0.0/24");
    let pauses = async |core: &AgentCore| core.asks_for_none(&pool, PoolFamily::Ipv4).await;
    assert!(!pauses(&core).await);
    let mut waited = Vec::new();
    for _ in 0..8 {
        let why = core.unusable(cidr, &pool).await.unwrap();
        assert!(why.contains("excludes each address"), "{why}");
        core.note_refused(cidr, &pool, why);
        let mut minutes = 0;
        while pauses(&core).await {
            clock.advance(Duration::from_secs(60));
            minutes += 1;
        }
        waited.push(minutes);
    }
    assert_eq!(waited, [1, 2, 4, 8, 16, 32, 60, 60]);
    core.note_refused(cidr, &pool, "words".to_owned());
    assert!(pauses(&core).await && !core.asks_for_none(&pool, PoolFamily::Ipv6).await);
    // Any edit of the pool ends the pause, and the next one is short again.
    tell(&core, 2, "10.0.0.0/25");
    assert!(!pauses(&core).await);
    core.note_refused(cidr, &pool, "words".to_owned());
    clock.advance(Duration::from_secs(59));
    assert!(pauses(&core).await);
    // A block that could be used: it was the configuration that changed.
    core.note_refused("10.0.1.0/28".parse().unwrap(), &pool, "words".to_owned());
    assert!(!pauses(&core).await);
    // The gateway and the network address alone are of no use either.
    tell(&core, 3, "10.0.0.0/28");
    assert!(core.unusable(other, &pool).await.is_none());
    let places = |core: &AgentCore, start| {
        let mut state = core.state();
        let settings = state.in_force.get_mut(&Uid(7)).unwrap();
        settings.per_block_exclusions = vec![BlockIndexRange { start, end: 14 }];
    };
    places(&core, 2);
    assert!(core.unusable(other, &pool).await.is_some());
    places(&core, 3);
    assert!(core.unusable(other, &pool).await.is_none());
}
