use crate::operator::fence::{FetchedNode, NodeEvidence};
use crate::operator::held::{ClaimantState, HeldCase, HeldVerdict, heir, is_contested, judge_missing};
use crate::tests::sample;
use crate::{HeldBlock, LeasePool, LeaseRules, MarkAck, MarkAnswer, MarkId, NodeIpamSpec, RangeId, Uid};

fn said() -> NodeIpamSpec {
    let block = sample::block();
    NodeIpamSpec {
        held: vec![HeldBlock { cidr: block.cidr, uid: block.uid, group: None }],
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
    let (space, mut closed, words) = (sample::space(), sample::space(), said());
    let case = HeldCase {
        space: &space,
        cidr: sample::block().cidr,
        said: &words,
        claimant: ClaimantState::Alive,
        pool: Some(&pool),
        selected: true,
        ended: false,
        is_unclear: false,
        counted: 2,
        foreign_cells: 0,
    };
    let judge = |case: HeldCase<'_>| judge_missing(LeaseRules::ALL, &case);
    let fenced = HeldCase { claimant: ClaimantState::Fenced, selected: false, ..case };
    assert_eq!(judge(case), HeldVerdict::Reclaim);
    // A quota may have been lowered since the grants: it keeps a lease from being made again, and gives nothing away.
    assert_eq!(judge(HeldCase { counted: 3, ..case }), HeldVerdict::AboveQuota);
    assert_eq!(judge(HeldCase { pool: Some(&unlimited), counted: 255, ..case }), HeldVerdict::Reclaim);
    assert_eq!(judge(HeldCase { pool: Some(&unlimited), counted: 256, ..case }), HeldVerdict::AboveQuota);
    assert_eq!(judge(HeldCase { is_unclear: true, ..case }), HeldVerdict::Taken);
    assert_eq!(judge(HeldCase { pool: None, ..case }), HeldVerdict::Foreign);
    assert_eq!(judge(HeldCase { said: &NodeIpamSpec::of(sample::holder()), ..case }), HeldVerdict::Free);
    // A selector that was changed, or is again what it was, frees nothing.
    assert_eq!(judge(HeldCase { selected: false, ..case }), HeldVerdict::Taken);
    // Nor does a Node that is gone, or was registered again.
    assert_eq!(judge(fenced), HeldVerdict::Reclaim);
    assert_eq!(judge(HeldCase { ended: true, ..fenced }), HeldVerdict::Ignored);
    assert_eq!(judge(HeldCase { counted: 3, ..fenced }), HeldVerdict::AboveQuota);
    assert_eq!(judge(HeldCase { ended: true, ..case }), HeldVerdict::Reclaim);
    assert_eq!(judge(HeldCase { claimant: ClaimantState::Unsure, ..case }), HeldVerdict::Taken);
    let released = NodeIpamSpec { acks: ack(MarkAnswer::Ready), ..said() };
    assert_eq!(judge(HeldCase { said: &released, ..case }), HeldVerdict::Free);
    assert_eq!(judge(HeldCase { said: &released, ..fenced }), HeldVerdict::Free);
    let cordoned = NodeIpamSpec { acks: ack(MarkAnswer::Cordoned), ..said() };
    assert_eq!(judge(HeldCase { said: &cordoned, ..case }), HeldVerdict::Reclaim);
    closed.close(RangeId(1)).unwrap();
    // With its lease, it is asked back, and the range can go.
    assert_eq!(judge(HeldCase { space: &closed, ..case }), HeldVerdict::Reclaim);
}

#[test]
fn a_block_that_is_no_cell_keeps_what_it_overlaps_within_bounds() {
    let (space, pool) = (sample::space(), LeasePool::new(sample::pool()));
    let judge = |cidr: &str, foreign_cells| {
        let cidr = cidr.parse().unwrap();
        let said = NodeIpamSpec { held: vec![HeldBlock { cidr, uid: Uid(1), group: None }], ..said() };
        let case = HeldCase {
            space: &space,
            cidr,
            said: &said,
            claimant: ClaimantState::Alive,
            pool: Some(&pool),
            selected: true,
            ended: false,
            is_unclear: false,
            counted: 0,
            foreign_cells,
        };
        judge_missing(LeaseRules::ALL, &case)
    };
    assert_eq!(judge("10.0.0.0/25", 4094), HeldVerdict::Foreign);
    assert_eq!(judge("10.0.0.0/25", 4095), HeldVerdict::Ignored);
    assert_eq!(judge("10.0.0.96/27", 0), HeldVerdict::Foreign);
    assert_eq!(judge("10.1.0.0/26", 0), HeldVerdict::Ignored, "no block has its addresses");
    assert_eq!(space.cells_of("10.0.0.0/8".parse().unwrap()), 4, "the range has no more");
    assert_eq!(space.cells_of("10.0.0.0/25".parse().unwrap()), 2);
    assert_eq!(space.cells_of("10.0.0.96/27".parse().unwrap()), 1);
}

#[test]
fn a_claimant_is_what_its_node_says() {
    let me = sample::holder();
    let node = NodeEvidence {
        uid: me.uid,
        machine: me.machine,
        boot: me.boot,
        out_of_service: false,
        fenced: None,
        ready: false,
    };
    let of = |node| ClaimantState::of(&said(), node);
    let found = |change: fn(&mut NodeEvidence)| {
        let mut node = node;
        change(&mut node);
        of(FetchedNode::Found(node))
    };
    assert_eq!(of(FetchedNode::Unreachable), ClaimantState::Unsure);
    assert_eq!(of(FetchedNode::Missing), ClaimantState::Fenced);
    assert_eq!(found(|_| ()), ClaimantState::Alive);
    assert_eq!(found(|node| node.boot.0 += 1), ClaimantState::Alive);
    assert_eq!(found(|node| node.uid.0 += 1), ClaimantState::Unsure);
    assert_eq!(found(|node| node.machine.0 += 1), ClaimantState::Fenced);
    assert_eq!(found(|node| node.out_of_service = true), ClaimantState::Fenced);
    assert_eq!(found(|node| node.fenced = Some(node.uid)), ClaimantState::Fenced);
    assert_eq!(found(|node| node.fenced = Some(Uid(77))), ClaimantState::Alive);
}

#[test]
fn a_lost_lease_is_made_again_for_the_one_that_lives() {
    use ClaimantState::{Alive, Fenced, Unsure};
    use HeldVerdict::{Ignored, Reclaim, Taken};
    assert_eq!(heir(&[]), None);
    assert_eq!(heir(&[(Alive, Reclaim)]), Some(0));
    assert_eq!(heir(&[(Alive, Taken)]), None);
    assert_eq!(heir(&[(Alive, Ignored), (Alive, Reclaim)]), Some(1));
    assert_eq!(heir(&[(Alive, Reclaim), (Alive, Reclaim)]), None);
    assert_eq!(heir(&[(Alive, Reclaim), (Unsure, Taken)]), None);
    assert_eq!(heir(&[(Fenced, Reclaim), (Alive, Reclaim)]), Some(1));
    assert_eq!(heir(&[(Fenced, Reclaim), (Alive, Taken)]), None);
    assert_eq!(heir(&[(Fenced, Ignored), (Fenced, Reclaim), (Fenced, Reclaim)]), Some(1));
}

#[test]
fn a_block_is_contested_while_another_machine_holds_it_under_another_uid() {
    let block = sample::block();
    let other = |uid, acks| NodeIpamSpec {
        held: vec![HeldBlock { cidr: block.cidr, uid, group: None }],
        acks,
        ..NodeIpamSpec::of(sample::stranger())
    };
    let contested = |said: &NodeIpamSpec| is_contested(LeaseRules::ALL, &block, [said]);
    assert!(contested(&other(Uid(2), vec![])));
    assert!(!contested(&other(block.uid, vec![])));
    let ready = vec![MarkAck { uid: Uid(2), mark: MarkId(1), answer: MarkAnswer::Ready }];
    assert!(!contested(&other(Uid(2), ready)));
    let held = vec![HeldBlock { cidr: block.cidr, uid: Uid(2), group: None }];
    assert!(!contested(&NodeIpamSpec { held, ..said() }));
}
