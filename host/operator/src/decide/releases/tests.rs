use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_leases::block::RefusalReason;
use tenure_leases::operator::release::MARK_TIMEOUT_SECONDS;
use tenure_leases::operator::shrink::SELECTOR_SECONDS;
use tenure_leases::{MarkAck, PoolKey, RangeId, SpaceRange};

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

/// The blocks of one node.
fn of_one_node(cidrs: &[&str]) -> Vec<(u32, String, Uid)> {
    (1000..).zip(cidrs).map(|(uid, cidr)| (0, (*cidr).to_owned(), Uid(uid))).collect()
}

#[test]
fn a_block_of_another_pool_replaces_none_that_the_pool_can_replace_itself() {
    let excluded = json!({ "exclusions": [{ "cidr": "10.0.0.0/30" }] });
    let (own, other) = (Uid(1), Uid(5));
    // The second block is of a pool and a range of its own.
    let marked = |more: &Value, uid: Uid, change: fn(&mut ClusterView)| {
        let mut view = holding(more, &of_one_node(&["10.0.0.0/30", "10.1.0.0/30"]), |_| true);
        let (id, pool) = (RangeId(2), PoolKey { name: "more".into(), uid });
        let block = &mut Arc::make_mut(&mut view.blocks[1]).block;
        (block.range, block.pool) = (id, pool.clone());
        let space = view.spaces.get_mut("default").map(Arc::make_mut).unwrap();
        let cidr = "10.1.0.0/24".parse().unwrap();
        let (usage, state) = (RangeUse::Blocks, RangeState::Open);
        space.space.add(LeaseRules::ALL, SpaceRange { id, cidr, unit: 30, usage, pool, state }).unwrap();
        change(&mut view);
        marks(releases(&view, &mut leader(), NOW)).len()
    };
    assert_eq!(marked(&excluded, own, |_| ()), 1);
    assert_eq!(marked(&excluded, other, |_| ()), 0, "it may be another network's");
    let closed = |view: &mut ClusterView| {
        let space = view.spaces.get_mut("default").map(Arc::make_mut).unwrap();
        space.space.close(RangeId(1)).unwrap();
    };
    assert_eq!(marked(&json!({}), other, closed), 1, "the pool has no other range");
    let disabled = |view: &mut ClusterView| Arc::make_mut(&mut view.pools[0]).lease.disabled = true;
    assert_eq!(marked(&excluded, other, disabled), 1);
    let typo = json!({ "matchLabels": { "zone": "typo" } });
    let unmatched = json!({ "exclusions": [{ "cidr": "10.0.0.0/30" }], "nodeSelector": typo });
    assert_eq!(marked(&unmatched, other, |_| ()), 1, "the pool is not for the node");
}

#[test]
fn a_node_that_refused_to_drain_its_last_block_is_asked_again_with_the_next_one() {
    let (excluded, mut memory) = (json!({ "exclusions": [{ "cidr": "10.0.0.0/30" }] }), leader());
    let view = |blocks: &[&str]| holding(&excluded, &of_one_node(blocks), |_| true);
    let two = ["10.0.0.0/30", "10.0.0.4/30"];
    let [(block, _, mark)] = marks(releases(&view(&two), &mut memory, NOW)).try_into().unwrap();
    memory.wrote_mark(mark.id, NOW.elapsed);
    let mut refused = view(&two);
    Arc::make_mut(&mut refused.blocks[0]).block.mark = Some(mark);
    let said = refused.said.get_mut("n0").map(Arc::make_mut).unwrap();
    let answer = MarkAnswer::Refused(RefusalReason::Reserve);
    said.spec.acks.push(MarkAck { uid: block, mark: mark.id, answer });
    let writes = releases(&refused, &mut memory, NOW).writes;
    let is_cleared = |write: &OperatorWrite| matches!(write, OperatorWrite::Block(_, _, _, BlockChange::Clear(id)) if *id == mark.id);
    assert!(writes.iter().any(is_cleared), "{writes:?}");
    memory.cleared(mark.id);
    assert!(marks(releases(&view(&two), &mut memory, NOW)).is_empty(), "the node holds what it held");
    let three = view(&["10.0.0.0/30", "10.0.0.4/30", "10.0.0.8/30"]);
    assert_eq!(marks(releases(&three, &mut memory, NOW)).len(), 1);
}

