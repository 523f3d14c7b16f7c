use serde_json::json;
use tenure_leases::{ClaimKind, PoolKey, TurnId, Uid};
use tenure_types::agreed;

use super::*;
use crate::NodeIPAM;
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::sample::{agent, network};
use crate::agent::usage::labelled;
use crate::pools::ClaimName;

/// The node holds the address of a claim, whose pool's settings it does not know.
async fn hold_claim(core: &AgentCore) {
    let claim =
        ClaimName { kind: ClaimKind::Address, namespace: "default".to_owned(), name: "web-0".to_owned() };
    let turn =
        LeaseTurn { claim, turn: TurnId(5), pod: "default/web-0".to_owned(), guest: None, addresses: 1 };
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
