//! The rules that the tables consist of, each of which the tests take out once.

use std::fmt;

use crate::word::words;

words! {
    /// One rule of the tables. Its word names it in the tests' output.
    LeaseRule {
        /// Agent: a block is used after a quorum GET only, never on the hint alone.
        GetBeforeUse = "accept: quorum GET before use",
        /// Agent: the space is read after the block, and its range must be open.
        SpaceAfterBlock = "accept: open range, read after the block",
        /// Agent: a lease that was given back is never accepted again.
        Tombstones = "accept: dropped leases stay dropped",
        /// Agent: no mark is answered with ready while the block is being accepted.
        AcceptUnderWay = "mark: refused while an acceptance is under way",
        /// Agent: the addresses are compared with the ledger, not the uid alone.
        OtherUid = "mark: refused for addresses held under another uid",
        /// Agent: a mark for excess is refused while the block has addresses.
        RefuseInUse = "mark: excess is refused while in use",
        /// Agent: a drained block with addresses is cordoned.
        CordonDrain = "mark: a drained block in use is cordoned, not ready",
        /// Agent: the last open block stays, also if the operator saw another one.
        LastBlock = "mark: the last open block stays",
        /// Agent: check, freeze and record are one step.
        AtomicFreeze = "mark: check and freeze in one step",
        /// Agent: the freeze is durable before the answer.
        FreezeFirst = "mark: freeze before the answer",
        /// Agent: a frozen block answers a new mark.
        AnswerNewMark = "mark: a frozen block answers the next mark",
        /// Agent: a lease that it gave back, or never had, is answered with ready.
        GivenBackIsReady = "mark: a lease that is not held is ready",
        /// Agent: a frozen block is used again only after a quorum GET without a mark.
        UnfreezeByGet = "unfreeze: quorum GET without a mark",
        /// Agent: a frozen block whose mark was taken back is used again.
        Unfreeze = "unfreeze: an aborted mark ends",
        /// Agent: only taking back the mark that it answered releases a frozen block.
        UnfreezeByClear = "unfreeze: the very mark was taken back",
        /// Operator: an answer to a mark that the block no longer has is taken back, too.
        ClearStale = "release: a stale answer is taken back",
        /// Operator: nothing is taken back before the barrier.
        ClearAfterBarrier = "release: nothing is taken back before the barrier",
        /// Operator: a lease that its holder gave up is asked back.
        AskGivenUp = "release: a lease that was given up is asked back",
        /// Agent: a missing IPBlock drops nothing that is not frozen.
        KeepOn404 = "compare: a missing IPBlock drops no open block",
        /// Agent: a new lease of the same machine for the same addresses takes the place of the old.
        Rebind = "compare: a lease made again is taken over",
        /// Agent: a lease of another holder is contested, also under the uid that the ledger has.
        OtherHolder = "compare: a lease of another holder is contested",
        /// Agent: a frozen block that was deleted is dropped.
        DropReleased = "compare: a released block is dropped",
        /// Agent: a contested block is dropped once nothing is in it.
        DropContested = "compare: an empty contested block is dropped",
        /// Agent: a lost ledger writes nothing before it has read what it held.
        LostReadsFirst = "lost ledger: reads before it writes",
        /// Agent: what was answered with ready stays frozen after a loss.
        LostStaysFrozen = "lost ledger: an answered block stays frozen",
        /// Operator: deletes on a mark that it wrote itself since its last barrier.
        OwnMark = "release: only on a mark of its own",
        /// Operator: an inherited mark gets a new id.
        Remark = "release: an inherited mark is marked again",
        /// Operator: an answer counts for the mark that it names.
        AckOfMark = "release: the answer names the mark",
        /// Operator: a delete carries the resourceVersion that was read.
        DeleteVersion = "release: the delete carries the version",
        /// Operator: only ready releases.
        ReadyOnly = "release: only ready releases",
        /// Operator: a refusal clears the mark.
        ClearRefused = "release: a refused mark is cleared",
        /// Operator: the hint follows the IPBlock.
        HintFollows = "release: the hint follows the block",
        /// Operator: nothing is granted before all nodes had time to say what they hold.
        Barrier = "grant: barrier after a start and a restore",
        /// Operator: a pause ends early only when every node has spoken since it began.
        EveryNodeHeard = "grant: a pause ends early when every node has spoken",
        /// Operator: a Lease that is not fresh shows the living store only beside an API server that has run since.
        SameServer = "grant: an old Lease is trusted beside the same API server",
        /// Operator: what another node holds is not granted.
        HeldIsTaken = "grant: what a node holds is taken",
        /// Operator: what a node that is fenced holds is not granted before a quarantine.
        FencedIsTaken = "grant: what a fenced node holds is taken",
        /// Operator: a lease that was lost is made again for its holder.
        Reclaim = "grant: a lost lease is made again",
        /// Operator: a block that two nodes hold is asked back from the one that the object names.
        Contested = "grant: a contested block is asked back",
        /// API server: creating a name that exists fails.
        NameIsMutex = "grant: the name is the mutex",
        /// Space: overlapping ranges are refused.
        NoOverlap = "space: no overlap",
        /// Space: a range is closed before it is removed.
        CloseFirst = "space: closed before it is removed",
        /// Space: a range with blocks is not removed.
        FoundEmpty = "space: found empty before it is removed",
        /// Operator: without proof or attestation nothing is released without a handshake.
        Proof = "fence: proof or attestation",
        /// Operator: the machine in the IPBlock is compared, not the one in NodeIPAM.
        MachineOfBlock = "fence: the block's own machine",
    }
}

/// A set of rules. Programs use [`LeaseRules::ALL`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeaseRules(u64);

impl LeaseRules {
    /// All rules, as in production.
    pub const ALL: Self = Self(u64::MAX);

    /// Whether a rule holds.
    #[must_use]
    pub const fn has(self, rule: LeaseRule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }

    /// The rules without one: a fault planted by a test.
    #[cfg(test)]
    #[must_use]
    pub const fn without(self, rule: LeaseRule) -> Self {
        Self(self.0 & !(1 << rule as u32))
    }
}

impl fmt::Debug for LeaseRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(LeaseRule::ALL.iter().filter(|rule| !self.has(**rule))).finish()
    }
}
