use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::decide::sample::{NOW, host, leader, leased, pool_with, saying, space};
use crate::view::{ViewSources, view};

/// A node's Node.
fn node(number: u32) -> Uid {
    Uid(100 + u128::from(number))
}

/// The blocks of nodes that have two each: the number of the node, the addresses, and the lease.
fn pairs(nodes: u32) -> Vec<(u32, String, Uid)> {
    (0..2 * nodes).map(|at| (at / 2, format!("10.0.0.{}/30", at * 4), Uid(1000 + u128::from(at)))).collect()
}

/// The view of nodes that have these blocks of a pool, and say that they hold those of these leases.
fn holding(more: &Value, blocks: &[(u32, String, Uid)], held: impl Fn(Uid) -> bool) -> ClusterView {
    let numbers: BTreeSet<u32> = blocks.iter().map(|(number, ..)| *number).collect();
    let said = |number: u32| {
        let own = blocks.iter().filter(|(of, _, uid)| *of == number && held(*uid));
        let own = own.map(|(_, cidr, uid)| json!({ "cidr": cidr, "uid": uid.to_string() }));
        saying(number, node(number), 2, &json!({ "held": own.collect::<Vec<_>>() }))
    };
    view(ViewSources {
        pools: vec![pool_with("Blocks", "10.0.0.0/24", 30, more)],
        spaces: vec![space("Blocks", "10.0.0.0/24", 30)],
        said: numbers.iter().map(|number| said(*number)).collect(),
        hosts: numbers.iter().map(|number| host(*number, node(*number))).collect(),
        blocks: blocks
            .iter()
            .map(|(number, cidr, uid)| leased(*number, node(*number), (cidr, *uid), false))
            .collect(),
        ..ViewSources::default()
    })
}

/// The marks that a pass writes, each with the lease and its node.
fn marks(decisions: ReleaseDecisions) -> Vec<(Uid, String, BlockMark)> {
    let mark = |write: OperatorWrite| match write {
        OperatorWrite::Block(block, _, _, BlockChange::Mark(mark)) => {
            Some((block.uid, block.holder.name.to_string(), mark))
        }
        _ => None,
    };
    decisions.writes.into_iter().filter_map(mark).collect()
}

#[test]
fn a_block_that_serves_nothing_goes_once_there_is_another_or_its_node_does_not_hold_it() {
    let (all, excluded) = (json!({}), json!({ "exclusions": [{ "cidr": "10.0.0.0/30" }] }));
    let wanted = |more: &Value, blocks: usize, is_held: bool| {
        let mut view = holding(more, &pairs(1)[..blocks], |_| is_held);
        let ranges = marks(releases(&view, &mut leader(), NOW));
        // The same after the CIDR was taken out of the pool.
        let open = view.spaces.get_mut("default").map(Arc::make_mut).unwrap();
        open.space.close(tenure_leases::RangeId(1)).unwrap();
        (ranges.len(), marks(releases(&view, &mut leader(), NOW)).len())
    };
    assert_eq!(wanted(&all, 1, true), (0, 0), "the last open block stays");
    assert_eq!(wanted(&all, 1, false), (0, 1), "the node never accepted it, and never will");
    assert_eq!(wanted(&excluded, 1, true), (0, 0));
    assert_eq!(wanted(&excluded, 1, false), (1, 1));
    assert_eq!(wanted(&excluded, 2, true), (1, 0), "the other one is a replacement while its range is open");
}
