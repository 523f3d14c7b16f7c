//! `NodeIPAM`: what a node's agent says (`spec`), and what the operator hints to it (`status`). Each half has one writer.

use std::sync::Arc;

use ipnet::IpNet;

use crate::{
    BlockMark, BlockName, CallId, ClaimTurn, HolderIdentity, IpBlock, MarkAck, MarkAnswer, MarkId, PoolKey,
    Uid,
};

/// The most entries of `held`, as the CRD limits the list. A node has no more blocks, since a restore would give away those that it cannot name.
pub const MAX_HELD: usize = 256;

/// The most AddressPools of a node, as the CRD limits the lists of `pools`.
pub const MAX_POOLS: usize = 128;

/// The most entries of `demand` and `waiting`, as the CRD limits them: one for each pool and family.
pub const MAX_DEMANDS: usize = 2 * MAX_POOLS;

/// A block that the agent's ledger has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HeldBlock {
    /// The addresses.
    pub cidr: IpNet,
    /// The IPBlock's uid under which it was accepted.
    pub uid: Uid,
    /// The overlap group; `None` if the agent is of a version that does not say it.
    pub group: Option<Arc<str>>,
}

/// A node's demand of a pool in one address family. It is written when `want` changes, never because addresses moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolDemand {
    /// The pool.
    pub pool: PoolKey,
    /// Whether it is the demand for IPv6.
    pub is_ipv6: bool,
    /// Addresses in use.
    pub in_use: u32,
    /// Addresses cooling down.
    pub cooling: u32,
    /// The number of blocks that the node wants to hold in all. Absolute: granting twice on one wish cannot add up.
    pub want: u32,
}

/// The settings of a pool that a node has in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolEcho {
    /// The pool's uid.
    pub uid: Uid,
    /// The generation of the pool's spec. A lower one is taken only if the pool itself has it.
    pub generation: u64,
    /// Excluded addresses that are still in use.
    pub excluded_in_use: u32,
}

/// The agent's part of the object; only the agent writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIpamSpec {
    /// The node.
    pub identity: HolderIdentity,
    /// Blocks of the ledger, at most [`MAX_HELD`].
    pub held: Vec<HeldBlock>,
    /// Demand by pool and family.
    pub demand: Vec<PoolDemand>,
    /// Uids of blocks beyond the reserve.
    pub idle: Vec<Uid>,
    /// Uids of leases that the operator hints to the node, and that the node gave up and never accepts: a mark that was taken back after the
    /// answer, or a restore. The operator takes them back whether or not the pool is short.
    pub returned: Vec<Uid>,
    /// Answers to marks. They go when the mark is settled.
    pub acks: Vec<MarkAck>,
    /// Pool settings that are in force.
    pub pools: Vec<PoolEcho>,
    /// The node's turns with addresses of claims.
    pub claims: Vec<ClaimTurn>,
    /// The operator's last call: what is said here was said after it.
    pub heard: Option<CallId>,
}

/// A hint that the agent should look at a block. The IPBlock is the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockHint {
    /// The addresses.
    pub cidr: IpNet,
    /// The IPBlock's uid.
    pub uid: Uid,
    /// The mark on it.
    pub mark: Option<BlockMark>,
}

/// The operator's part of the object; only the operator writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeIpamStatus {
    /// The identity whose blocks count as this node's. The spec alone is not believed: a replacement overwrites it.
    pub accepted: Option<HolderIdentity>,
    /// One hint for each block of the node.
    pub blocks: Vec<BlockHint>,
    /// The call of a leader that doubts the store: each node repeats it in its words, with everything that it holds.
    pub call: Option<CallId>,
}

impl NodeIpamSpec {
    /// The part of a node that holds, wants and answers nothing.
    #[must_use]
    pub fn of(identity: HolderIdentity) -> Self {
        Self {
            identity,
            held: vec![],
            demand: vec![],
            idle: vec![],
            returned: vec![],
            acks: vec![],
            pools: vec![],
            claims: vec![],
            heard: None,
        }
    }

    /// The uid under which the node says it holds these addresses.
    #[must_use]
    pub fn held_uid(&self, cidr: IpNet) -> Option<Uid> {
        self.held.iter().find(|held| held.cidr == cidr).map(|held| held.uid)
    }

    /// The node's turn with a claim's block.
    #[must_use]
    pub fn turn(&self, block: &BlockName) -> Option<&ClaimTurn> {
        self.claims.iter().find(|turn| turn.block == *block)
    }

    /// The answer to one mark on one lease. Answers to other marks are not answers to this one.
    #[must_use]
    pub fn ack(&self, uid: Uid, mark: MarkId) -> Option<MarkAck> {
        self.acks.iter().find(|ack| ack.uid == uid && ack.mark == mark).copied()
    }

    /// Whether it answered ready to a mark on this lease, the present one or another: the block is frozen, or given back.
    #[must_use]
    pub fn gave_up(&self, uid: Uid) -> bool {
        self.acks.iter().any(|ack| ack.uid == uid && ack.answer == MarkAnswer::Ready)
    }

    /// Whether what it says counts for a block: it is the block's machine, under the block's node name.
    #[must_use]
    pub fn counts_for(&self, block: &IpBlock) -> bool {
        block.is_held_by(&self.identity.name, self.identity.machine)
    }
}
