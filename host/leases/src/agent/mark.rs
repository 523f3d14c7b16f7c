//! Answering a mark: the one step in which a block is checked, frozen and recorded.
//!
//! ```text
//!   the ledger has ...                                                  excess              drain               retire
//!   ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   the lease, open, empty                                              freeze, ready       freeze, ready       freeze, ready
//!   the lease, open, in use, quarantined, cooling, promised, under way  refused(reason)     cordon              cordon
//!   the lease, open, and going would break the reserve                  refused(reserve)    by the rows above   by the rows above
//!   the lease, and it is the network's last open block of the family    refused(reserve)    refused(reserve)    by the rows above
//!   the lease, cordoned                                                 refused(reason)     cordoned; empty: freeze, ready
//!   the lease, frozen for this mark                                     ready
//!   the lease, frozen for another mark                                  GET the block; `agent::compare` records the mark that it has
//!   the lease, doubted (the ledger was lost, the pods are not known)    refused(unknown)
//!   the lease, contested                                                empty: freeze, ready; else cordon
//!   other addresses of the same block under another uid                 refused(unknown), and a comparison follows
//!   nothing; the lease is being accepted right now                      refused(underWay)
//!   the ledger was lost, and it or the pods are not known yet            refused(unknown)
//!   nothing; the lease was given back                                   ready
//!   nothing otherwise (a surplus grant, a network that is gone)         tombstone, ready
//! ```
//!
//! The freeze is durable before the answer is written. The rows about the last open block are the agent's, since two leaders that each take one
//! block of two see one left each: only the book counts both. An answer says nothing about another mark.

use crate::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use crate::block::{MarkAnswer, MarkReason, RefusalReason};
use crate::{BlockMark, LeaseRule, LeaseRules, Uid};

/// Everything that decides about a mark.
#[derive(Debug, Clone, Copy)]
pub struct MarkCase {
    /// The marked lease.
    pub uid: Uid,
    /// The mark.
    pub mark: BlockMark,
    /// The block of the ledger with these addresses, under whichever uid.
    pub row: Option<LedgerBlock>,
    /// Whether the lease was given back.
    pub dropped: bool,
    /// Whether an acceptance of these addresses, or a comparison that may change the row, has read and not yet recorded.
    pub accepting: bool,
    /// Whether the ledger was lost, and has not been read back or the node's pods are not known.
    pub lost: bool,
    /// Open blocks of the same network and family besides this one, of whichever pool.
    pub other_open: u32,
    /// Whether the node keeps its reserve of free addresses without this block.
    pub keeps_reserve: bool,
}

/// The agent's answer to a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarkVerdict {
    /// Record the block as frozen for the mark; then the answer is ready.
    Freeze,
    /// Record the block as cordoned for the mark; then the answer is cordoned.
    Cordon,
    /// Record a tombstone for the lease; then the answer is ready.
    Bury,
    /// GET the block: a frozen block is frozen for the mark that the IPBlock has, never for one that only a hint has.
    Look,
    /// Answer; there is nothing to record.
    Answer(MarkAnswer),
}

/// Decides about a mark. The host calls it, and records its verdict, in one critical section of the book.
#[must_use]
pub fn answer(rules: LeaseRules, case: &MarkCase) -> MarkVerdict {
    let refused = |reason| MarkVerdict::Answer(MarkAnswer::Refused(reason));
    if case.lost && rules.has(LeaseRule::LostReadsFirst) {
        return refused(RefusalReason::Unknown);
    }
    let frozen = case.row.is_some_and(|row| row.uid == case.uid && matches!(row.hold, LeaseHold::Frozen(_)));
    if case.accepting && !frozen && rules.has(LeaseRule::AcceptUnderWay) {
        return refused(RefusalReason::UnderWay);
    }
    let Some(row) = case.row.filter(|row| row.uid == case.uid || rules.has(LeaseRule::OtherUid)) else {
        return match (rules.has(LeaseRule::GivenBackIsReady), case.dropped) {
            (false, _) => refused(RefusalReason::Unknown),
            (true, true) => MarkVerdict::Answer(MarkAnswer::Ready),
            (true, false) => MarkVerdict::Bury,
        };
    };
    if row.uid != case.uid {
        return match row.hold {
            // Nothing is in use there, and the lease is over: this one was never accepted.
            LeaseHold::Frozen(_) if case.dropped => MarkVerdict::Answer(MarkAnswer::Ready),
            LeaseHold::Frozen(_) => MarkVerdict::Bury,
            _ => refused(RefusalReason::Unknown),
        };
    }
    match row.hold {
        LeaseHold::Doubted => refused(RefusalReason::Unknown),
        LeaseHold::Frozen(mark) if mark == case.mark.id => MarkVerdict::Freeze,
        LeaseHold::Frozen(_) => MarkVerdict::Look,
        LeaseHold::Cordoned(_) if case.mark.why != MarkReason::Excess => leave(rules, row.usage),
        LeaseHold::Contested => leave(rules, row.usage),
        LeaseHold::Open | LeaseHold::Cordoned(_) => {
            let last = case.other_open == 0 && case.mark.why != MarkReason::Retire;
            let needed = case.mark.why == MarkReason::Excess && !case.keeps_reserve;
            match busy(row.usage) {
                Some(reason) if case.mark.why == MarkReason::Excess && rules.has(LeaseRule::RefuseInUse) => {
                    refused(reason)
                }
                _ if (last && rules.has(LeaseRule::LastBlock)) || needed => refused(RefusalReason::Reserve),
                _ if case.mark.why == MarkReason::Excess => MarkVerdict::Freeze,
                _ => leave(rules, row.usage),
            }
        }
    }
}

/// Freezes an empty block, and cordons another.
fn leave(rules: LeaseRules, usage: BlockUsage) -> MarkVerdict {
    if usage.is_empty() || !rules.has(LeaseRule::CordonDrain) {
        MarkVerdict::Freeze
    } else {
        MarkVerdict::Cordon
    }
}

/// The reason why a block is not empty, the one that lasts longest first.
fn busy(usage: BlockUsage) -> Option<RefusalReason> {
    [
        (usage.in_use.saturating_add(usage.quarantined), RefusalReason::InUse),
        (usage.promised, RefusalReason::Claimed),
        (usage.under_way, RefusalReason::UnderWay),
        (usage.cooling, RefusalReason::Cooling),
    ]
    .into_iter()
    .find_map(|(count, reason)| (count > 0).then_some(reason))
}
