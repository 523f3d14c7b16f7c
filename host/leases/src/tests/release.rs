use crate::block::RefusalReason;
use crate::operator::release::{ReleaseCase, ReleaseStep, release};
use crate::tests::sample;
use crate::{BlockHint, IpBlock, LeaseRules, MarkAck, MarkAnswer, MarkId, MarkReason, Uid};

/// Decides about a block with an answer to a mark; the hint agrees.
fn next(block: &IpBlock, acks: &[MarkAck], own: bool, wanted: Option<MarkReason>) -> ReleaseStep {
    let hint = Some(BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark });
    let case = ReleaseCase {
        block,
        hint,
        acks,
        own,
        wanted,
        may_clear: true,
        timed_out: false,
        refused_lately: false,
    };
    release(LeaseRules::ALL, &case)
}

fn ack(answer: MarkAnswer) -> [MarkAck; 1] {
    [MarkAck { uid: sample::block().uid, mark: sample::MARK.id, answer }]
}

const EXCESS: Option<MarkReason> = Some(MarkReason::Excess);

#[test]
fn each_row_of_the_table() {
    use ReleaseStep::{Delete, Mark, RemoveFinalizer, Wait};
    let clear = ReleaseStep::Clear(sample::MARK.id);
    let plain = sample::block();
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    let leaving = IpBlock { deleting: true, ..marked.clone() };
    let ready = ack(MarkAnswer::Ready);
    let refused = ack(MarkAnswer::Refused(RefusalReason::Cooling));
    let cordoned = ack(MarkAnswer::Cordoned);
    assert_eq!(next(&plain, &[], false, EXCESS), Mark(MarkReason::Excess));
    assert_eq!(next(&plain, &[], false, None), Wait);
    let deleted = IpBlock { deleting: true, ..plain.clone() };
    assert_eq!(next(&deleted, &[], false, None), Mark(MarkReason::Drain));
    // Inherited: whatever was answered.
    for acks in [&[][..], &ready, &refused, &cordoned] {
        assert_eq!(next(&marked, acks, false, EXCESS), Mark(MarkReason::Excess));
        assert_eq!(next(&marked, acks, false, None), clear);
        assert_eq!(next(&leaving, acks, false, None), Mark(MarkReason::Drain));
    }
    assert_eq!(next(&marked, &ready, true, EXCESS), Delete);
    assert_eq!(next(&leaving, &ready, true, None), RemoveFinalizer);
    assert_eq!(next(&marked, &refused, true, EXCESS), clear);
    assert_eq!(next(&leaving, &refused, true, None), clear);
    assert_eq!(next(&marked, &cordoned, true, EXCESS), Wait);
    assert_eq!(next(&marked, &[], true, EXCESS), Wait);
    for acks in [&[][..], &ready, &cordoned] {
        assert_eq!(next(&marked, acks, true, None), clear);
    }
}

#[test]
fn an_answer_counts_for_its_mark_and_its_lease_only() {
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    let [ready] = ack(MarkAnswer::Ready);
    for late in [MarkAck { mark: MarkId(4), ..ready }, MarkAck { uid: Uid(2), ..ready }] {
        assert_eq!(next(&marked, &[late], true, EXCESS), ReleaseStep::Wait);
    }
}

#[test]
fn silence_is_never_taken_for_ready_and_ends_a_mark() {
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    let marked_hint = BlockHint { cidr: marked.cidr, uid: marked.uid, mark: marked.mark };
    let case = ReleaseCase {
        block: &marked,
        hint: Some(marked_hint),
        acks: &[],
        own: true,
        wanted: EXCESS,
        may_clear: true,
        timed_out: true,
        refused_lately: false,
    };
    assert_eq!(release(LeaseRules::ALL, &case), ReleaseStep::Clear(sample::MARK.id));
    let plain = sample::block();
    let hint = Some(BlockHint { mark: None, ..marked_hint });
    let lately = ReleaseCase { block: &plain, hint, refused_lately: true, ..case };
    assert_eq!(release(LeaseRules::ALL, &lately), ReleaseStep::Wait);
}

#[test]
fn the_hint_follows_the_block_before_anything_else() {
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    let late = BlockHint { cidr: marked.cidr, uid: marked.uid, mark: None };
    for hint in [None, Some(late), Some(BlockHint { uid: Uid(2), mark: marked.mark, ..late })] {
        let case = ReleaseCase {
            block: &marked,
            hint,
            acks: &ack(MarkAnswer::Ready),
            own: true,
            wanted: EXCESS,
            may_clear: true,
            timed_out: false,
            refused_lately: false,
        };
        let expected = BlockHint { mark: marked.mark, ..late };
        assert_eq!(release(LeaseRules::ALL, &case), ReleaseStep::Hint(expected));
    }
}

#[test]
fn an_answer_that_stands_without_its_mark_is_taken_back_once() {
    let plain = sample::block();
    let ready = ack(MarkAnswer::Ready);
    assert_eq!(next(&plain, &ready, false, None), ReleaseStep::Clear(sample::MARK.id));
    assert_eq!(next(&plain, &ready, false, EXCESS), ReleaseStep::Mark(MarkReason::Excess));
    let cleared = IpBlock { cleared: Some(sample::MARK.id), ..sample::block() };
    assert_eq!(next(&cleared, &ready, false, None), ReleaseStep::Wait);
    assert_eq!(next(&plain, &ack(MarkAnswer::Cordoned), false, None), ReleaseStep::Wait);
}

#[test]
fn nothing_is_taken_back_before_the_barrier() {
    let plain = sample::block();
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    for (block, own) in [(&plain, false), (&marked, false), (&marked, true)] {
        let case = ReleaseCase {
            block,
            hint: Some(BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark }),
            acks: &ack(MarkAnswer::Ready),
            own,
            wanted: None,
            may_clear: false,
            timed_out: true,
            refused_lately: false,
        };
        assert_eq!(release(LeaseRules::ALL, &case), ReleaseStep::Wait);
    }
}

#[test]
fn a_refusal_that_cannot_be_cleared_is_asked_about_again_after_the_delay() {
    let marked = IpBlock { mark: Some(sample::MARK), ..sample::block() };
    let refused = ack(MarkAnswer::Refused(RefusalReason::UnderWay));
    let step = |refused_lately| {
        let case = ReleaseCase {
            block: &marked,
            hint: Some(BlockHint { cidr: marked.cidr, uid: marked.uid, mark: marked.mark }),
            acks: &refused,
            own: true,
            wanted: EXCESS,
            may_clear: false,
            timed_out: false,
            refused_lately,
        };
        release(LeaseRules::ALL, &case)
    };
    assert_eq!(step(true), ReleaseStep::Wait);
    assert_eq!(step(false), ReleaseStep::Mark(MarkReason::Excess));
}
