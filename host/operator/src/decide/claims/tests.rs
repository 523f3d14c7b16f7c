mod lost;
mod many;
mod unreadable;

use serde_json::{Value, json};
use tenure_cluster::objects::reference::ClaimReference;
use tenure_cluster::{FENCED_ANNOTATION, IPBlock};
use tenure_leases::{MachineHash, PoolKey, RangeId, Uid};

use super::*;
use crate::decide::sample::{NOW, host, host_with, leader, pool, pool_with, said, space};
use crate::decide::{WaitingNodes, held};
use crate::view::{HostView, KeptObject, PoolView, ViewSources, view};

const BLOCK: &str = "default.10-0-0-9.32";

fn turn(turn: u64, state: &str) -> Value {
    json!({ "block": BLOCK, "turn": TurnId(turn).to_string(), "state": state, "pod": "default/web-0" })
}

/// The block of a claim, which has lost the turn that it named.
fn block() -> KeptObject<BlockView> {
    KeptObject::of(block_object())
}

fn block_object() -> IPBlock {
    let claim = ClaimReference {
        kind: "AddressClaim".into(),
        namespace: "default".into(),
        name: "web-0".into(),
        uid: Uid(50).to_string(),
    };
    let (group, cidr) = ("default".to_owned(), "10.0.0.9/32".parse().unwrap());
    let pool = PoolKey { name: "pods".into(), uid: Uid(1) };
    created(&ClaimLease { group, cidr, range: RangeId(1), pool, claim }, Uid(51))
}

/// The block of a lease as it is created.
fn created(lease: &ClaimLease, uid: Uid) -> IPBlock {
    let mut object = lease.object().unwrap();
    object.metadata.uid = Some(uid.to_string());
    object.metadata.resource_version = Some("1".into());
    object
}

