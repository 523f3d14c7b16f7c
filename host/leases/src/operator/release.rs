//! Taking a block back with the holder's consent: the operator's half of the handshake.
//!
//! ```text
//!   IPBlock                answer for uid and mark   wanted back?  step                               durable before
//!   ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   any, hint differs      any                       any           patch the hint                     the IPBlock
//!   no mark                -                         yes           mark                               CAS, then the hint
//!   no mark, refused lately                          yes           wait for the delay                 -
//!   no mark                ready, for another mark   no            take that mark back                CAS, then the hint
//!   no mark                otherwise                 no            -                                  -
//!   mark, inherited        any                       yes           mark again, with a new id          CAS, then the hint
//!   mark, inherited        any                       no            clear                              CAS, then the hint
//!   mark, own              ready                     yes           delete; being deleted: finalizer   uid and resourceVersion
//!   mark, own              refused                   any           clear                              CAS, then the hint
//!   mark, own              refused, no clearing     yes           after the delay: mark again        CAS, then the hint
//!   mark, own              cordoned                  yes           wait                               -
//!   mark, own              none                      yes           wait; after 10 minutes: clear      CAS, then the hint
//!   mark, own              not refused               no            clear: aborted                     CAS, then the hint
//! ```
//!
//! Clearing a mark writes its id to `status.cleared`, which is what a frozen holder waits for. Nothing is cleared before the leader's barrier has
//! passed, or while the block is contested: a restore may have brought back the lease of a holder that is frozen because it gave the block away.
//!
//! The deletion of a block (`kubectl delete`, a pool's end) sets its deletionTimestamp, which cannot be taken back: it counts as "wanted back" for
//! good. The mark lives in the IPBlock because clearing it moves the resourceVersion: a deposed leader that read mark and answer deletes with the
//! version it read, and fails. Nothing of this is kept in memory except which marks are one's own.

use crate::block::{MarkAnswer, MarkReason};
use crate::{BlockHint, IpBlock, LeaseRule, LeaseRules, MarkAck, MarkId};

/// Seconds without an answer after which a mark is cleared.
pub const MARK_TIMEOUT_SECONDS: u64 = 600;

/// Everything that decides about a block's release.
#[derive(Debug)]
pub struct ReleaseCase<'a> {
    /// The block, as it was read.
    pub block: &'a IpBlock,
    /// The hint in the holder's NodeIPAM.
    pub hint: Option<BlockHint>,
    /// The answers of the holder's NodeIPAM; empty unless it counts for the block (its machine, under its name).
    pub acks: &'a [MarkAck],
    /// Whether this leader wrote the block's mark since its last barrier.
    pub own: bool,
    /// Why the block is wanted back now, besides a deletionTimestamp.
    pub wanted: Option<MarkReason>,
    /// Whether marks may be taken back: the leader's barrier has passed, and no other node holds the block.
    pub may_clear: bool,
    /// Whether the mark has been unanswered for [`MARK_TIMEOUT_SECONDS`], by the leader's own clock.
    pub timed_out: bool,
    /// Whether the holder refused a mark within the release delay.
    pub refused_lately: bool,
}

/// The next write about a block. Each carries the uid and the resourceVersion that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReleaseStep {
    /// Nothing to do now.
    Wait,
    /// Write a mark with a new id and this reason.
    Mark(MarkReason),
    /// Take this mark back: clear the mark, if the block has one, and write the id to `cleared`.
    Clear(MarkId),
    /// Patch the hint in the holder's NodeIPAM.
    Hint(BlockHint),
    /// Delete the IPBlock.
    Delete,
    /// Remove the finalizer of an IPBlock that is being deleted; then it is gone.
    RemoveFinalizer,
}

/// Decides the next step about a block.
#[must_use]
pub fn release(rules: LeaseRules, case: &ReleaseCase<'_>) -> ReleaseStep {
    let block = case.block;
    let hint = BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark };
    if case.hint != Some(hint) && rules.has(LeaseRule::HintFollows) {
        return ReleaseStep::Hint(hint);
    }
    let clear = |mark| match case.may_clear || !rules.has(LeaseRule::ClearAfterBarrier) {
        true => ReleaseStep::Clear(mark),
        false => ReleaseStep::Wait,
    };
    let wanted = case.wanted.or(block.deleting.then_some(MarkReason::Drain));
    let Some(mark) = block.mark else {
        return match wanted {
            Some(reason) if !case.refused_lately => ReleaseStep::Mark(reason),
            Some(_) => ReleaseStep::Wait,
            None => stale_answer(rules, case).map_or(ReleaseStep::Wait, clear),
        };
    };
    if !case.own {
        return match (wanted, rules.has(LeaseRule::Remark)) {
            (_, false) => ReleaseStep::Wait,
            (Some(reason), true) => ReleaseStep::Mark(reason),
            (None, true) => clear(mark.id),
        };
    }
    let any_mark = !rules.has(LeaseRule::AckOfMark);
    let mut acks = case.acks.iter().filter(|ack| ack.uid == block.uid);
    let answer = acks.find(|ack| ack.mark == mark.id || any_mark).map(|ack| ack.answer);
    match (answer, wanted) {
        // A block that is being deleted loses its mark, too, and is asked again after the delay.
        (Some(MarkAnswer::Refused(_)), _) if !rules.has(LeaseRule::ClearRefused) => ReleaseStep::Wait,
        (Some(MarkAnswer::Refused(_)), Some(reason)) if !case.may_clear => match case.refused_lately {
            true => ReleaseStep::Wait,
            false => ReleaseStep::Mark(reason),
        },
        (Some(MarkAnswer::Refused(_)), _) => clear(mark.id),
        (_, None) => clear(mark.id),
        (Some(MarkAnswer::Ready), Some(_)) => take_away(block),
        (Some(MarkAnswer::Cordoned) | None, Some(_)) if !rules.has(LeaseRule::ReadyOnly) => take_away(block),
        (Some(MarkAnswer::Cordoned), Some(_)) => ReleaseStep::Wait,
        (None, Some(_)) if case.timed_out => clear(mark.id),
        (None, Some(_)) => ReleaseStep::Wait,
    }
}

/// The mark of an answer that stands although the block has no mark: the holder is frozen, and waits for that mark to be taken back.
fn stale_answer(rules: LeaseRules, case: &ReleaseCase<'_>) -> Option<MarkId> {
    let mut answers =
        case.acks.iter().filter(|ack| ack.uid == case.block.uid && ack.answer == MarkAnswer::Ready);
    answers
        .find(|ack| case.block.cleared != Some(ack.mark) && rules.has(LeaseRule::ClearStale))
        .map(|ack| ack.mark)
}

/// The delete, or its second half for a block with a deletionTimestamp.
fn take_away(block: &IpBlock) -> ReleaseStep {
    if block.deleting { ReleaseStep::RemoveFinalizer } else { ReleaseStep::Delete }
}
