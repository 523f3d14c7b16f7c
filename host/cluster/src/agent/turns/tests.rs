use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_fixtures::ports::ManualClock;
use tenure_leases::{ClaimKind, MachineHash, PoolKey, TurnId, Uid};

use super::*;
use crate::NodeIPAM;
use crate::agent::sample::agent_with;
use crate::away::AbsentServer;

fn me() -> HolderIdentity {
    HolderIdentity { name: "n1".into(), uid: Uid(1), machine: MachineHash(1), boot: Uid(2) }
}

fn claim(kind: ClaimKind, name: impl Into<String>) -> ClaimName {
    ClaimName { kind, namespace: "default".to_owned(), name: name.into() }
}

fn pod(name: &str) -> ClaimingPod {
    ClaimingPod { name: format!("default/{name}"), guest: None }
}

/// The node's turn with an address of 10.0.0.0/16.
fn held(number: usize) -> HeldLease {
    let (claim, pod) =
        (claim(ClaimKind::Address, format!("held-{number}")), format!("default/held-{number}"));
    let turn = LeaseTurn { claim, turn: TurnId(5), pod, guest: None, addresses: 1 };
    HeldLease {
        name: format!("default.10-0-{}-{}.32", number / 200, number % 200).parse().unwrap(),
        uid: Uid(100),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: Some(turn),
    }
}

/// An agent with so many turns, whose API server has these objects.
async fn holding(
    count: usize,
    objects: Vec<(&str, Value)>,
) -> (AgentCore, tenure_engine::Abandoned, Arc<ManualClock>) {
    let objects: BTreeMap<String, Value> =
        objects.into_iter().map(|(path, object)| (format!("/apis/{path}"), object)).collect();
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, objects);
    let clock = Arc::new(ManualClock::default());
    let (core, abandoned) = agent_with(server.client(), clock.clone(), 1).await;
    for number in 0..count {
        core.record(&held(number)).await.unwrap();
    }
    (core, abandoned, clock)
}

/// The answer to a pod that asks for a claim.
fn answer(core: &AgentCore, claim: &ClaimName) -> Option<String> {
    core.state().asked[claim].wait.as_ref().map(ToString::to_string)
}

#[tokio::test]
async fn of_too_many_turns_one_that_no_pod_uses_goes() {
    let path = "ipam.tenure.dev/v1alpha1/namespaces/default/addressclaims/new";
    let object = json!({
        "metadata": { "name": "new", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": "default.10-0-9-9.32" },
    });
    let (core, _abandoned, _) = holding(MAX_HELD, vec![(path, object)]).await;
    // The pods of all but one have just come.
    let (now, unused) = (core.now(), 77);
    for lease in (0..MAX_HELD).filter(|number| *number != unused).map(held) {
        let turn = lease.turn.unwrap();
        core.state().taken.insert(turn.claim, (turn.pod, now));
    }
    let new = claim(ClaimKind::Address, "new");
    core.ask(&new, &pod("new"));
    core.claims(&me()).await.unwrap();
    let turns = core.claim_turns();
    let wanted: Vec<_> = turns.iter().filter(|turn| turn.state == TurnState::Wanted).collect();
    assert_eq!((turns.len(), wanted.len(), answer(&core, &new)), (MAX_HELD, 1, None));
    assert!(turns.iter().all(|turn| turn.block != held(unused).name));
}

#[tokio::test]
async fn a_claim_with_two_addresses_does_not_step_over_the_limit() {
    let block = |name: &str, cidr: &str| {
        let spec = json!({
            "group": "default", "cidr": cidr, "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() },
        });
        json!({ "metadata": { "name": name }, "spec": spec })
    };
    let blocks =
        [block("default.10-0-9-9.32", "10.0.9.9/32"), block("default.fd00-0-0-0-0-0-0-9.128", "fd00::9/128")];
    let object = json!({
        "metadata": { "name": "vm", "uid": Uid(9).to_string() }, "spec": { "network": "pods", "interface": "net1" },
        "status": { "ips": ["10.0.9.9/24", "fd00::9/64"] },
    });
    let objects = vec![
        ("k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/vm", object),
        ("ipam.tenure.dev/v1alpha1/ipblocks", json!({ "metadata": {}, "items": blocks })),
    ];
    let (core, _abandoned, clock) = holding(MAX_HELD - 1, objects).await;
    let now = core.now();
    for turn in (0..MAX_HELD - 1).filter_map(|number| held(number).turn) {
        core.state().taken.insert(turn.claim, (turn.pod, now));
    }
    let vm = claim(ClaimKind::Ipam, "vm");
    core.ask(&vm, &pod("vm"));
    core.claims(&me()).await.unwrap();
    assert_eq!(core.claim_turns().len(), MAX_HELD - 1);
    let why = "claim default/vm has no address: this node has 256 addresses of claims, which is the most";
    assert_eq!(answer(&core, &vm).as_deref(), Some(why));
    // A pod is gone.
    core.state().taken.remove(&held(3).turn.unwrap().claim);
    clock.advance(Duration::from_secs(1));
    core.claims(&me()).await.unwrap();
    assert_eq!(core.claim_turns().len(), MAX_HELD);
}

#[tokio::test]
async fn a_pod_learns_that_the_address_of_its_claim_was_excluded() {
    let path = "ipam.tenure.dev/v1alpha1/namespaces/default/addressclaims/held-3";
    let object = json!({
        "metadata": { "name": "held-3", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": "default.10-0-0-3.32" },
    });
    let (core, _abandoned, _) = holding(5, vec![(path, object)]).await;
    let pool = json!({
        "name": "names", "uid": Uid(7).to_string(), "generation": 1, "forClaims": true,
        "exclusions": [{ "cidr": "10.0.0.0/29" }],
    });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let told = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
    core.state().see(Some(serde_json::from_value::<NodeIPAM>(told).unwrap()));
    let excluded = claim(ClaimKind::Address, "held-3");
    core.ask(&excluded, &pod("held-3"));
    core.claims(&me()).await.unwrap();
    assert_eq!(
        answer(&core, &excluded).unwrap(),
        "10.0.0.3 of claim default/held-3 is excluded in AddressPool names: take it out of the exclusions, or make the claim again"
    );
}