/// The node whose turn begins, of one that holds the address and whose Node is this one, and of another that wants it.
fn begins(holders_node: Option<KeptObject<HostView>>, memory: &mut OperatorMemory) -> Option<String> {
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
    let held = held::claims(&view, memory);
    claims(&view, (&facts, &held), memory, NOW).into_iter().find_map(|write| match write {
        OperatorWrite::BeginTurn(_, entry) => Some(entry.node_name),
        _ => None,
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
        assert_eq!(begins(node.clone(), &mut memory).as_deref(), Some("n1"), "{node:?}");
    }
    // The quarantine of a node that is gone is over.
    memory.ends_turn(TurnId(7));
    assert_eq!(begins(None, &mut memory).as_deref(), Some("n2"));
    assert_eq!(begins(Some(lives), &mut memory).as_deref(), Some("n1"), "it lives after all");
}

/// An AddressClaim with this number as its uid.
fn claim(number: u128) -> KeptObject<ClaimView> {
    let metadata = json!({
        "name": format!("web-{number}"), "namespace": "default", "uid": Uid(number).to_string(), "resourceVersion": "1",
        "generation": 1, "finalizers": [CLAIM_FINALIZER],
    });
    let claim = json!({ "metadata": metadata, "spec": { "pool": "pods" } });
    KeptObject::of(serde_json::from_value(claim).unwrap())
}

/// Regression: the status came after the finalizer, at a version that this had ended, and each new claim that waits cost the operator a failed write.
#[test]
fn a_pass_makes_one_write_of_a_claim_that_waits() {
    let writes = |finalizers: Value| {
        let mut memory = leader();
        let metadata = json!({
            "name": "web-0", "namespace": "default", "uid": Uid(50).to_string(), "resourceVersion": "1",
            "generation": 1, "finalizers": finalizers,
        });
        let claim = json!({ "metadata": metadata, "spec": { "pool": "none" } });
        let claims_of_now = vec![KeptObject::of(serde_json::from_value(claim).unwrap())];
        let view = view(ViewSources { claims: claims_of_now, ..ViewSources::default() });
        let (facts, held) = (ClaimFacts::gather(&view, &memory), held::claims(&view, &memory));
        let writes = claims(&view, (&facts, &held), &mut memory, NOW).into_iter();
        let words = writes.map(|write| match write {
            OperatorWrite::ClaimFinalizer(..) => "finalizer",
            OperatorWrite::ClaimStatus(_) => "status",
            _ => "another",
        });
        words.collect::<Vec<_>>()
    };
    assert_eq!(writes(json!([])), ["finalizer"]);
    assert_eq!(writes(json!([CLAIM_FINALIZER])), ["status"]);
}

/// Whether n1, which says that it has the address in turn 7, is asked for it, and whether n2 is, which says so of turn 8, if the block has this status.
fn asked(status: &Value, holders_node: Option<KeptObject<HostView>>, memory: &OperatorMemory) -> [bool; 2] {
    let mut object: IPBlock = block_object();
    object.status = serde_json::from_value(status.clone()).unwrap();
    let turns = [turn(7, "Held"), turn(8, "Held")];
    let view = view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/28", 32)],
        spaces: vec![space("Claims", "10.0.0.0/28", 32)],
        blocks: vec![KeptObject::of(object)],
        said: vec![said(1, Uid(11), 0, &turns[..1]), said(2, Uid(12), 0, &turns[1..])],
        hosts: holders_node.into_iter().chain([host(2, Uid(12))]).collect(),
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let facts = ClaimFacts {
        staying: ["00000000-0000-0000-0000-000000000032"].into(),
        ..ClaimFacts::gather(&view, memory)
    };
    ["n1", "n2"].map(|node| match facts.asked_back(&view, &view.said[node]).as_slice() {
        [] => false,
        blocks => blocks == [BLOCK],
    })
}

#[test]
fn a_node_is_asked_for_an_address_whose_turn_it_does_not_know_to_be_over() {
    let mut memory = leader();
    let entry = |number: u32, turn: u64| {
        let machine = MachineHash::of(&format!("m{number}"), &format!("s{number}")).unwrap();
        json!({
            "nodeName": format!("n{number}"), "nodeUID": Uid(u128::from(10 + number)).to_string(),
            "machine": machine.to_string(), "bootID": Uid(3).to_string(), "turn": TurnId(turn).to_string(),
            "pod": "default/web-0", "since": "2026-01-01T00:00:00Z",
        })
    };
    let lives = || Some(host(1, Uid(11)));
    // n1 was fenced while it lived, and the address went on.
    let others = json!({ "active": entry(2, 8) });
    assert_eq!(asked(&others, lives(), &memory), [true, false]);
    assert_eq!(asked(&others, None, &memory), [true, false]);
    // Before that, its turn is in doubt. It may live, and hears so before the turn ends.
    let doubted = json!({ "active": entry(1, 7), "phase": "Quarantined", "reason": "Annotation" });
    assert!(asked(&doubted, None, &memory)[0]);
    // A turn that the block has lost is given back, unless this leader has ended it.
    assert_eq!(asked(&json!({}), lives(), &memory), [false, false]);
    assert_eq!(asked(&json!({}), None, &memory), [false, false]);
    memory.ends_turn(TurnId(7));
    assert_eq!(asked(&json!({}), None, &memory), [true, false]);
    assert_eq!(asked(&json!({}), lives(), &memory), [false, false], "it lives after all");
    // The two pods of a machine that moves.
    let moves = json!({ "active": entry(2, 8), "alternate": entry(1, 7) });
    assert_eq!(asked(&moves, lives(), &memory), [true, true]);
}

/// The reason for which n2, which wants the address, gets no turn, beside what it has to say besides.
fn waits(more: &Value, node: Option<KeptObject<HostView>>) -> Option<&'static str> {
    let memory = leader();
    let view = view(ViewSources {
        pools: vec![pool_with("Claims", "10.0.0.0/28", 32, more)],
        spaces: vec![space("Claims", "10.0.0.0/28", 32)],
        blocks: vec![block()],
        said: vec![said(2, Uid(12), 0, &[turn(8, "Wanted")])],
        hosts: node.into_iter().collect(),
        ..ViewSources::default()
    });
    let mut waiting = WaitingNodes::new();
    ClaimFacts::gather(&view, &memory).note_waiting(&view, &mut waiting);
    Some(waiting.get(&(Uid(1), false))?.get("n2")?.reason)
}

#[test]
fn a_node_that_gets_no_turn_hears_why() {
    let selector = |operator: &str, values: &[&str]| {
        let expression = json!({ "key": "zone", "operator": operator, "values": values });
        json!({ "nodeSelector": { "matchExpressions": [expression] } })
    };
    let here = || Some(host(2, Uid(12)));
    assert_eq!(waits(&json!({}), here()), None);
    assert_eq!(waits(&selector("In", &["b"]), here()), Some("NotAdmitted"));
    assert_eq!(waits(&selector("Near", &["b"]), here()), Some("InvalidSelector"));
    assert_eq!(waits(&json!({}), None), Some("NotAdmitted"));
    let fenced = json!({ "metadata": { "annotations": { FENCED_ANNOTATION: Uid(12).to_string() } } });
    assert_eq!(waits(&json!({}), Some(host_with(2, Uid(12), &fenced))), Some("NodeFenced"));
}

