use serde_json::{Value, json};
use tenure_cluster::objects::reference::ClaimReference;
use tenure_leases::{PoolKey, RangeId, Uid};

use super::*;
use crate::decide::held;
use crate::decide::sample::{NOW, host, leader, pool, said, space};
use crate::view::{HostView, KeptObject, ViewSources, view};

const BLOCK: &str = "default.10-0-0-9.32";

fn turn(turn: u64, state: &str) -> Value {
    json!({ "block": BLOCK, "turn": TurnId(turn).to_string(), "state": state, "pod": "default/web-0" })
}

/// The block of a claim, which has lost the turn that it named.
fn block() -> KeptObject<BlockView> {
    let claim = ClaimReference {
        kind: "AddressClaim".into(),
        namespace: "default".into(),
        name: "web-0".into(),
        uid: Uid(50).to_string(),
    };
    let (group, cidr) = ("default".to_owned(), "10.0.0.9/32".parse().unwrap());
    let pool = PoolKey { name: "pods".into(), uid: Uid(1) };
    let mut object = ClaimLease { group, cidr, range: RangeId(1), pool, claim }.object().unwrap();
    object.metadata.uid = Some(Uid(51).to_string());
    object.metadata.resource_version = Some("1".into());
    KeptObject::of(object)
}

/// The node whose turn begins, of one that holds the address and whose Node is this one, and of another that wants it.
fn begins(holders_node: Option<KeptObject<HostView>>, memory: &OperatorMemory) -> Option<String> {
    let view = view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/28", 32)],
        spaces: vec![space("Claims", "10.0.0.0/28", 32)],
        blocks: vec![block()],
        said: vec![said(1, Uid(11), 0, &[turn(7, "Held")]), said(2, Uid(12), 0, &[turn(8, "Wanted")])],
        hosts: holders_node.into_iter().chain([host(2, Uid(12))]).collect(),
        ..ViewSources::default()
    });
    assert!(
        view.unreadable.is_empty() && view.left_out.is_empty(),
        "{:?} {:?}",
        view.unreadable,
        view.left_out
    );
    let facts = ClaimFacts {
        staying: ["00000000-0000-0000-0000-000000000032"].into(),
        ..ClaimFacts::gather(&view, memory)
    };
    claims(&view, (&facts, &held::claims(&view, memory)), memory, NOW).into_iter().find_map(|write| {
        match write {
            OperatorWrite::BeginTurn(_, entry) => Some(entry.node_name),
            _ => None,
        }
    })
}

#[test]
fn a_turn_that_was_lost_is_given_back_to_the_node_that_holds_the_address() {
    let mut memory = leader();
    let lives = host(1, Uid(11));
    // Its kubelet has just registered again, and its agent has not said so yet.
    let registered_again = host(1, Uid(13));
    let is_replaced = host(3, Uid(11));
    for node in [
        Some(lives.clone()),
        Some(registered_again),
        Some(KeptObject { name: "n1".into(), ..is_replaced }),
        None,
    ] {
        assert_eq!(begins(node.clone(), &memory).as_deref(), Some("n1"), "{node:?}");
    }
    // The quarantine of a node that is gone is over.
    memory.ends_turn(TurnId(7));
    assert_eq!(begins(None, &memory).as_deref(), Some("n2"));
    assert_eq!(begins(Some(lives), &memory).as_deref(), Some("n1"), "it lives after all");
}

/// The address that a claim gets, while a node that is not the pool's says so much of each.
fn leased_beside(state: &str) -> Option<String> {
    let (memory, block) = (leader(), |address: u64| format!("default.10-0-0-{address}.32"));
    let turn = |address: u64| json!({ "block": block(address), "turn": TurnId(address).to_string(), "state": state, "pod": "default/p" });
    let turns: Vec<Value> = (1..=6).map(turn).collect();
    let metadata = json!({
        "name": "web-0", "namespace": "default", "uid": Uid(50).to_string(), "resourceVersion": "1",
        "generation": 1,
    });
    let claim = json!({ "metadata": metadata, "spec": { "pool": "pods" } });
    let view = view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/29", 32)],
        spaces: vec![space("Claims", "10.0.0.0/29", 32)],
        claims: vec![KeptObject::of(serde_json::from_value(claim).unwrap())],
        said: vec![said(1, Uid(11), 0, &turns)],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let facts = ClaimFacts::gather(&view, &memory);
    let held = held::claims(&view, &memory);
    claims(&view, (&facts, &held), &memory, NOW).into_iter().find_map(|write| match write {
        OperatorWrite::GrantClaim(lease) => Some(lease.cidr.to_string()),
        _ => None,
    })
}

#[test]
fn what_a_node_wants_keeps_no_address_from_a_claim_and_what_it_has_does() {
    assert_eq!(leased_beside("Wanted").as_deref(), Some("10.0.0.1/32"));
    assert_eq!(leased_beside("Held"), None);
}
