use super::*;
use crate::decide::releases::family_capacity;
use crate::decide::sample::{NOW, host, host_with, leader, leased, pool, pool_with, said, saying, space};
use crate::decide::spaces::RefusedRanges;
use crate::decide::{EXHAUSTED, held, pools};
use crate::view::{OUT_OF_SERVICE, ViewSources, view};
use serde_json::json;
use tenure_leases::Uid;

/// The view of so many nodes that want a block each.
fn wanting(nodes: usize, cidr: &str) -> ClusterView {
    let numbers = || 0..u32::try_from(nodes).unwrap();
    let uid = |number: u32| Uid(100 + u128::from(number));
    view(ViewSources {
        pools: vec![pool("Blocks", cidr, 30)],
        spaces: vec![space("Blocks", cidr, 30)],
        said: numbers().map(|number| said(number, uid(number), 1, &[])).collect(),
        hosts: numbers().map(|number| host(number, uid(number))).collect(),
        ..ViewSources::default()
    })
}

fn decided(view: &ClusterView, memory: &mut OperatorMemory) -> GrantDecisions {
    let claims = held::claims(view, memory);
    grants(view, &claims, memory, NOW.elapsed)
}

fn nodes(decisions: &GrantDecisions) -> BTreeSet<String> {
    let node = |write: &OperatorWrite| match write {
        OperatorWrite::Grant(lease) => lease.holder.name.to_string(),
        other => panic!("{other:?}"),
    };
    decisions.writes.iter().map(node).collect()
}

#[test]
fn nodes_get_their_blocks_in_turn_and_those_that_come_later_are_told_nothing_yet() {
    let (view, mut memory) = (wanting(MAX_GRANTS + 100, "10.0.0.0/20"), leader());
    let first = decided(&view, &mut memory);
    assert_eq!((nodes(&first).len(), first.postponed.len(), first.waiting.len()), (MAX_GRANTS, 100, 0));
    assert!(first.postponed.iter().all(|node| !nodes(&first).contains(&**node)));
    assert_eq!(first.served.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), nodes(&first));
    assert_eq!(first.wanting.len(), MAX_GRANTS + 100, "all of them count as waiting");
    // The others come first in the next pass, whether or not the first ones have theirs.
    let second = decided(&view, &mut memory);
    assert!(first.postponed.iter().all(|node| nodes(&second).contains(&**node)));
}

#[test]
fn a_pass_that_grants_nothing_more_still_says_who_waits_for_a_pool() {
    // There are twelve blocks more than one pass grants: none of the others knows yet whether it gets one.
    let (view, mut memory) = (wanting(MAX_GRANTS + 100, "10.0.0.0/21"), leader());
    let full = decided(&view, &mut memory);
    assert_eq!((nodes(&full).len(), full.postponed.len(), full.waiting.len()), (MAX_GRANTS, 100, 0));
    let (view, mut memory) = (wanting(MAX_GRANTS + 100, "10.0.0.0/22"), leader());
    let exhausted = decided(&view, &mut memory);
    let reasons: BTreeSet<&str> =
        exhausted.waiting.values().flat_map(BTreeMap::values).map(|wait| wait.reason).collect();
    assert_eq!((nodes(&exhausted).len(), exhausted.postponed.len()), (256, 0));
    assert_eq!(reasons, [EXHAUSTED].into());
}

#[test]
fn each_cell_is_granted_once_and_the_last_one_is_found() {
    let (view, mut memory) = (wanting(300, "10.0.0.0/22"), leader());
    let decisions = decided(&view, &mut memory);
    let cell = |write: &OperatorWrite| match write {
        OperatorWrite::Grant(lease) => lease.cidr,
        other => panic!("{other:?}"),
    };
    let cells: BTreeSet<IpNet> = decisions.writes.iter().map(cell).collect();
    assert_eq!((cells.len(), decisions.writes.len()), (256, 256));
}

#[test]
fn a_node_that_is_attested_to_be_off_gets_no_block_and_hears_by_what() {
    let (node, taint) =
        (Uid(100), json!({ "spec": { "taints": [{ "key": OUT_OF_SERVICE, "effect": "NoExecute" }] } }));
    let view = view(ViewSources {
        pools: vec![pool("Blocks", "10.0.0.0/24", 30)],
        spaces: vec![space("Blocks", "10.0.0.0/24", 30)],
        said: vec![said(0, node, 1, &[])],
        hosts: vec![host_with(0, node, &taint)],
        ..ViewSources::default()
    });
    let decisions = decided(&view, &mut leader());
    let reasons: Vec<_> = decisions.waiting.values().flat_map(BTreeMap::values).collect();
    let [only] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert_eq!((decisions.writes.len(), only.reason), (0, "NodeFenced"));
}

/// The grants to a node that wants so many blocks, holds the first so many of two, and has said or not that the first one is cordoned: somebody deletes
/// that one.
fn replacements(want: u32, held: usize, is_cordoned: bool) -> usize {
    let (node, blocks) = (Uid(100), [("10.0.0.0/30", Uid(10)), ("10.0.0.4/30", Uid(11))]);
    let blocks = &blocks[..held];
    let said_held: Vec<_> =
        blocks.iter().map(|(cidr, uid)| json!({ "cidr": cidr, "uid": uid.to_string() })).collect();
    let ack = json!({ "uid": Uid(10).to_string(), "markID": "0000000000000007", "answer": "cordoned" });
    let acks: Vec<_> = is_cordoned.then_some(ack).into_iter().collect();
    let view = view(ViewSources {
        pools: vec![pool("Blocks", "10.0.0.0/24", 30)],
        spaces: vec![space("Blocks", "10.0.0.0/24", 30)],
        said: vec![saying(0, node, want, &json!({ "held": said_held, "acks": acks }))],
        hosts: vec![host(0, node)],
        blocks: blocks.iter().map(|block| leased(0, node, *block, block.1 == Uid(10))).collect(),
        ..ViewSources::default()
    });
    decided(&view, &mut leader()).writes.len()
}

