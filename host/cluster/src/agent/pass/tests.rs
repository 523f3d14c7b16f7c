use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenure_fixtures::ports::ManualClock;
use tenure_leases::{ClaimKind, MachineHash, PoolKey, TurnId, Uid};
use tenure_types::{Attributes, Object, agreed};

use super::*;
use crate::NodeIPAM;
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::sample::{agent, agent_with, network, unreachable};
use crate::agent::settings::AgentSettings;
use crate::agent::usage::labelled;
use crate::away::AbsentServer;
use crate::pools::ClaimName;

/// The node holds the address of a claim, whose pool's settings it does not know.
async fn hold_claim(core: &AgentCore) {
    let claim =
        ClaimName { kind: ClaimKind::Address, namespace: "default".to_owned(), name: "web-0".to_owned() };
    let turn = LeaseTurn {
        claim,
        uid: Some(Uid(50)),
        turn: TurnId(5),
        pod: "default/web-0".to_owned(),
        guest: None,
        addresses: 1,
    };
    let lease = HeldLease {
        name: "default.10-0-0-9.32".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: Some(turn),
    };
    core.record(&lease).await.unwrap();
}

/// The operator tells the settings of the pool.
fn tell(core: &AgentCore) {
    let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 1, "forClaims": true });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
    let object: NodeIPAM = serde_json::from_value(object).unwrap();
    core.state().see(Some(object));
}

async fn ranges(core: &AgentCore) -> usize {
    labelled(&core.book(&network()).await.unwrap()).count()
}

fn is_kept(core: &AgentCore) -> bool {
    core.engine.objects().iter().any(|object| object.kind == agreed::KEPT_POOL && object.name == "names.v4")
}

#[tokio::test]
async fn a_pool_for_claims_is_kept_before_it_has_a_range() {
    let (core, _abandoned) = agent().await;
    hold_claim(&core).await;
    let (executors, mut jitter) = (Executors::new(), Jitter::new(1));
    let mut pass = AgentPass { core: &core, executors: &executors, jitter: &mut jitter };
    // Nothing is handed out of a block whose pool's settings are not known.
    assert!(pass.run().await.is_err(), "there is no API server");
    assert_eq!((ranges(&core).await, is_kept(&core)), (0, false));
    tell(&core);
    assert!(pass.run().await.is_err(), "there is no API server");
    assert_eq!((ranges(&core).await, is_kept(&core)), (1, true));
}

#[tokio::test]
async fn settings_that_come_during_a_pass_bring_no_range_for_everybody() {
    let (core, _abandoned) = agent().await;
    hold_claim(&core).await;
    core.keep_selectors().await.unwrap();
    tell(&core);
    core.supply(&network()).await.unwrap();
    assert_eq!((ranges(&core).await, is_kept(&core)), (0, false));
    core.keep_selectors().await.unwrap();
    core.supply(&network()).await.unwrap();
    assert_eq!((ranges(&core).await, is_kept(&core)), (1, true));
}

/// The claim's block, which names another node's turn.
fn passed_on() -> BTreeMap<String, serde_json::Value> {
    let active = json!({
        "nodeName": "n2", "nodeUID": Uid(3).to_string(), "machine": MachineHash(3).to_string(),
        "bootID": Uid(4).to_string(), "turn": TurnId(8).to_string(), "pod": "default/web-0",
        "since": "2026-01-01T00:00:00Z",
    });
    let claim = json!({
        "kind": "AddressClaim", "namespace": "default", "name": "web-0", "uid": Uid(50).to_string(),
    });
    let block = json!({
        "metadata": { "name": "default.10-0-0-9.32", "uid": Uid(6).to_string(), "resourceVersion": "1" },
        "spec": {
            "group": "default", "cidr": "10.0.0.9/32", "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() }, "claim": claim,
        },
        "status": { "active": active },
    });
    [("/apis/ipam.tenure.dev/v1alpha1/ipblocks/default.10-0-0-9.32".to_owned(), block)].into()
}

#[tokio::test]
async fn a_node_that_is_asked_for_an_address_looks_whether_its_turn_is_over() {
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, passed_on());
    let (core, _abandoned) = agent_with(server.client(), Arc::new(ManualClock::default()), 1).await;
    hold_claim(&core).await;
    let (executors, mut jitter) = (Executors::new(), Jitter::new(1));
    let pass = AgentPass { core: &core, executors: &executors, jitter: &mut jitter };
    let me = HolderIdentity { name: "n1".into(), uid: Uid(1), machine: MachineHash(1), boot: Uid(2) };
    let hold = || core.leases().into_values().next().map(|lease| lease.hold);
    pass.compare(&me).await.unwrap();
    assert_eq!(hold(), Some(LeaseHold::Open), "nobody has said anything");
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let status = json!({ "claimsAskedBack": ["default.10-0-0-9.32"] });
    let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": status });
    core.state().see(Some(serde_json::from_value::<NodeIPAM>(object).unwrap()));
    pass.compare(&me).await.unwrap();
    assert_eq!(hold(), Some(LeaseHold::Contested));
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A pass without an API server; whether a lease counts as given back after it.
async fn is_remembered(core: &AgentCore, uid: Uid) -> bool {
    let (executors, mut jitter) = (Executors::new(), Jitter::new(1));
    let passed = AgentPass { core, executors: &executors, jitter: &mut jitter }.run().await;
    assert!(passed.is_err(), "there is no API server");
    core.dropped().contains_key(&uid)
}

fn years(count: u64) -> u64 {
    count * 365 * 24 * 3600 * 1000
}

#[tokio::test]
async fn a_wall_clock_that_jumps_forgets_no_lease_that_was_given_back() {
    let clock = Arc::new(ManualClock::default());
    let (core, _abandoned) = agent_with(unreachable(), clock.clone(), 1).await;
    // The machine has no clock of its own, and boots in 1970.
    core.bury(Uid(5)).await.unwrap();
    clock.set_wall(years(55));
    assert!(is_remembered(&core, Uid(5)).await, "the clock was set");
    clock.set_wall(years(200));
    assert!(is_remembered(&core, Uid(5)).await, "it was wrong for a moment");
    clock.set_wall(years(55));
    clock.advance(20 * DAY);
    assert!(is_remembered(&core, Uid(5)).await);
    // The time of the next boot adds up.
    clock.set(Duration::ZERO);
    let settings = AgentSettings { boot: Uid(3), ..core.settings.clone() };
    let core = AgentCore::new(Arc::clone(&core.engine), core.client.clone(), clock.clone(), settings, None);
    clock.advance(9 * DAY);
    assert!(is_remembered(&core, Uid(5)).await);
    clock.advance(DAY);
    assert!(!is_remembered(&core, Uid(5)).await);
}

#[tokio::test]
async fn a_lease_that_an_earlier_version_gave_back_is_remembered_for_thirty_days_from_now() {
    let clock = Arc::new(ManualClock::default());
    let (core, _abandoned) = agent_with(unreachable(), clock.clone(), 1).await;
    let until = Attributes::new([("until", "1700000000")]).unwrap();
    let stone = Object { kind: "dropped-lease".to_owned(), name: Uid(5).to_string(), attributes: until };
    core.engine.objects_seen(&[stone], &[]).await.unwrap();
    clock.set_wall(years(200));
    clock.advance(10 * DAY);
    assert!(is_remembered(&core, Uid(5)).await);
    clock.advance(29 * DAY);
    assert!(is_remembered(&core, Uid(5)).await);
    clock.advance(DAY);
    assert!(!is_remembered(&core, Uid(5)).await);
}
