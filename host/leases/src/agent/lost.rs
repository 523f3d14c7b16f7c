//! A ledger that was lost while the node's pods live on.
//!
//! ```text
//!   lost ──▶ read NodeIPAM.spec and LIST the node's IPBlocks (quorum) ──▶ rows below ──▶ the runtime's pods are known ──▶ ordinary
//!      nothing is written to NodeIPAM before this line: `held` and `acks` are the only record of what was promised
//!
//!   IPBlock of this node and machine                     becomes
//!   ───────────────────────────────────────────────────────────────────────────────────────────
//!   an answer `ready` stands for it, for whichever mark  frozen for that mark: it may be deleted at any moment
//!   another answer, or a mark                            doubted: no new address, marks are refused(unknown)
//!   neither                                              open
//!   of another machine                                   not taken
//! ```
//!
//! The block frozen here is used again only by the ordinary row: a quorum GET that shows no mark.

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
    let ready = answers.clone().find(|ack| ack.answer == MarkAnswer::Ready);
    let hold = match ready {
        Some(ack) if rules.has(LeaseRule::LostStaysFrozen) => LeaseHold::Frozen(ack.mark),
        Some(_) => LeaseHold::Open,
        None if block.mark.is_some() || answers.next().is_some() => LeaseHold::Doubted,
        None => LeaseHold::Open,
    };
    Some(LedgerBlock { cidr: block.cidr, uid: block.uid, hold, usage: BlockUsage::default() })
}

/// Whether the agent may write its half of NodeIPAM.
#[must_use]
pub fn may_write(rules: LeaseRules, lost: bool) -> bool {
    !lost || !rules.has(LeaseRule::LostReadsFirst)
}

/// Ends the doubt about a block once the node's pods are known; the block is then answered for like any other.
#[must_use]
pub fn settle(row: LedgerBlock, usage: BlockUsage) -> LedgerBlock {
    let hold = if row.hold == LeaseHold::Doubted { LeaseHold::Open } else { row.hold };
    LedgerBlock { hold, usage, ..row }
}