#[test]
fn a_block_that_leaves_is_replaced_once() {
    assert_eq!(replacements(1, 1, false), 1, "the replacement comes first");
    // The node counts both, since nobody has asked for the one that leaves yet.
    assert_eq!(replacements(2, 2, false), 0, "the replacement is there");
    assert_eq!(replacements(1, 2, true), 0);
    assert_eq!(replacements(2, 2, true), 1, "it wants another one besides");
}

/// The view of nodes that want a block each of two blocks, of a pool with more settings.
fn two_blocks(more: &serde_json::Value) -> ClusterView {
    let uid = |number: u32| Uid(100 + u128::from(number));
    view(ViewSources {
        pools: vec![pool_with("Blocks", "10.0.0.0/25", 26, more)],
        spaces: vec![space("Blocks", "10.0.0.0/25", 26)],
        said: (0..20).map(|number| said(number, uid(number), 1, &[])).collect(),
        hosts: (0..20).map(|number| host(number, uid(number))).collect(),
        ..ViewSources::default()
    })
}

#[test]
fn no_block_is_granted_of_which_each_address_is_excluded() {
    let granted = |more: &serde_json::Value| {
        let view = two_blocks(more);
        let writes = decided(&view, &mut leader()).writes;
        let cell = |write: &OperatorWrite| match write {
            OperatorWrite::Grant(lease) => lease.cidr.to_string(),
            other => panic!("{other:?}"),
        };
        let cells: BTreeSet<String> = writes.iter().map(cell).collect();
        // The capacity is what can be granted.
        assert_eq!(cells.len() as u64, family_capacity(&view, (Uid(1), false)).free);
        cells.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(granted(&json!({})), ["10.0.0.0/26", "10.0.0.64/26"]);
    assert_eq!(granted(&json!({ "exclusions": [{ "cidr": "10.0.0.0/26" }] })), ["10.0.0.64/26"]);
    let in_each = json!([{ "start": 8, "end": 63 }]);
    let both = json!({ "exclusions": [{ "start": "10.0.0.60", "end": "10.0.0.71" }], "perBlockExclusions": in_each });
    assert_eq!(granted(&both), ["10.0.0.0/26"]);
    assert_eq!(granted(&json!({ "exclusions": [{ "cidr": "10.0.0.0/25" }] })), [""; 0]);
}

#[test]
fn an_excluded_block_is_replaced_beside_the_quota() {
    let (node, block) = (Uid(100), ("10.0.0.0/26", Uid(10)));
    let replaced = |want: u32, exclusions: &serde_json::Value| {
        let more = json!({ "exclusions": exclusions, "quota": { "maxBlocksPerNode": 1 } });
        let held = json!({ "held": [{ "cidr": block.0, "uid": block.1.to_string() }] });
        let view = view(ViewSources {
            pools: vec![pool_with("Blocks", "10.0.0.0/25", 26, &more)],
            spaces: vec![space("Blocks", "10.0.0.0/25", 26)],
            said: vec![saying(0, node, want, &held)],
            hosts: vec![host(0, node)],
            blocks: vec![leased(0, node, block, false)],
            ..ViewSources::default()
        });
        decided(&view, &mut leader()).writes.len()
    };
    let excluded = json!([{ "cidr": "10.0.0.0/26" }]);
    assert_eq!(
        (replaced(1, &excluded), replaced(2, &excluded)),
        (1, 1),
        "the node counts the block, or does not"
    );
    assert_eq!((replaced(2, &json!([])), replaced(2, &json!([{ "cidr": "10.0.0.0/27" }]))), (0, 0));
}

#[test]
fn a_pool_is_not_exhausted_because_of_a_node_that_gets_none_of_its_blocks() {
    let refused = |more: &serde_json::Value| {
        // Each address is excluded: no block is free.
        let mut more = more.clone();
        more["exclusions"] = json!([{ "cidr": "10.0.0.0/25" }]);
        let view = two_blocks(&more);
        let waiting = decided(&view, &mut leader()).waiting;
        let reasons: BTreeSet<&str> =
            waiting.values().flat_map(BTreeMap::values).map(|wait| wait.reason).collect();
        let status = pools::statuses(&view, &waiting, &RefusedRanges::default(), NOW);
        let [OperatorWrite::PoolStatus(pool)] = status.as_slice() else { panic!("{status:?}") };
        let conditions = pool.status.iter().flat_map(|status| &status.conditions);
        let exhausted = conditions.into_iter().any(|of| of.type_ == "Exhausted" && of.status == "True");
        let notices = pools::notices(&view, &waiting, &RefusedRanges::default()).len();
        (reasons.into_iter().collect::<Vec<_>>().join(" "), exhausted, notices)
    };
    assert_eq!(refused(&json!({})), (EXHAUSTED.to_owned(), true, 1));
    let zone = json!({ "nodeSelector": { "matchLabels": { "zone": "b" } } });
    assert_eq!(refused(&zone), ("NotAdmitted".to_owned(), false, 0));
    assert_eq!(refused(&json!({ "quota": { "maxBlocks": 0 } })), (QUOTA.to_owned(), false, 0));
    assert_eq!(refused(&json!({ "disabled": true })), ("PoolClosed".to_owned(), false, 0));
}