/// The condition of the claim that has the address, if the address's range is in this state.
fn bound(state: &str) -> (bool, String, String) {
    let mut memory = leader();
    let metadata = |name: &str, uid: u128| json!({ "name": name, "uid": Uid(uid).to_string(), "resourceVersion": "1", "generation": 1 });
    let range = json!({
        "id": "0000000000000001", "cidr": "10.0.0.0/28", "unit": 32, "usage": "Claims", "state": state,
        "pool": { "name": "pods", "uid": Uid(1).to_string() },
    });
    let space = json!({ "metadata": metadata("default", 2), "spec": { "ranges": [range] } });
    let mut claim = json!({ "metadata": metadata("web-0", 50), "spec": { "pool": "pods" } });
    claim["metadata"]["namespace"] = json!("default");
    claim["metadata"]["finalizers"] = json!([CLAIM_FINALIZER]);
    let view = view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/28", 32)],
        spaces: vec![KeptObject::of(serde_json::from_value(space).unwrap())],
        blocks: vec![block()],
        claims: vec![KeptObject::of(serde_json::from_value(claim).unwrap())],
        hosts: vec![host(2, Uid(12))],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let facts = ClaimFacts::gather(&view, &memory);
    let held = held::claims(&view, &memory);
    let writes = claims(&view, (&facts, &held), &mut memory, NOW);
    let status = writes.into_iter().find_map(|write| match write {
        OperatorWrite::ClaimStatus(claim) => claim.status,
        _ => None,
    });
    let status = status.unwrap();
    assert_eq!((status.phase.as_str(), status.address.as_deref()), ("Bound", Some("10.0.0.9")));
    let condition = status.conditions.into_iter().next().unwrap();
    (condition.status == "True", condition.reason, condition.message)
}

#[test]
fn a_claim_whose_address_goes_to_no_further_node_says_so() {
    assert_eq!(bound("Open"), (true, "Leased".into(), "10.0.0.9 is leased to the claim".into()));
    let (is_bound, reason, message) = bound("Closed");
    assert_eq!((is_bound, reason.as_str()), (false, "AddressClosed"));
    assert!(message.contains("AddressPool pods has no CIDR with it any more"), "{message}");
}

/// The address that a claim gets, while a node that is not the pool's says so much of each.
fn leased_beside(state: &str) -> Option<String> {
    let (mut memory, block) = (leader(), |address: u64| format!("default.10-0-0-{address}.32"));
    let turn = |address: u64| json!({ "block": block(address), "turn": TurnId(address).to_string(), "state": state, "pod": "default/p" });
    let turns: Vec<Value> = (1..=6).map(turn).collect();
    let view = view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/29", 32)],
        spaces: vec![space("Claims", "10.0.0.0/29", 32)],
        claims: vec![claim(50)],
        said: vec![said(1, Uid(11), 0, &turns)],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let facts = ClaimFacts::gather(&view, &memory);
    let held = held::claims(&view, &memory);
    claims(&view, (&facts, &held), &mut memory, NOW).into_iter().find_map(|write| match write {
        OperatorWrite::GrantClaim(lease) => Some(lease.cidr.to_string()),
        _ => None,
    })
}

#[test]
fn what_a_node_wants_keeps_no_address_from_a_claim_and_what_it_has_does() {
    assert_eq!(leased_beside("Wanted").as_deref(), Some("10.0.0.1/32"));
    assert_eq!(leased_beside("Held"), None);
}

