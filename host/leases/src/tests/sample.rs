//! A node, its block, its pool and its space.

use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::{
    AddressSpace, BlockMark, BlockPhase, HolderIdentity, IpBlock, LeaseRules, MachineHash, MarkId,
    MarkReason, ObjectVersion, PoolKey, RangeId, RangeState, RangeUse, SpaceRange, Uid,
};

pub(crate) const MARK: BlockMark = BlockMark { id: MarkId(5), why: MarkReason::Excess };

pub(crate) fn holder() -> HolderIdentity {
    HolderIdentity { name: "n1".into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) }
}

pub(crate) fn stranger() -> HolderIdentity {
    HolderIdentity { name: "n2".into(), uid: Uid(21), machine: MachineHash(22), boot: Uid(23) }
}

pub(crate) fn pool() -> PoolKey {
    PoolKey { name: "blue".into(), uid: Uid(31) }
}

pub(crate) fn block() -> IpBlock {
    IpBlock {
        uid: Uid(1),
        version: ObjectVersion(100),
        cidr: "10.0.0.64/26".parse().unwrap(),
        range: RangeId(1),
        pool: pool(),
        holder: holder(),
        adopted_node_uid: None,
        phase: BlockPhase::Leased,
        mark: None,
        cleared: None,
        deleting: false,
        elapsed_seconds: 0,
    }
}

pub(crate) fn row(hold: LeaseHold) -> LedgerBlock {
    LedgerBlock { cidr: block().cidr, uid: block().uid, hold, usage: BlockUsage::default() }
}

pub(crate) fn space() -> AddressSpace {
    let mut space = AddressSpace::default();
    let range = SpaceRange {
        id: RangeId(1),
        cidr: "10.0.0.0/24".parse().unwrap(),
        unit: 26,
        usage: RangeUse::Blocks,
        pool: pool(),
        state: RangeState::Open,
    };
    space.add(LeaseRules::ALL, range).unwrap();
    space
}
