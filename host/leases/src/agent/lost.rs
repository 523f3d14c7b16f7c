//! A ledger that was lost while the node's pods live on.
//!
//! ```text
//!   lost ──▶ read NodeIPAM.spec and LIST the node's IPBlocks (quorum) ──▶ rows below ──▶ the runtime's pods are known ──▶ ordinary
//!      nothing is written to NodeIPAM before this line: `held` and `acks` are the only record of what was promised
//!
//!   IPBlock of this node and machine                     becomes
//!   ───────────────────────────────────────────────────────────────────────────────────────────
//!   an answer `ready` stands for its present mark        frozen for that mark: it may be deleted at any moment
//!   any other                                            doubted: no new address, marks are refused(unknown)
//!   of another machine                                   not taken
//! ```
//!
//! Until the pods are known every new mark is refused(unknown), since an empty row would be answered with ready. An answer to a mark that the
//! block no longer has is over: clearing a mark moves the resourceVersion, so nothing can be deleted on it any more, and the node may have used
//! the block since. A block frozen here is used again only by the ordinary row: a quorum GET that shows no mark.

use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::{HolderIdentity, IpBlock, LeaseRule, LeaseRules, MarkAnswer, NodeIpamSpec};

/// Makes the ledger's row of a block after the ledger was lost; `None` if the block is not this machine's.
#[must_use]
pub fn rebuild(
    rules: LeaseRules,
    me: &HolderIdentity,
    block: &IpBlock,
    said: Option<&NodeIpamSpec>,
) -> Option<LedgerBlock> {
    if !block.is_held_by(&me.name, me.machine) {
        return None;
    }
    let mut answers = said.into_iter().flat_map(|said| &said.acks).filter(|ack| ack.uid == block.uid);
    let hold = match answers
        .find(|ack| ack.answer == MarkAnswer::Ready && block.mark.is_some_and(|mark| mark.id == ack.mark))
    {
        Some(ack) if rules.has(LeaseRule::LostStaysFrozen) => LeaseHold::Frozen(ack.mark),
        _ => LeaseHold::Doubted,
    };
    Some(LedgerBlock { cidr: block.cidr, uid: block.uid, hold, usage: BlockUsage::default() })
}

/// Whether the agent may write its half of NodeIPAM.
#[must_use]
pub fn may_write(rules: LeaseRules, lost: bool) -> bool {
    !lost || !rules.has(LeaseRule::LostReadsFirst)
}

/// Ends the doubt about a block once the node's pods are known; the block is then answered for like any other.
///
/// A frozen block has no pods, unless a restored store brought the answer back: then it is cordoned until they are gone.
#[must_use]
pub fn settle(row: LedgerBlock, usage: BlockUsage) -> LedgerBlock {
    let hold = match row.hold {
        LeaseHold::Doubted => LeaseHold::Open,
        LeaseHold::Frozen(mark) if !usage.is_empty() => LeaseHold::Cordoned(mark),
        hold => hold,
    };
    LedgerBlock { hold, usage, ..row }
}
