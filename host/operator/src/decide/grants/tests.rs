use super::*;
use crate::decide::sample::{NOW, host, leader, pool, said, space};
use crate::view::{ViewSources, view};
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
    let first = grants(&view, &mut memory, NOW.elapsed);
    assert_eq!((nodes(&first).len(), first.postponed.len(), first.waiting.len()), (MAX_GRANTS, 100, 0));
    assert!(first.postponed.iter().all(|node| !nodes(&first).contains(&**node)));
    assert_eq!(first.served.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), nodes(&first));
    assert_eq!(first.wanting.len(), MAX_GRANTS + 100, "all of them count as waiting");
    // The others come first in the next pass, whether or not the first ones have theirs.
    let second = grants(&view, &mut memory, NOW.elapsed);
    assert!(first.postponed.iter().all(|node| nodes(&second).contains(&**node)));
}

#[test]
fn a_pass_that_grants_nothing_more_still_says_who_waits_for_a_pool() {
    // There are twelve blocks more than one pass grants: none of the others knows yet whether it gets one.
    let (view, mut memory) = (wanting(MAX_GRANTS + 100, "10.0.0.0/21"), leader());
    let full = grants(&view, &mut memory, NOW.elapsed);
    assert_eq!((nodes(&full).len(), full.postponed.len(), full.waiting.len()), (MAX_GRANTS, 100, 0));
    let (view, mut memory) = (wanting(MAX_GRANTS + 100, "10.0.0.0/22"), leader());
    let exhausted = grants(&view, &mut memory, NOW.elapsed);
    let reasons: BTreeSet<&str> =
        exhausted.waiting.values().flat_map(BTreeMap::values).map(|wait| wait.reason).collect();
    assert_eq!((nodes(&exhausted).len(), exhausted.postponed.len()), (256, 0));
    assert_eq!(reasons, [EXHAUSTED].into());
}

#[test]
fn each_cell_is_granted_once_and_the_last_one_is_found() {
    let (view, mut memory) = (wanting(300, "10.0.0.0/22"), leader());
    let decisions = grants(&view, &mut memory, NOW.elapsed);
    let cell = |write: &OperatorWrite| match write {
        OperatorWrite::Grant(lease) => lease.cidr,
        other => panic!("{other:?}"),
    };
    let cells: BTreeSet<IpNet> = decisions.writes.iter().map(cell).collect();
    assert_eq!((cells.len(), decisions.writes.len()), (256, 256));
}
