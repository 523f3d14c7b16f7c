//! The meaning of a node's `held` for a block without an IPBlock, or with somebody else's.
//!
//! ```text
//!   the node lists the block in `held`, and ...                          means
//!   ──────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   the IPBlock with that uid is there                                   its lease; nothing to do
//!   no IPBlock, its answer for that uid is ready                         free: it was released, and `held` is late
//!   no IPBlock, the node is fenced, and this leader ended the lease      ignored: its quarantine is over
//!   no IPBlock, in no range                                              nothing: no block has its addresses
//!   no IPBlock, in a range, but not a cell of one, or of no pool         foreign: no block that overlaps it is granted
//!   the same, above 4096 cells of one node                               ignored, an event says so
//!   no IPBlock, a cell, the node is above its quota (else 256)           taken, an event says so
//!   no IPBlock, a cell, but nothing follows from the Node                taken, until the agent speaks for its Node
//!   no IPBlock, a cell, but the pool's selector does not match           taken; an edit or a restore may have changed the selector
//!   no IPBlock, a cell of several groups, and the agent names none       taken in each
//!   no IPBlock, a cell, within the quota                                 taken; the lost lease is made again for it
//!   an IPBlock of another uid, for the same machine                      its agent takes it over
//!   an IPBlock of another node                                           contested: LeaseConflict; the object's holder is asked back
//! ```
//!
//! A quota bounds what is made again, and not what is taken: it may have been lowered since the grants, and the node's pods use the blocks all the same.
//! So a node that lies keeps as many blocks from others as `held` has entries, and gets no more than its quota.
//!
//! A cell of a closed range is one like any other: with its lease, the block is asked back and the range can go. A block that is not a cell has lost
//! its range with its lease, such as that of a pool that was made again with another block size.
//!
//! A node is *fenced* when its Node is gone, is another machine's, or is attested to be off. The machine may live on all the same, so its lost lease
//! is made again like that of any other node, and what becomes of it is the matter of `operator::fence`: it waits in quarantine. Only this leader
//! knows that such a quarantine is over; its successor may make the lease once more, which lengthens the quarantine and never shortens it. Where a
//! node that lives lists the same block, the lease is made for that one.
//!
//! A restore may bring back the lease of a node that gave the block away. That node has a tombstone for it and answers ready, so asking it back is
//! the ordinary handshake; then the lease of the node that serves the block is made again. Where both serve it, nobody is ready, and the conflict
//! stays visible until one of them has freed its addresses.

use ipnet::IpNet;

use crate::operator::fence::FetchedNode;
use crate::{AddressSpace, IpBlock, LeasePool, LeaseRule, LeaseRules, MarkAnswer, NodeIpamSpec};

/// The weight of one node's word about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeldVerdict {
    /// The node does not hold it.
    Free,
    /// The node says that it holds it, and is not believed.
    Ignored,
    /// The lease that exists, or will be taken over: not free.
    Taken,
    /// The node is above its quota: not free, and no lease is made again.
    AboveQuota,
    /// The block is of no pool: nothing that overlaps it is free, and no lease can be made again.
    Foreign,
    /// The lease is lost and is to be made again.
    Reclaim,
}

/// The most cells of other blocks that one node keeps from being granted by blocks that are not cells: the addresses of 64 blocks of a /26. It may lie.
pub const MAX_FOREIGN_CELLS: u64 = 4096;

impl HeldVerdict {
    /// Whether the node's word keeps the block from being granted.
    #[must_use]
    pub const fn is_believed(self) -> bool {
        match self {
            Self::Free | Self::Ignored => false,
            Self::Taken | Self::AboveQuota | Self::Foreign | Self::Reclaim => true,
        }
    }
}

/// The machine that says it holds a block, as its Node shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimantState {
    /// The Node is there, and nothing is attested about it.
    Alive,
    /// Nothing follows: there is no answer, or the kubelet has registered again and the agent has not said so.
    Unsure,
    /// The Node is gone, is another machine's, or is attested to be off.
    Fenced,
}

impl ClaimantState {
    /// The state of the machine that speaks, by the Node of its name.
    #[must_use]
    pub fn of(said: &NodeIpamSpec, node: FetchedNode) -> Self {
        match node {
            FetchedNode::Unreachable => Self::Unsure,
            FetchedNode::Missing => Self::Fenced,
            FetchedNode::Found(node) if node.machine != said.identity.machine => Self::Fenced,
            FetchedNode::Found(node) if node.uid != said.identity.uid => Self::Unsure,
            FetchedNode::Found(node) if node.out_of_service || node.fenced == Some(node.uid) => Self::Fenced,
            FetchedNode::Found(_) => Self::Alive,
        }
    }
}

