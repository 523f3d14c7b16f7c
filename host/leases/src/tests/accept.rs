use crate::agent::accept::{AcceptCase, AcceptRefusal, accept};
use crate::agent::ledger::{LeaseHold, LedgerBlock};
use crate::tests::sample;
use crate::{
    AddressSpace, BlockHint, BlockPhase, FetchedBlock, HolderIdentity, IpBlock, LeaseRule, LeaseRules,
    MachineHash, RangeId, SpaceError, Uid,
};

fn refusal(fetched: FetchedBlock, space: Option<AddressSpace>) -> Result<(), AcceptRefusal> {
    judge(fetched, space, false, &[], &sample::holder())
}

#[expect(clippy::needless_pass_by_value, reason = "each case makes its own")]
fn judge(
    fetched: FetchedBlock,
    space: Option<AddressSpace>,
    dropped: bool,
    ledger: &[LedgerBlock],
    me: &HolderIdentity,
) -> Result<(), AcceptRefusal> {
    let block = sample::block();
    let hint = BlockHint { cidr: block.cidr, uid: block.uid, mark: None };
    let case =
        AcceptCase { me, hint, block: &fetched, space: space.as_ref(), dropped, ledger, is_full: false };
    accept(LeaseRules::ALL, &case)
}

fn changed(change: impl FnOnce(&mut IpBlock)) -> Result<(), AcceptRefusal> {
    let mut block = sample::block();
    change(&mut block);
    refusal(FetchedBlock::Found(block), Some(sample::space()))
}

#[test]
fn each_check_refuses_on_its_own() {
    use AcceptRefusal::*;
    assert_eq!(changed(|_| ()), Ok(()));
    assert_eq!(changed(|block| block.uid = Uid(2)), Err(Gone));
    assert_eq!(changed(|block| block.cidr = "10.0.0.128/26".parse().unwrap()), Err(OtherAddresses));
    assert_eq!(changed(|block| block.holder.name = "n2".into()), Err(NotMine));
    assert_eq!(changed(|block| block.holder.machine = MachineHash(0)), Err(NotMine));
    assert_eq!(changed(|block| block.holder.uid = Uid(0)), Err(NotMine));
    assert_eq!(changed(|block| block.deleting = true), Err(Leaving));
    assert_eq!(changed(|block| block.phase = BlockPhase::Quarantined), Err(Leaving));
    assert_eq!(changed(|block| block.phase = BlockPhase::Orphaned), Err(Leaving));
    assert_eq!(changed(|block| block.mark = Some(sample::MARK)), Err(Marked));
    let unknown = SpaceError::Unknown(RangeId(9));
    assert_eq!(changed(|block| block.range = RangeId(9)), Err(Space(unknown)));
    // A kubelet that registered again: the operator adopts the block for the new Node.
    let adopted = changed(|block| (block.holder.uid, block.adopted_node_uid) = (Uid(0), Some(Uid(11))));
    assert_eq!(adopted, Ok(()));
}

#[test]
fn nothing_is_accepted_on_hearsay_or_twice() {
    use AcceptRefusal::*;
    let found = || FetchedBlock::Found(sample::block());
    let me = sample::holder();
    assert_eq!(refusal(FetchedBlock::Missing, Some(sample::space())), Err(Gone));
    assert_eq!(refusal(FetchedBlock::Unreachable, Some(sample::space())), Err(NoAnswer));
    assert_eq!(refusal(found(), None), Err(NoAnswer));
    assert_eq!(judge(found(), Some(sample::space()), true, &[], &me), Err(Dropped));
    for held in ["10.0.0.64/26", "10.0.0.0/24", "10.0.0.65/32"] {
        let row = LedgerBlock { cidr: held.parse().unwrap(), ..sample::row(LeaseHold::Open) };
        let refused = judge(found(), Some(sample::space()), false, &[row], &me);
        assert_eq!(refused, Err(Overlaps(row.cidr)));
    }
    let mut closed = sample::space();
    closed.close(RangeId(1)).unwrap();
    assert_eq!(refusal(found(), Some(closed)), Err(Space(SpaceError::Closed(RangeId(1)))));
}

#[test]
fn without_the_space_a_block_of_a_closed_range_would_be_accepted() {
    let block = FetchedBlock::Found(sample::block());
    let mut closed = sample::space();
    closed.close(RangeId(1)).unwrap();
    let hint = BlockHint { cidr: sample::block().cidr, uid: sample::block().uid, mark: None };
    let me = sample::holder();
    let space = Some(&closed);
    let case =
        AcceptCase { me: &me, hint, block: &block, space, dropped: false, ledger: &[], is_full: false };
    assert!(accept(LeaseRules::ALL, &case).is_err());
    assert_eq!(accept(LeaseRules::ALL.without(LeaseRule::SpaceAfterBlock), &case), Ok(()));
}