/// The address that a claim of namespace `default` gets, or the reason for which it waits.
fn answer(pool: KeptObject<PoolView>) -> String {
    let mut memory = leader();
    let view = view(ViewSources {
        pools: vec![pool],
        spaces: vec![space("Claims", "10.0.0.0/29", 32)],
        claims: vec![claim(50)],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let facts = ClaimFacts::gather(&view, &memory);
    let held = held::claims(&view, &memory);
    let writes = claims(&view, (&facts, &held), &mut memory, NOW).into_iter();
    let mut answers = writes.filter_map(|write| match write {
        OperatorWrite::GrantClaim(lease) => Some(lease.cidr.to_string()),
        OperatorWrite::ClaimStatus(object) => Some(object.status.unwrap().conditions[0].reason.clone()),
        _ => None,
    });
    answers.next().unwrap()
}

#[test]
fn a_pool_serves_the_namespaces_that_it_names() {
    let of = |namespaces: Value| {
        answer(pool_with("Claims", "10.0.0.0/29", 32, &json!({ "namespaces": namespaces })))
    };
    assert_eq!(answer(pool("Claims", "10.0.0.0/29", 32)), "10.0.0.1/32");
    assert_eq!(of(json!(["blue", "default"])), "10.0.0.1/32");
    assert_eq!(of(json!(["blue"])), "PoolNotForNamespace");
}

#[test]
fn an_ipam_claim_gets_its_addresses_of_the_pool_for_its_namespace() {
    let pool = |name: &str, uid: u128, namespaces: &[&str]| {
        let metadata = json!({
            "name": name, "uid": Uid(uid).to_string(), "resourceVersion": "1", "generation": 1,
        });
        let spec = json!({
            "usage": "Claims", "networks": ["net"], "namespaces": namespaces,
            "ipv4": { "cidrs": ["10.0.0.0/29"], "blockPrefix": 32 },
        });
        KeptObject::of(serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap())
    };
    let claim = |namespace: &str| {
        let metadata = json!({
            "name": "vm", "namespace": namespace, "uid": Uid(60).to_string(), "resourceVersion": "1",
        });
        let claim = json!({ "metadata": metadata, "spec": { "network": "net", "interface": "net1" } });
        KeptObject::of(serde_json::from_value(claim).unwrap())
    };
    for (namespace, expected) in [("red", "first"), ("blue", "second"), ("green", "first")] {
        let view = view(ViewSources {
            pools: vec![pool("first", 1, &["red"]), pool("second", 2, &["blue"])],
            ipam_claims: Some(vec![claim(namespace)]),
            ..ViewSources::default()
        });
        let [claim] = view.ipam_claims.unwrap().try_into().unwrap();
        assert_eq!(claim.wishes[0].pool, expected, "{namespace}");
    }
}

#[test]
fn an_address_whose_lease_was_lost_is_its_claims_whoever_asks_for_it() {
    let claim = |number: u128, spec: Value, status: Value| {
        let metadata = json!({
            "name": format!("web-{number}"), "namespace": "default", "uid": Uid(number).to_string(), "resourceVersion": "1",
            "generation": 1, "finalizers": [CLAIM_FINALIZER],
        });
        let claim = json!({ "metadata": metadata, "spec": spec, "status": status });
        KeptObject::<ClaimView>::of(serde_json::from_value(claim).unwrap())
    };
    let had = |address: &str| json!({ "observedGeneration": 1, "phase": "Bound", "address": address });
    let plain = json!({ "pool": "pods" });
    let mut memory = leader();
    let view = view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/28", 32)],
        spaces: vec![space("Claims", "10.0.0.0/28", 32)],
        claims: vec![
            claim(50, json!({ "pool": "pods", "address": "10.0.0.9" }), Value::Null),
            claim(51, plain.clone(), Value::Null),
            claim(52, plain.clone(), had("10.0.0.9")),
            claim(53, plain, had("10.0.0.1")),
        ],
        ..ViewSources::default()
    });
    let (facts, held) = (ClaimFacts::gather(&view, &memory), held::claims(&view, &memory));
    let writes = claims(&view, (&facts, &held), &mut memory, NOW);
    let granted = writes.iter().filter_map(|write| match write {
        OperatorWrite::GrantClaim(lease) => Some((lease.claim.name.as_str(), lease.cidr.to_string())),
        _ => None,
    });
    let granted: Vec<_> = granted.collect();
    let expected = [("web-51", "10.0.0.2/32"), ("web-52", "10.0.0.9/32"), ("web-53", "10.0.0.1/32")];
    assert_eq!(granted, expected.map(|(name, address)| (name, address.to_owned())));
    let reason = writes.iter().find_map(|write| match write {
        OperatorWrite::ClaimStatus(object) => {
            Some(object.status.as_ref()?.conditions.first()?.reason.clone())
        }
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("AddressTaken"));
}
