//! The meaning of a node's `held` for a block without an IPBlock, or with somebody else's.
//!
//! ```text
//!   the node lists the block in `held`, and ...                          means
//!   ──────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   the IPBlock with that uid is there                                   its lease; nothing to do
//!   no IPBlock, its answer for that uid is ready                         free: it was released, and `held` is late
//!   no IPBlock, not a cell of an open range, or the Node is not there    ignored, an event says so
//!   no IPBlock, the node is above its quota (else 64)                    ignored, an event says so
//!   no IPBlock, a cell, but the pool's selector does not match           taken; an edit or a restore may have changed the selector
//!   no IPBlock, a cell of an open range, within the quota                taken; the lost lease is made again for it
//!   an IPBlock of another uid, for the same machine                      its agent takes it over
//!   an IPBlock of another node                                           contested: LeaseConflict; the object's holder is asked back
//! ```
//!
//! A restore may bring back the lease of a node that gave the block away. That node has a tombstone for it and answers ready, so asking it back is
//! the ordinary handshake; then the lease of the node that serves the block is made again. Where both serve it, nobody is ready, and the conflict
//! stays visible until one of them has freed its addresses.

use ipnet::IpNet;

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
    /// The lease is lost and is to be made again.
    Reclaim,
}

/// Judges a node's `held` about a block for which there is no IPBlock.
///
/// `pool` is the pool of the block's range, if the node is the one that its Node says, `selected` whether the pool's selector matches it, and
/// `counted` the number of blocks of that pool that are already counted for the node, IPBlocks and `held` together.
#[must_use]
pub fn judge_missing(
    rules: LeaseRules,
    space: &AddressSpace,
    cidr: IpNet,
    said: &NodeIpamSpec,
    pool: Option<&LeasePool>,
    selected: bool,
    counted: u32,
) -> HeldVerdict {
    let Some(uid) = said.held_uid(cidr) else { return HeldVerdict::Free };
    if said.acks.iter().any(|ack| ack.uid == uid && ack.answer == MarkAnswer::Ready) {
        return HeldVerdict::Free;
    }
    let Some(pool) = pool.filter(|_| space.cell(cidr).is_some()) else { return HeldVerdict::Ignored };
    if counted >= pool.believed_blocks() {
        return HeldVerdict::Ignored;
    }
    match (rules.has(LeaseRule::HeldIsTaken), rules.has(LeaseRule::Reclaim)) {
        (false, _) => HeldVerdict::Free,
        (true, reclaim) if !reclaim || !selected => HeldVerdict::Taken,
        (true, _) => HeldVerdict::Reclaim,
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