/// Everything that decides about a node's `held` for a block without an IPBlock.
#[derive(Debug, Clone, Copy)]
pub struct HeldCase<'a> {
    /// The space of the block's overlap group.
    pub space: &'a AddressSpace,
    /// The block.
    pub cidr: IpNet,
    /// The node's words.
    pub said: &'a NodeIpamSpec,
    /// The machine that speaks.
    pub claimant: ClaimantState,
    /// The pool of the block's range; `None` if there is none.
    pub pool: Option<&'a LeasePool>,
    /// Whether the pool's selector matches the node.
    pub selected: bool,
    /// Whether this leader ended the node's lease of the block since the node was fenced.
    pub ended: bool,
    /// Whether the block may be one of another overlap group, since the agent names none.
    pub is_unclear: bool,
    /// Blocks of the pool and family that are already counted for the node, IPBlocks and `held` together.
    pub counted: u32,
    /// Cells that are already counted for the node, since blocks overlap them that are not cells.
    pub foreign_cells: u64,
}

/// Judges a node's `held` about a block for which there is no IPBlock.
#[must_use]
pub fn judge_missing(rules: LeaseRules, case: &HeldCase<'_>) -> HeldVerdict {
    let Some(uid) = case.said.held_uid(case.cidr) else { return HeldVerdict::Free };
    if case.said.acks.iter().any(|ack| ack.uid == uid && ack.answer == MarkAnswer::Ready) {
        return HeldVerdict::Free;
    }
    let fenced = case.claimant == ClaimantState::Fenced;
    if fenced && (case.ended || !rules.has(LeaseRule::FencedIsTaken)) {
        return HeldVerdict::Ignored;
    }
    let Some(pool) = case.pool.filter(|_| case.space.grid(case.cidr).is_some()) else {
        let cells = case.space.cells_of(case.cidr);
        let is_within = case.foreign_cells.saturating_add(cells) <= MAX_FOREIGN_CELLS;
        return if cells > 0 && is_within { HeldVerdict::Foreign } else { HeldVerdict::Ignored };
    };
    if case.counted >= pool.believed_blocks() && rules.has(LeaseRule::HeldIsTaken) {
        return HeldVerdict::AboveQuota;
    }
    let known = !case.is_unclear && (fenced || (case.claimant == ClaimantState::Alive && case.selected));
    match (rules.has(LeaseRule::HeldIsTaken), rules.has(LeaseRule::Reclaim)) {
        (false, _) => HeldVerdict::Free,
        (true, reclaim) if !reclaim || !known => HeldVerdict::Taken,
        (true, _) => HeldVerdict::Reclaim,
    }
}

/// The position of the node for which a lost lease is made again, among all that list the block: the only one that is not fenced, else the first
/// that is. `None` if two of them may live, or nothing is to be made again.
#[must_use]
pub fn heir(claims: &[(ClaimantState, HeldVerdict)]) -> Option<usize> {
    let mut living = claims
        .iter()
        .enumerate()
        .filter(|(_, (claimant, verdict))| *claimant != ClaimantState::Fenced && verdict.is_believed());
    match (living.next(), living.next()) {
        (Some((position, (_, HeldVerdict::Reclaim))), None) => Some(position),
        (Some(_), _) => None,
        (None, _) => claims.iter().position(|(_, verdict)| *verdict == HeldVerdict::Reclaim),
    }
}

/// Whether a block is contested: another machine than the holder lists it in `held`, under another uid, and has not answered ready for that.
#[must_use]
pub fn is_contested<'a>(
    rules: LeaseRules,
    block: &IpBlock,
    nodes: impl IntoIterator<Item = &'a NodeIpamSpec>,
) -> bool {
    rules.has(LeaseRule::Contested)
        && nodes.into_iter().any(|said| {
            !said.counts_for(block)
                && said.held_uid(block.cidr).is_some_and(|uid| {
                    uid != block.uid
                        && !said.acks.iter().any(|ack| ack.uid == uid && ack.answer == MarkAnswer::Ready)
                })
        })
}
