use crate::operator::held::{HeldVerdict, is_contested, judge_missing};
use crate::tests::sample;
use crate::{HeldBlock, LeasePool, LeaseRules, MarkAck, MarkAnswer, MarkId, NodeIpamSpec, RangeId, Uid};

fn said() -> NodeIpamSpec {
    let block = sample::block();
    NodeIpamSpec {
        held: vec![HeldBlock { cidr: block.cidr, uid: block.uid }],
        ..NodeIpamSpec::of(sample::holder())
    }
}

fn ack(answer: MarkAnswer) -> Vec<MarkAck> {
    vec![MarkAck { uid: sample::block().uid, mark: MarkId(5), answer }]
}

#[test]
fn a_missing_block_is_believed_within_the_quota_and_on_the_grid() {
    let pool = LeasePool { max_blocks_per_node: Some(3), ..LeasePool::new(sample::pool()) };
    let unlimited = LeasePool::new(sample::pool());
    let cidr = sample::block().cidr;
    let judge = |said: &NodeIpamSpec, pool: Option<&LeasePool>, counted| {
        judge_missing(LeaseRules::ALL, &sample::space(), cidr, said, pool, true, counted)
    };
    assert_eq!(judge(&said(), Some(&pool), 2), HeldVerdict::Reclaim);
    assert_eq!(judge(&said(), Some(&pool), 3), HeldVerdict::Ignored);
    assert_eq!(judge(&said(), Some(&unlimited), 63), HeldVerdict::Reclaim);
    assert_eq!(judge(&said(), Some(&unlimited), 64), HeldVerdict::Ignored);
    assert_eq!(judge(&said(), None, 0), HeldVerdict::Ignored);
    assert_eq!(judge(&NodeIpamSpec::of(sample::holder()), Some(&pool), 0), HeldVerdict::Free);
    // A selector that was changed, or is again what it was, frees nothing.
    let unselected = judge_missing(LeaseRules::ALL, &sample::space(), cidr, &said(), Some(&pool), false, 2);
    assert_eq!(unselected, HeldVerdict::Taken);
    let released = NodeIpamSpec { acks: ack(MarkAnswer::Ready), ..said() };
    assert_eq!(judge(&released, Some(&pool), 0), HeldVerdict::Free);
    let cordoned = NodeIpamSpec { acks: ack(MarkAnswer::Cordoned), ..said() };
    assert_eq!(judge(&cordoned, Some(&pool), 0), HeldVerdict::Reclaim);
    let mut closed = sample::space();
    closed.close(RangeId(1)).unwrap();
    let off = judge_missing(LeaseRules::ALL, &closed, cidr, &said(), Some(&pool), true, 0);
    assert_eq!(off, HeldVerdict::Ignored);
    let other = "10.0.0.0/25".parse().unwrap();
    let wide = NodeIpamSpec { held: vec![HeldBlock { cidr: other, uid: Uid(1) }], ..said() };
    let off = judge_missing(LeaseRules::ALL, &sample::space(), other, &wide, Some(&pool), true, 0);
    assert_eq!(off, HeldVerdict::Ignored);
}

#[test]
fn a_block_is_contested_while_another_machine_holds_it_under_another_uid() {
    let block = sample::block();
    let other = |uid, acks| NodeIpamSpec {
        held: vec![HeldBlock { cidr: block.cidr, uid }],
        acks,
        ..NodeIpamSpec::of(sample::stranger())
    };
    let contested = |said: &NodeIpamSpec| is_contested(LeaseRules::ALL, &block, [said]);
    assert!(contested(&other(Uid(2), vec![])));
    assert!(!contested(&other(block.uid, vec![])));
    let ready = vec![MarkAck { uid: Uid(2), mark: MarkId(1), answer: MarkAnswer::Ready }];
    assert!(!contested(&other(Uid(2), ready)));
    assert!(!contested(&NodeIpamSpec { held: vec![HeldBlock { cidr: block.cidr, uid: Uid(2) }], ..said() }));
}
