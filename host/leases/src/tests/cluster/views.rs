//! The model's small objects as the crate's own types.

use ipnet::IpNet;

use super::{Agent, BLOCKS, Bounds, Cluster, Hinted, Hold, Id, Lease, Row, Said};
use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::{
    AddressSpace, BlockHint, BlockMark, BlockPhase, FetchedBlock, HeldBlock, HolderIdentity, IpBlock,
    LeasePool, LeaseRules, MachineHash, MarkAck, MarkId, MarkReason, NodeIpamSpec, ObjectVersion, PoolKey,
    RangeId, RangeState, RangeUse, SpaceRange, Uid,
};

pub(super) const RANGE: RangeId = RangeId(1);

impl Cluster {
    pub(crate) fn new(rules: LeaseRules, bounds: Bounds) -> Self {
        let key = PoolKey { name: "p".into(), uid: Uid(1) };
        let node = |name: &str, number| HolderIdentity {
            name: name.into(),
            uid: Uid(number),
            machine: MachineHash(number),
            boot: Uid(number),
        };
        let range = SpaceRange {
            id: RANGE,
            cidr: "10.0.0.0/24".parse().unwrap(),
            unit: 26,
            usage: RangeUse::Blocks,
            pool: key.clone(),
            state: RangeState::Open,
        };
        let mut space = AddressSpace::default();
        space.add(rules, range).unwrap();
        Self { rules, bounds, nodes: [node("x", 1), node("y", 2)], space, pool: LeasePool::new(key) }
    }

    pub(super) fn block(&self, block: usize, lease: Lease) -> IpBlock {
        IpBlock {
            uid: uid(block, lease.uid),
            version: ObjectVersion(0),
            cidr: cidr(block),
            range: RANGE,
            pool: self.pool.key.clone(),
            holder: self.nodes[lease.node].clone(),
            adopted_node_uid: None,
            phase: BlockPhase::Leased,
            mark: lease.mark.map(mark),
            cleared: (lease.cleared != 0).then(|| mark_id(lease.cleared)),
            deleting: lease.deleting,
            elapsed_seconds: 0,
        }
    }

    pub(super) fn fetched(&self, block: usize, lease: Option<Lease>) -> FetchedBlock {
        lease.map_or(FetchedBlock::Missing, |lease| FetchedBlock::Found(self.block(block, lease)))
    }

    pub(super) fn spec(&self, node: usize, said: &[Said; BLOCKS]) -> NodeIpamSpec {
        let held = said.iter().enumerate().filter(|(_, said)| said.held != 0);
        let acks = said.iter().enumerate().filter_map(|(block, said)| Some((block, said.ack?)));
        NodeIpamSpec {
            identity: self.nodes[node].clone(),
            held: held
                .map(|(block, said)| HeldBlock { cidr: cidr(block), uid: uid(block, said.held), group: None })
                .collect(),
            demand: Vec::new(),
            idle: Vec::new(),
            returned: Vec::new(),
            acks: acks
                .map(|(block, (lease, id, answer))| MarkAck {
                    uid: uid(block, lease),
                    mark: mark_id(id),
                    answer: answer.answer(),
                })
                .collect(),
            pools: Vec::new(),
            claims: Vec::new(),
            heard: None,
        }
    }
}

impl Agent {
    /// The ledger's block. An agent that does not know its pods counts none.
    pub(super) fn ledger(&self, block: usize) -> Option<LedgerBlock> {
        self.rows[block].map(|row| self.view(block, row))
    }

    pub(super) fn usage(&self, block: usize) -> BlockUsage {
        BlockUsage { in_use: u32::from(!self.unsure && self.pods[block]), ..BlockUsage::default() }
    }

    fn view(&self, block: usize, row: Row) -> LedgerBlock {
        let hold = match row.hold {
            Hold::Open => LeaseHold::Open,
            Hold::Cordoned(id) => LeaseHold::Cordoned(mark_id(id)),
            Hold::Frozen(id) => LeaseHold::Frozen(mark_id(id)),
            Hold::Doubted => LeaseHold::Doubted,
            Hold::Contested => LeaseHold::Contested,
        };
        LedgerBlock { cidr: cidr(block), uid: uid(block, row.uid), hold, usage: self.usage(block) }
    }
}

impl Hold {
    pub(super) fn of(hold: LeaseHold) -> Self {
        match hold {
            LeaseHold::Open => Self::Open,
            LeaseHold::Cordoned(mark) => Self::Cordoned(id(mark.0.into())),
            LeaseHold::Frozen(mark) => Self::Frozen(id(mark.0.into())),
            LeaseHold::Doubted => Self::Doubted,
            LeaseHold::Contested => Self::Contested,
        }
    }
}

pub(super) fn hint(block: usize, hinted: Hinted) -> BlockHint {
    BlockHint { cidr: cidr(block), uid: uid(block, hinted.uid), mark: hinted.mark.map(mark) }
}

pub(super) fn cidr(block: usize) -> IpNet {
    let first = u8::try_from(block * 64).expect("four blocks");
    IpNet::new([10, 0, 0, first].into(), 26).expect("a prefix length")
}

/// Numbers are counted for each block; in the world, no two blocks share a uid.
pub(super) fn uid(block: usize, id: Id) -> Uid {
    Uid(block as u128 * 256 + u128::from(id))
}

pub(super) fn mark_id(id: Id) -> MarkId {
    MarkId(id.into())
}

pub(super) fn mark((id, why): (Id, MarkReason)) -> BlockMark {
    BlockMark { id: mark_id(id), why }
}

pub(super) fn id(number: u128) -> Id {
    Id::try_from(number % 256).expect("a small number")
}
