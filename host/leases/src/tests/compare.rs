use crate::agent::compare::{CompareVerdict, compare, is_settled};
use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::tests::sample;
use crate::{BlockMark, FetchedBlock, IpBlock, LeaseRules, MarkId, Uid};

const HOLDS: [LeaseHold; 5] = [
    LeaseHold::Open,
    LeaseHold::Cordoned(MarkId(5)),
    LeaseHold::Doubted,
    LeaseHold::Contested,
    LeaseHold::Frozen(MarkId(5)),
];

/// Compares a block in each hold, in the order of [`HOLDS`].
#[expect(clippy::needless_pass_by_value, reason = "each case makes its own")]
fn row(fetched: FetchedBlock) -> [CompareVerdict; 5] {
    HOLDS.map(|hold| compare(LeaseRules::ALL, &sample::holder(), &sample::row(hold), &fetched))
}

#[test]
fn each_row_of_the_table() {
    use CompareVerdict::{Contest, Drop, Keep, Open, Reassert, Rebind, Refreeze};
    let found = |change: fn(&mut IpBlock)| {
        let mut block = sample::block();
        change(&mut block);
        row(FetchedBlock::Found(block))
    };
    assert_eq!(row(FetchedBlock::Unreachable), [Keep; 5]);
    assert_eq!(row(FetchedBlock::Missing), [Reassert, Reassert, Reassert, Drop, Drop]);
    assert_eq!(found(|block| block.cleared = Some(MarkId(5))), [Keep, Open, Keep, Open, Open]);
    assert_eq!(found(|_| ()), [Keep, Open, Keep, Open, Keep]);
    assert_eq!(found(|block| block.cleared = Some(MarkId(4))), [Keep, Open, Keep, Open, Keep]);
    assert_eq!(found(|block| block.deleting = true), [Keep, Keep, Keep, Open, Keep]);
    assert_eq!(found(|block| block.mark = Some(sample::MARK)), [Keep, Keep, Keep, Open, Keep]);
    let other = found(|block| block.mark = Some(BlockMark { id: MarkId(6), ..sample::MARK }));
    assert_eq!(other, [Keep, Keep, Keep, Open, Refreeze(MarkId(6))]);
    let again = Rebind(Uid(2));
    assert_eq!(found(|block| block.uid = Uid(2)), [again, again, Keep, again, Drop]);
    let others = found(|block| (block.uid, block.holder) = (Uid(2), sample::stranger()));
    assert_eq!(others, [Contest, Contest, Keep, Drop, Drop]);
    let cloned = found(|block| block.holder = sample::stranger());
    assert_eq!(cloned, [Contest, Contest, Keep, Drop, Drop]);
    let other_machine = found(|block| block.holder.machine.0 = 0);
    assert_eq!(other_machine, [Contest, Contest, Keep, Drop, Drop]);
    let renamed = found(|block| block.holder.name = "n0".into());
    assert_eq!(renamed, [Contest, Contest, Keep, Drop, Drop]);
    let adopted = found(|block| (block.holder.uid, block.holder.boot) = (Uid(0), Uid(0)));
    assert_eq!(adopted, [Keep, Open, Keep, Open, Keep], "another Node uid or boot is the same holder");
    let replaced = found(|block| (block.uid, block.holder.machine.0) = (Uid(2), 0));
    assert_eq!(replaced, [Contest, Contest, Keep, Drop, Drop]);
}

#[test]
fn a_contested_block_is_kept_while_anything_is_in_it() {
    use CompareVerdict::{Keep, Open, Reassert, Rebind};
    let usages = [
        BlockUsage { in_use: 1, ..BlockUsage::default() },
        BlockUsage { quarantined: 1, ..BlockUsage::default() },
        BlockUsage { cooling: 1, ..BlockUsage::default() },
        BlockUsage { promised: 1, ..BlockUsage::default() },
        BlockUsage { under_way: 1, ..BlockUsage::default() },
    ];
    for usage in usages {
        let row = LedgerBlock { usage, ..sample::row(LeaseHold::Contested) };
        let verdict = |fetched: FetchedBlock| compare(LeaseRules::ALL, &sample::holder(), &row, &fetched);
        let others = IpBlock { uid: Uid(2), holder: sample::stranger(), ..sample::block() };
        assert_eq!(verdict(FetchedBlock::Found(others)), Keep);
        let cloned = IpBlock { holder: sample::stranger(), ..sample::block() };
        assert_eq!(verdict(FetchedBlock::Found(cloned)), Keep);
        assert_eq!(verdict(FetchedBlock::Missing), Reassert);
        assert_eq!(verdict(FetchedBlock::Found(sample::block())), Open);
        let again = IpBlock { uid: Uid(2), ..sample::block() };
        assert_eq!(verdict(FetchedBlock::Found(again)), Rebind(Uid(2)));
    }
}

#[test]
fn a_hint_without_the_mark_is_a_reason_to_look_and_never_more() {
    let (uid, mark) = (sample::block().uid, Some(MarkId(9)));
    for hold in [LeaseHold::Cordoned(MarkId(5)), LeaseHold::Frozen(MarkId(5))] {
        let row = sample::row(hold);
        assert!(is_settled(&row, None) && is_settled(&row, Some((uid, None))));
        assert!(is_settled(&row, Some((Uid(2), mark))) && !is_settled(&row, Some((uid, mark))));
    }
    let open = sample::row(LeaseHold::Open);
    assert!(is_settled(&open, None) && is_settled(&open, Some((Uid(2), None))));
    assert!(!is_settled(&open, Some((uid, mark))));
}
