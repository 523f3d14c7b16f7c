use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::agent::mark::{MarkCase, MarkVerdict, answer};
use crate::block::RefusalReason;
use crate::tests::sample;
use crate::{BlockMark, LeaseRules, MarkAnswer, MarkId, MarkReason, Uid};

fn case(why: MarkReason, row: Option<LedgerBlock>) -> MarkCase {
    MarkCase {
        uid: sample::block().uid,
        mark: BlockMark { id: MarkId(5), why },
        row,
        dropped: false,
        accepting: false,
        lost: false,
        other_open: 1,
        keeps_reserve: true,
    }
}

fn refused(reason: RefusalReason) -> MarkVerdict {
    MarkVerdict::Answer(MarkAnswer::Refused(reason))
}

fn decide(case: MarkCase) -> MarkVerdict {
    answer(LeaseRules::ALL, &case)
}

fn used(hold: LeaseHold, usage: BlockUsage) -> Option<LedgerBlock> {
    Some(LedgerBlock { usage, ..sample::row(hold) })
}

#[test]
fn an_empty_block_is_frozen_and_one_in_use_refused_or_cordoned() {
    let empty = BlockUsage::default();
    let busy = [
        (BlockUsage { in_use: 1, cooling: 1, ..empty }, RefusalReason::InUse),
        (BlockUsage { quarantined: 1, ..empty }, RefusalReason::InUse),
        (BlockUsage { promised: 1, ..empty }, RefusalReason::Claimed),
        (BlockUsage { under_way: 1, ..empty }, RefusalReason::UnderWay),
        (BlockUsage { cooling: 1, ..empty }, RefusalReason::Cooling),
    ];
    for why in MarkReason::ALL {
        assert_eq!(decide(case(*why, used(LeaseHold::Open, empty))), MarkVerdict::Freeze);
    }
    for (usage, reason) in busy {
        let row = used(LeaseHold::Open, usage);
        assert_eq!(decide(case(MarkReason::Excess, row)), refused(reason));
        assert_eq!(decide(case(MarkReason::Drain, row)), MarkVerdict::Cordon);
        assert_eq!(decide(case(MarkReason::Retire, row)), MarkVerdict::Cordon);
    }
}

#[test]
fn the_reserve_and_the_last_open_block_stay() {
    let row = used(LeaseHold::Open, BlockUsage::default());
    let reserve = |why| MarkCase { keeps_reserve: false, ..case(why, row) };
    assert_eq!(decide(reserve(MarkReason::Excess)), refused(RefusalReason::Reserve));
    assert_eq!(decide(reserve(MarkReason::Drain)), MarkVerdict::Freeze);
    let last = |why| MarkCase { other_open: 0, ..case(why, row) };
    assert_eq!(decide(last(MarkReason::Excess)), refused(RefusalReason::Reserve));
    assert_eq!(decide(last(MarkReason::Drain)), refused(RefusalReason::Reserve));
    assert_eq!(decide(last(MarkReason::Retire)), MarkVerdict::Freeze);
}

#[test]
fn a_block_that_is_cordoned_or_frozen_goes_on_from_there() {
    let busy = BlockUsage { in_use: 1, ..BlockUsage::default() };
    for hold in [LeaseHold::Cordoned(MarkId(5)), LeaseHold::Cordoned(MarkId(4))] {
        let last = |usage| MarkCase { other_open: 0, ..case(MarkReason::Drain, used(hold, usage)) };
        assert_eq!(decide(last(busy)), MarkVerdict::Cordon);
        assert_eq!(decide(last(BlockUsage::default())), MarkVerdict::Freeze);
        assert_eq!(decide(case(MarkReason::Excess, used(hold, busy))), refused(RefusalReason::InUse));
    }
    for why in MarkReason::ALL {
        let frozen = used(LeaseHold::Frozen(MarkId(5)), BlockUsage::default());
        let none_left = MarkCase { other_open: 0, keeps_reserve: false, ..case(*why, frozen) };
        assert_eq!(decide(none_left), MarkVerdict::Freeze);
        let other = used(LeaseHold::Frozen(MarkId(4)), BlockUsage::default());
        let while_reading = MarkCase { accepting: true, ..case(*why, other) };
        assert_eq!(decide(while_reading), MarkVerdict::Look);
        assert_eq!(decide(case(*why, used(LeaseHold::Doubted, busy))), refused(RefusalReason::Unknown));
    }
    assert_eq!(decide(case(MarkReason::Drain, used(LeaseHold::Contested, busy))), MarkVerdict::Cordon);
}

#[test]
fn a_lease_without_a_row() {
    let none = case(MarkReason::Excess, None);
    let ready = MarkVerdict::Answer(MarkAnswer::Ready);
    assert_eq!(decide(none), MarkVerdict::Bury);
    assert_eq!(decide(MarkCase { dropped: true, ..none }), ready);
    assert_eq!(decide(MarkCase { accepting: true, dropped: true, ..none }), refused(RefusalReason::UnderWay));
    assert_eq!(decide(MarkCase { lost: true, dropped: true, ..none }), refused(RefusalReason::Unknown));
    // The same addresses under another uid: ready would free what is in use.
    let other = |hold| Some(LedgerBlock { uid: Uid(2), ..sample::row(hold) });
    for hold in [LeaseHold::Open, LeaseHold::Contested, LeaseHold::Doubted, LeaseHold::Cordoned(MarkId(1))] {
        let dropped = MarkCase { dropped: true, ..case(MarkReason::Drain, other(hold)) };
        assert_eq!(decide(dropped), refused(RefusalReason::Unknown), "{hold:?}");
    }
    let frozen = case(MarkReason::Drain, other(LeaseHold::Frozen(MarkId(1))));
    assert_eq!(decide(frozen), MarkVerdict::Bury);
    assert_eq!(decide(MarkCase { dropped: true, ..frozen }), ready);
}

#[test]
fn a_cordoned_block_is_drained_once_it_is_empty_and_says_what_stands() {
    let empty = sample::row(LeaseHold::Cordoned(MarkId(5)));
    assert_eq!(empty.drained(), Some(MarkId(5)));
    assert_eq!(empty.standing_ack().unwrap().answer, MarkAnswer::Cordoned);
    let busy = used(empty.hold, BlockUsage { cooling: 1, ..BlockUsage::default() }).unwrap();
    assert_eq!(busy.drained(), None);
    let frozen = sample::row(LeaseHold::Frozen(MarkId(5)));
    assert_eq!((frozen.drained(), frozen.standing_ack().unwrap().answer), (None, MarkAnswer::Ready));
    assert_eq!(sample::row(LeaseHold::Open).standing_ack(), None);
}
