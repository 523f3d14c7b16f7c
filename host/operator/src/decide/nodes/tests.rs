use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tenure_cluster::NodeIPAM;
use tenure_cluster::convert::ClaimLease;
use tenure_cluster::objects::reference::ClaimReference;
use tenure_leases::{PoolKey, RangeId, TurnId};

use super::*;
use crate::decide::{WaitReason, sample};
use crate::view::{KeptObject, ViewSources, view};

fn said(number: usize) -> KeptObject<SaidView> {
    let object: NodeIPAM = serde_json::from_value(json!({
        "metadata": { "name": format!("n{number}"), "uid": format!("{number:08x}-0000-4000-8000-000000000000"), "resourceVersion": "1" },
        "spec": {
            "nodeUID": "00000000-0000-4000-8000-000000000001", "machine": "00000000000000000000000000000001",
            "bootID": "00000000-0000-4000-8000-000000000002",
        },
    }))
    .unwrap();
    KeptObject::of(object)
}

/// The block of a claim.
fn claimed() -> KeptObject<BlockView> {
    let claim = ClaimReference {
        kind: "AddressClaim".into(),
        namespace: "default".into(),
        name: "db-0".into(),
        uid: Uid(50).to_string(),
    };
    let (group, cidr) = ("default".to_owned(), "10.0.0.9/32".parse().unwrap());
    let pool = PoolKey { name: "pods".into(), uid: Uid(1) };
    let mut block = ClaimLease { group, cidr, range: RangeId(1), pool, claim }.object().unwrap();
    block.metadata.uid = Some(Uid(51).to_string());
    block.metadata.resource_version = Some("1".into());
    KeptObject::of(block)
}