#[test]
fn a_block_that_drains_goes_on_draining_when_its_replacement_is_asked_back_too() {
    let mut memory = leader();
    let view = || holding(&json!({}), &of_one_node(&["10.0.0.0/30", "10.1.0.0/30"]), |_| true);
    let range = |view: &mut ClusterView, first: RangeState, second: RangeState| {
        Arc::make_mut(&mut view.blocks[1]).block.range = RangeId(2);
        let space = view.spaces.get_mut("default").map(Arc::make_mut).unwrap();
        let (pool, usage) = (view.blocks[1].block.pool.clone(), RangeUse::Blocks);
        let cidr = "10.1.0.0/24".parse().unwrap();
        let range = SpaceRange { id: RangeId(2), cidr, unit: 30, usage, pool, state: RangeState::Open };
        space.space.add(LeaseRules::ALL, range).unwrap();
        for (id, state) in [(RangeId(1), first), (RangeId(2), second)] {
            if state == RangeState::Closed {
                space.space.close(id).unwrap();
            }
        }
    };
    let mut first = view();
    range(&mut first, RangeState::Closed, RangeState::Open);
    let [(block, _, mark)] = marks(releases(&first, &mut memory, NOW)).try_into().unwrap();
    assert_eq!(block, Uid(1000));
    memory.wrote_mark(mark.id, NOW.elapsed);
    // The second edit, after the node's answer or before it.
    let after = |answers: &[MarkAnswer], memory: &mut OperatorMemory| {
        let mut second = view();
        range(&mut second, RangeState::Closed, RangeState::Closed);
        Arc::make_mut(&mut second.blocks[0]).block.mark = Some(mark);
        let said = second.said.get_mut("n0").map(Arc::make_mut).unwrap();
        said.spec.acks.extend(answers.iter().map(|answer| MarkAck {
            uid: block,
            mark: mark.id,
            answer: *answer,
        }));
        let writes = releases(&second, memory, NOW).writes.into_iter();
        writes
            .map(|write| match write {
                OperatorWrite::Block(_, _, _, change) => change,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(after(&[MarkAnswer::Cordoned], &mut memory), []);
    assert_eq!(after(&[], &mut memory), [BlockChange::Clear(mark.id)], "it is open still");
    // Another leader marks it again.
    let remarked = after(&[MarkAnswer::Cordoned], &mut leader());
    assert!(matches!(remarked[..], [BlockChange::Mark(_)]), "{remarked:?}");
}

#[test]
fn a_node_that_does_not_answer_keeps_no_other_from_draining() {
    let (blocks, mut memory) = (pairs(4), leader());
    let selector = json!({ "nodeSelector": { "matchLabels": { "zone": "typo" } } });
    let mut marked: BTreeMap<Uid, BlockMark> = BTreeMap::new();
    // The first two nodes are dead; the others answer within a pass.
    let mut drained: Vec<String> = Vec::new();
    let mut pass = |seconds: u64| {
        let left: Vec<_> =
            blocks.iter().filter(|(of, ..)| !drained.contains(&format!("n{of}"))).cloned().collect();
        let mut view = holding(&selector, &left, |_| true);
        for block in view.blocks.iter_mut().map(Arc::make_mut) {
            block.block.mark = marked.get(&block.block.uid).copied();
        }
        let now = WriteTime { elapsed: Duration::from_secs(seconds), ..NOW };
        for write in releases(&view, &mut memory, now).writes {
            let OperatorWrite::Block(block, _, _, change) = write else { panic!("{write:?}") };
            match change {
                BlockChange::Mark(mark) if ["n0", "n1"].contains(&&*block.holder.name) => {
                    memory.wrote_mark(mark.id, now.elapsed);
                    marked.insert(block.uid, mark);
                }
                BlockChange::Mark(_) => drained.push(block.holder.name.to_string()),
                BlockChange::Clear(mark) => {
                    memory.cleared(mark);
                    marked.remove(&block.uid);
                }
                other => panic!("{other:?}"),
            }
        }
        drained.dedup();
        drained.clone()
    };
    assert!(pass(0).is_empty());
    let mut now = SELECTOR_SECONDS;
    assert!(pass(now).is_empty(), "the first node is asked");
    for _ in 0..2 {
        now += MARK_TIMEOUT_SECONDS;
        assert!(pass(now).is_empty(), "its mark is taken back, unanswered");
        pass(now);
    }
    pass(now);
    assert_eq!(pass(now), ["n2", "n3"]);
}
