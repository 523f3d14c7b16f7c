//! Comparing a block of the ledger with the API server: after each relist, and when a hint no longer agrees with the ledger.
//!
//! ```text
//!   quorum GET of the name              open, cordoned, contested                     frozen
//!   ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   no answer, an error                 keep                                          keep: it never unfreezes by itself
//!   404                                 re-assert in held; an empty contested         drop and tombstone: released
//!                                       block is dropped, and nothing else
//!   same uid, this node and machine:
//!     no mark, not deleting             open (a cordon and a contest end)             open, if the last mark taken back is its own; else keep
//!     no mark, deleting                 keep: the operator will mark it               keep
//!     marked                            keep: the mark is answered by its own table   frozen for that mark, and answered
//!   another uid, this node and machine  take the new uid over                         drop and tombstone, then accept
//!   another holder, whichever uid       contested: no new address, pods stay;         drop and tombstone: released
//!                                       one that is contested and empty is dropped
//! ```
//!
//! The ledger names another holder's lease by its own uid where the node was renamed, where its machine id or system UUID changed, and where its disk was
//! cloned. The operator counts such a block for that holder: if it counted here, too, the node would want as many blocks again with each grant.
//!
//! A frozen block may have been deleted and granted to another node before a restore brought its lease back without a mark, or with one that a
//! leader then takes back. So it opens only when the leader took back the mark that it answered, and leaders take nothing back before every node
//! had time to say what it holds.
//!
//! A doubted block is compared once the node's pods are known; until then a 404 is re-asserted and nothing else is done.
//!
//! 404 and another lease release a block only where it is frozen or contested, and empty. A store that was restored, or a CRD that somebody deleted,
//! therefore takes no address from a pod. An operator notes each difference as a reason to stop granting for 2 minutes.
//!
//! A contested block gives no new address, so once it is empty the node has no use of it. If it went on saying that it holds the block, the conflict
//! might never end: the operator asks the other holder, which refuses while the block is its last open one; and where the IPBlock is lost, too, the
//! lease is made again for neither of two nodes that may live.

use crate::agent::ledger::{LeaseHold, LedgerBlock};
use crate::{FetchedBlock, HolderIdentity, IpBlock, LeaseRule, LeaseRules, MarkId, Uid};

/// The consequence of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareVerdict {
    /// Leave the block as it is.
    Keep,
    /// Write `held` again: the lease is lost, and the operator makes it again.
    Reassert,
    /// Record the block as open.
    Open,
    /// Record this uid in the place of the old one, which gets a tombstone; a tombstone of the new one goes. Then the block is open.
    Rebind(Uid),
    /// Record the block as frozen for this mark in the place of the old one; then the answer is ready.
    Refreeze(MarkId),
    /// Record the block as contested.
    Contest,
    /// Record a tombstone for the lease, and drop the block.
    Drop,
}

/// Compares a block of the ledger with what a quorum GET of its name returned.
#[must_use]
pub fn compare(
    rules: LeaseRules,
    me: &HolderIdentity,
    row: &LedgerBlock,
    fetched: &FetchedBlock,
) -> CompareVerdict {
    let frozen = matches!(row.hold, LeaseHold::Frozen(_));
    let contested = row.hold == LeaseHold::Contested;
    let useless = contested && row.usage.is_empty() && rules.has(LeaseRule::DropContested);
    let is_mine = |block: &IpBlock| block.is_held_by(&me.name, me.machine);
    let is_own =
        |block: &IpBlock| block.uid == row.uid && (is_mine(block) || !rules.has(LeaseRule::OtherHolder));
    let released =
        if rules.has(LeaseRule::DropReleased) { CompareVerdict::Drop } else { CompareVerdict::Keep };
    match fetched {
        FetchedBlock::Unreachable => CompareVerdict::Keep,
        FetchedBlock::Found(_) if row.hold == LeaseHold::Doubted => CompareVerdict::Keep,
        FetchedBlock::Missing if frozen => released,
        FetchedBlock::Missing if useless => CompareVerdict::Drop,
        FetchedBlock::Missing if rules.has(LeaseRule::KeepOn404) => CompareVerdict::Reassert,
        FetchedBlock::Missing => CompareVerdict::Drop,
        FetchedBlock::Found(block) if is_own(block) => same_lease(rules, row, block),
        FetchedBlock::Found(_) if frozen => released,
        FetchedBlock::Found(block) if is_mine(block) && rules.has(LeaseRule::Rebind) => {
            CompareVerdict::Rebind(block.uid)
        }
        FetchedBlock::Found(block) if useless && !is_mine(block) => CompareVerdict::Drop,
        FetchedBlock::Found(_) if contested => CompareVerdict::Keep,
        FetchedBlock::Found(_) => CompareVerdict::Contest,
    }
}

/// Compares a block with its lease, which names this node and machine.
fn same_lease(rules: LeaseRules, row: &LedgerBlock, block: &IpBlock) -> CompareVerdict {
    let unmarked = block.mark.is_none() && !block.deleting;
    match row.hold {
        LeaseHold::Open | LeaseHold::Doubted => CompareVerdict::Keep,
        LeaseHold::Frozen(mark) => {
            let cleared = block.cleared == Some(mark) || !rules.has(LeaseRule::UnfreezeByClear);
            let opens = unmarked && cleared && rules.has(LeaseRule::Unfreeze);
            match block.mark.filter(|new| new.id != mark && rules.has(LeaseRule::AnswerNewMark)) {
                Some(new) => CompareVerdict::Refreeze(new.id),
                None if opens => CompareVerdict::Open,
                None => CompareVerdict::Keep,
            }
        }
        LeaseHold::Cordoned(_) if unmarked => CompareVerdict::Open,
        LeaseHold::Contested => CompareVerdict::Open,
        LeaseHold::Cordoned(_) => CompareVerdict::Keep,
    }
}

/// Whether a hint is a reason to GET the block: the ledger waits for the end of a mark that the hint no longer has.
#[must_use]
pub fn is_settled(row: &LedgerBlock, hint: Option<(Uid, Option<MarkId>)>) -> bool {
    match row.hold {
        LeaseHold::Frozen(_) | LeaseHold::Cordoned(_) => {
            !matches!(hint, Some((uid, Some(_))) if uid == row.uid)
        }
        LeaseHold::Open => !matches!(hint, Some((uid, _)) if uid == row.uid),
        LeaseHold::Doubted => false,
        LeaseHold::Contested => true,
    }
}
