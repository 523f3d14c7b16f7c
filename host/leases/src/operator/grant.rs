//! Granting a block: which, to whom, and what an answer of the API server means.
//!
//! ```text
//!   demand(want) > blocks of the node ──▶ the checks below ──▶ create IPBlock ──┬─ created ─────────────▶ hint
//!                                              ▲                                ├─ AlreadyExists, mine ─▶ hint
//!                                              └──────── the next candidate ────┴─ AlreadyExists
//! ```
//!
//! "Mine" is a block of the same Node and machine, without a deletionTimestamp and without a mark, in the same range: the create whose reply was
//! lost. Candidates that were never leased come first, then those released longest ago, then by a hash of node and block, which spreads leaders
//! and nodes over the pool.

use ipnet::IpNet;

use crate::node::MAX_HELD;
use crate::operator::held::HeldVerdict;
use crate::{AddressSpace, HolderIdentity, IpBlock, LeasePool, RangeId, SpaceError};

/// A block that nobody holds, as far as the leader's cache tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantCandidate {
    /// The addresses.
    pub cidr: IpNet,
    /// The time of its release, as a count that grows; `None` if it never was leased. Best effort: a successor knows none.
    pub released: Option<u64>,
}

/// Sorts candidates for a node, the best first.
pub fn sort_candidates(node: &str, candidates: &mut [GrantCandidate]) {
    candidates
        .sort_by_cached_key(|candidate| (candidate.released, spread(node, candidate.cidr), candidate.cidr));
}

/// A hash (FNV-1a) of node and block; the same for every leader.
fn spread(node: &str, cidr: IpNet) -> u64 {
    let text = format!("{node} {cidr}");
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Everything that decides whether a node gets a block of a pool, whichever it is.
#[derive(Debug)]
pub struct GrantCase<'a> {
    /// Whether the leader's barrier has passed.
    pub barrier_passed: bool,
    /// The pool.
    pub pool: &'a LeasePool,
    /// Whether the pool's selectors match the node, and nothing fences it.
    pub node_admitted: bool,
    /// The number of blocks that the node wants in all.
    pub want: u32,
    /// IPBlocks of the node in the pool and family, marked ones included.
    pub node_blocks: u32,
    /// The blocks of these that the node may keep, which the quota is about: one that has to go is replaced first.
    pub kept_blocks: u32,
    /// IPBlocks of the node in all pools and families, and blocks that it holds without one.
    pub node_total: usize,
    /// IPBlocks of the pool and family.
    pub pool_blocks: u32,
}

/// Everything that decides whether a block may be granted.
#[derive(Debug)]
pub struct GrantCell<'a> {
    /// The space of the pool's overlap group.
    pub space: &'a AddressSpace,
    /// The range to grant from.
    pub range: RangeId,
    /// The block.
    pub cidr: IpNet,
    /// The verdict on the nodes' `held` about the block.
    pub held: HeldVerdict,
}

/// Why a block is not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantRefusal {
    /// The leader does not know yet what is held.
    #[error("waiting for the nodes to say what they hold")]
    Barrier,
    /// The pool is disabled or being deleted.
    #[error("the pool grants nothing")]
    PoolClosed,
    /// The node is not one of the pool's.
    #[error("the pool is not for this node")]
    NotAdmitted,
    /// The node has as many blocks as it wants.
    #[error("the node has what it wants")]
    Satisfied,
    /// The node's quota is used up. An event says so.
    #[error("the node has its quota of {0} blocks")]
    NodeQuota(u32),
    /// The node has as many blocks, of all pools, as it can say that it holds. An event says so.
    #[error("the node has {MAX_HELD} blocks, which is the most")]
    NodeFull,
    /// The pool's quota is used up.
    #[error("the pool has its quota of {0} blocks")]
    PoolQuota(u32),
    /// Another node holds it, says its ledger.
    #[error("another node holds the block")]
    Held,
    /// The space does not admit it.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// Decides whether a node gets a block of a pool, if one is free. A leader asks before it looks for one: a node that gets none is not told that the pool
/// is exhausted.
///
/// # Errors
/// The first reason against it.
pub fn entitle(case: &GrantCase<'_>) -> Result<(), GrantRefusal> {
    if !case.barrier_passed {
        return Err(GrantRefusal::Barrier);
    }
    if case.pool.disabled || case.pool.deleting {
        return Err(GrantRefusal::PoolClosed);
    }
    if !case.node_admitted {
        return Err(GrantRefusal::NotAdmitted);
    }
    if case.node_blocks >= case.want {
        return Err(GrantRefusal::Satisfied);
    }
    if let Some(quota) = case.pool.max_blocks_per_node.filter(|quota| case.kept_blocks >= *quota) {
        return Err(GrantRefusal::NodeQuota(quota));
    }
    if case.node_total >= MAX_HELD {
        return Err(GrantRefusal::NodeFull);
    }
    if let Some(quota) = case.pool.max_blocks.filter(|quota| case.pool_blocks >= *quota) {
        return Err(GrantRefusal::PoolQuota(quota));
    }
    Ok(())
}

/// Decides whether a leader may create the IPBlock.
///
/// # Errors
/// The first reason against it.
pub fn grant(case: &GrantCase<'_>, cell: &GrantCell<'_>) -> Result<(), GrantRefusal> {
    entitle(case)?;
    cell.space.admit(cell.range, cell.cidr)?;
    if cell.held.is_believed() { Err(GrantRefusal::Held) } else { Ok(()) }
}

/// Whether a block that exists already is the one that this leader, or its predecessor, meant to create for the node.
#[must_use]
pub fn is_mine(node: &HolderIdentity, range: RangeId, block: &IpBlock) -> bool {
    block.is_held_by(&node.name, node.machine)
        && block.names_node(node.uid)
        && block.range == range
        && !block.deleting
        && block.mark.is_none()
}