#[test]
fn a_node_is_told_of_taken_addresses_also_where_it_has_the_address_of_a_claim() {
    let taken = |cidr: &str| json!({ "cidr": cidr, "source": "calico", "owner": "pod shop/web-0" });
    let more = json!({ "taken": [taken("10.0.0.9/32"), taken("10.0.0.10/32")] });
    let turn = json!({
        "block": "default.10-0-0-9.32", "turn": TurnId(7).to_string(), "state": "Held", "pod": "default/db-0",
    });
    let view = view(ViewSources {
        pools: vec![sample::pool_with("Claims", "10.0.0.0/28", 32, &more)],
        blocks: vec![claimed()],
        said: vec![sample::said(1, Uid(11), 0, &[turn])],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let told = settings(&view, &view.said["n1"], &[]);
    let excluded: Vec<_> = told.iter().flat_map(|pool| &pool.exclusions).collect();
    assert_eq!(excluded.iter().flat_map(|entry| &entry.cidr).collect::<Vec<_>>(), ["10.0.0.9/32"]);
}

#[test]
fn a_node_is_told_of_no_more_pools_than_the_api_server_takes() {
    let (name, uid) = (|number: u32| format!("p{number}"), |number: u32| Uid(1000 + u128::from(number)));
    let pool = |number: u32| {
        let metadata = json!({
            "name": name(number), "uid": uid(number).to_string(), "resourceVersion": "1", "generation": 1,
        });
        let spec = json!({ "usage": "Blocks", "ipv4": { "cidrs": ["10.0.0.0/28"], "blockPrefix": 30 } });
        let object = json!({ "metadata": metadata, "spec": spec });
        KeptObject::of(serde_json::from_value(object).unwrap())
    };
    let demand = |number: u32| json!({ "pool": name(number), "poolUID": uid(number).to_string(), "family": "IPv4", "want": 1 });
    let demands: Vec<_> = (0..130).map(demand).collect();
    let view = view(ViewSources {
        pools: (0..130).map(pool).collect(),
        said: vec![sample::saying(1, Uid(11), 0, &json!({ "demand": demands }))],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    assert_eq!(settings(&view, &view.said["n1"], &[]).len(), MAX_POOLS);
}

#[test]
fn a_block_leaves_with_the_cidr_of_the_spec_whose_exclusions_the_node_is_told() {
    let leaving = |cidr: &str| {
        // The space is as it was before the edit.
        let view = view(ViewSources {
            pools: vec![sample::pool("Blocks", cidr, 28)],
            spaces: vec![sample::space("Blocks", "10.0.0.0/24", 28)],
            said: vec![sample::said(1, Uid(11), 1, &[])],
            hosts: vec![sample::host(1, Uid(11))],
            blocks: vec![sample::leased(1, Uid(11), ("10.0.0.16/28", Uid(21)), false)],
            ..ViewSources::default()
        });
        hint(&view, &view.said["n1"], &view.blocks[0]).unwrap().leaving
    };
    assert_eq!(["10.0.0.0/24", "10.1.0.0/24"].map(leaving), [false, true]);
}

/// The blocks, of the node and of claims, of which a node is told that they leave, if its pool has this usage and CIDR. It was told so of both before.
fn told_leaving(usage: &str, cidr: &str) -> Vec<String> {
    let turn = json!({
        "block": "default.10-0-0-9.32", "turn": TurnId(7).to_string(), "state": "Held", "pod": "default/db-0",
    });
    let hint = json!({ "name": "default.10-0-0-16.28", "cidr": "10.0.0.16/28", "uid": Uid(21).to_string(), "leaving": true });
    let before = json!({ "blocks": [hint], "claimsLeaving": ["default.10-0-0-9.32"] });
    let view = view(ViewSources {
        pools: vec![sample::pool(usage, cidr, 28)],
        blocks: vec![claimed(), sample::leased(1, Uid(11), ("10.0.0.16/28", Uid(21)), false)],
        said: vec![sample::telling(1, Uid(11), 0, &json!({ "claims": [turn] }), &before)],
        hosts: vec![sample::host(1, Uid(11))],
        ..ViewSources::default()
    });
    let status = status(&view, &view.said["n1"], vec![], sample::NOW);
    let blocks = status.blocks.into_iter().filter(|hint| hint.leaving).map(|hint| hint.name);
    blocks.chain(status.claims_leaving).collect()
}

#[test]
fn the_address_of_a_claim_leaves_like_a_block_and_of_a_pool_that_cannot_be_read_all_is_as_it_was() {
    let both = ["default.10-0-0-16.28", "default.10-0-0-9.32"];
    assert!(told_leaving("Blocks", "10.0.0.0/24").is_empty());
    assert_eq!(told_leaving("Blocks", "10.1.0.0/24"), both);
    assert_eq!(told_leaving("Loans", "10.0.0.0/24"), both, "of a later version");
}

/// The condition of a node that has a block and waits for a second pool, as that says why, if it says that it holds the block or not.
fn ready(reason: &'static str, usage: &str, holds: bool) -> (String, String, usize) {
    let (other, block) = (Uid(5), ("10.0.0.16/28", Uid(21)));
    let metadata =
        json!({ "name": "zone-b", "uid": other.to_string(), "resourceVersion": "1", "generation": 1 });
    let spec = json!({ "usage": usage, "ipv4": { "cidrs": ["10.1.0.0/24"], "blockPrefix": 32 } });
    let second = serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap();
    let demand = |name: &str, uid: Uid| json!({ "pool": name, "poolUID": uid.to_string(), "family": "IPv4", "want": 1 });
    let held = json!({ "cidr": block.0, "uid": block.1.to_string() });
    let held: Vec<_> = holds.then_some(held).into_iter().collect();
    let words = json!({ "demand": [demand("pods", Uid(1)), demand("zone-b", other)], "held": held });
    let view = view(ViewSources {
        pools: vec![sample::pool("Blocks", "10.0.0.0/24", 28), KeptObject::of(second)],
        spaces: vec![sample::space("Blocks", "10.0.0.0/24", 28)],
        said: vec![sample::saying(1, Uid(11), 1, &words)],
        hosts: vec![sample::host(1, Uid(11))],
        blocks: vec![sample::leased(1, Uid(11), block, false)],
        ..ViewSources::default()
    });
    assert!(view.unreadable.is_empty(), "{:?}", view.unreadable);
    let why = WaitReason { reason, message: "the pool is not for this node".to_owned() };
    let waiting = WaitingNodes::from([((other, false), BTreeMap::from([("n1".to_owned(), why)]))]);
    let said = &view.said["n1"];
    let status = status(&view, said, waiting_of(&view, "n1", &waiting), sample::NOW);
    let [ready] = status.conditions.try_into().unwrap();
    (ready.reason, ready.message, status.waiting.len())
}

#[test]
fn a_pool_that_is_not_for_a_node_with_blocks_of_another_does_not_make_it_unready() {
    let (reason, message, entries) = ready("NotAdmitted", "Blocks", true);
    let words = "the node has the blocks that it wants, but of zone-b IPv4 (NotAdmitted)";
    assert_eq!((reason.as_str(), message.as_str(), entries), ("Satisfied", words, 1));
    assert_eq!(ready("PoolClosed", "Blocks", true).0, "Satisfied");
    assert_eq!(ready("PoolExhausted", "Blocks", true).0, "PoolExhausted", "blocks are missing");
    assert_eq!(ready("NotAdmitted", "Blocks", false).0, "NotAdmitted", "the agent has no block yet");
    assert_eq!(ready("NotAdmitted", "Claims", true).0, "NotAdmitted", "a claim's address is no other pool's");
}

#[test]
fn nodes_get_their_statuses_in_turn() {
    let said = (0..MAX_HINTS + 100).map(said).collect();
    let (view, mut memory) =
        (view(ViewSources { said, ..ViewSources::default() }), OperatorMemory::default());
    let now = WriteTime { elapsed: Duration::ZERO, day: Timestamp::UNIX_EPOCH };
    let mut pass = || {
        let facts = ClaimFacts::gather(&view, &memory);
        let (waiting, none) = (WaitingNodes::new(), BTreeSet::new());
        let told = Told { waiting: &waiting, later: [&none, &none], facts: &facts };
        let writes = hints(&view, &told, &mut memory, now);
        let name = |write: OperatorWrite| match write {
            OperatorWrite::Hints(said, _) => said.spec.identity.name.to_string(),
            other => panic!("{other:?}"),
        };
        writes.into_iter().map(name).collect::<BTreeSet<_>>()
    };
    let (first, second) = (pass(), pass());
    assert_eq!((first.len(), second.len()), (MAX_HINTS, MAX_HINTS));
    assert_eq!(first.union(&second).count(), MAX_HINTS + 100);
}
