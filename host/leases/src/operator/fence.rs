//! A dead node's blocks: proof or attestation, never time alone.
//!
//! ```text
//!   the Node, by a quorum GET just before each write         leased block              quarantined block
//!   ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   no answer                                                keep                      keep
//!   its uid; NotReady, Unknown, stale, anything else         keep                      leased again, once the agent speaks
//!   its uid, taint out-of-service                            quarantine                stays; released after max(cooldown, 60 s)
//!   its uid in the annotation `fenced`                       quarantine                released
//!   gone                                                     quarantine                released after nodeGoneQuarantineSeconds
//!   another uid, same machine, same boot                     adopt                     adopt: leased again
//!   another uid, same machine, another boot                  adopt: rebooted           adopt, once the agent speaks
//!   another uid or the same, another machine                 quarantine                as "gone": the old machine may still run
//! ```
//!
//! The machine is compared with the one in the IPBlock, which never changes: a replacement under the same name overwrites everything in NodeIPAM.
//! Each row's write carries the block's uid and resourceVersion, and a release comes only after a CAS to Quarantined, so the late write of another
//! leader fails once a block was quarantined, adopted or returned. A node that rebooted checks its leases by quorum GETs before its first ADD.
//! A block stays in quarantine while the taint is there, also if its agent says otherwise. The agent speaks by a NodeIPAM of the block's machine; one
//! that does not hold the block gets it again all the same, since a block that waits for a word that never comes is lost to everybody.

use crate::operator::quarantine::{ATTESTED_SECONDS, QuarantineDelay};
use crate::{BlockPhase, IpBlock, LeasePool, LeaseRule, LeaseRules, MachineHash, NodeIpamSpec, Uid};

/// A Node as a quorum GET showed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeEvidence {
    /// The Node's uid.
    pub uid: Uid,
    /// The machine, of `status.nodeInfo`.
    pub machine: MachineHash,
    /// The boot id, of `status.nodeInfo`.
    pub boot: Uid,
    /// The taint `node.kubernetes.io/out-of-service`.
    pub out_of_service: bool,
    /// The uid in the annotation `fenced`.
    pub fenced: Option<Uid>,
    /// Ready in the Node's conditions. No row looks at it; the model shows what happens if one did.
    pub ready: bool,
}

/// The result of a quorum GET of a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchedNode {
    /// The Node as etcd has it.
    Found(NodeEvidence),
    /// The server answered 404.
    Missing,
    /// No answer, or an error: nothing is known.
    Unreachable,
}

/// Why a block is in quarantine; the reason in its status and in the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FenceReason {
    /// The out-of-service taint: attested.
    OutOfService,
    /// The annotation of an operator: attested.
    Annotation,
    /// The Node is deleted.
    NodeGone,
    /// Another machine has the Node's name.
    Replaced,
}

/// The step for a block, besides the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FenceVerdict {
    /// Leave the block as it is.
    Keep,
    /// Write `status.adoptedNodeUID`; a quarantined block is leased again by the same write.
    Adopt(Uid),
    /// Write phase Quarantined, with the reason.
    Quarantine(FenceReason),
    /// The block is in quarantine for this reason: count its time, and release it when that is over.
    Hold(FenceReason),
    /// Write phase Leased.
    Return,
}

/// Decides about the block of a node from evidence.
///
/// `said` is the spec of the NodeIPAM of that name. It counts only if it is from the block's machine.
#[must_use]
pub fn fence(
    rules: LeaseRules,
    block: &IpBlock,
    node: FetchedNode,
    said: Option<&NodeIpamSpec>,
) -> FenceVerdict {
    let reason = match node {
        FetchedNode::Unreachable => return FenceVerdict::Keep,
        FetchedNode::Missing => FenceReason::NodeGone,
        FetchedNode::Found(node) => match judge(rules, block, &node, said) {
            Ok(verdict) => return verdict,
            Err(reason) => reason,
        },
    };
    match block.phase {
        BlockPhase::Quarantined => FenceVerdict::Hold(reason),
        BlockPhase::Leased | BlockPhase::Orphaned => FenceVerdict::Quarantine(reason),
    }
}

/// Judges a Node that is there: a verdict if its block is not to be fenced, else the reason.
fn judge(
    rules: LeaseRules,
    block: &IpBlock,
    node: &NodeEvidence,
    said: Option<&NodeIpamSpec>,
) -> Result<FenceVerdict, FenceReason> {
    let machine = if rules.has(LeaseRule::MachineOfBlock) {
        block.holder.machine
    } else {
        said.map_or(block.holder.machine, |said| said.identity.machine)
    };
    if node.machine != machine {
        return Err(FenceReason::Replaced);
    }
    let known = block.names_node(node.uid);
    if known && node.fenced == Some(node.uid) {
        return Err(FenceReason::Annotation);
    }
    if known && node.out_of_service {
        return Err(FenceReason::OutOfService);
    }
    if !node.ready && !rules.has(LeaseRule::Proof) {
        return Err(FenceReason::OutOfService);
    }
    let speaks = said.is_some_and(|said| said.counts_for(block) || !rules.has(LeaseRule::MachineOfBlock));
    let quarantined = block.phase == BlockPhase::Quarantined;
    Ok(match known {
        true if quarantined && speaks => FenceVerdict::Return,
        true => FenceVerdict::Keep,
        false if !quarantined || speaks || node.boot == block.holder.boot => FenceVerdict::Adopt(node.uid),
        false => FenceVerdict::Keep,
    })
}

/// How long a block waits in quarantine for a reason.
#[must_use]
pub fn delay(pool: &LeasePool, reason: FenceReason) -> QuarantineDelay {
    match reason {
        FenceReason::Annotation => QuarantineDelay::Seconds(0),
        FenceReason::OutOfService => QuarantineDelay::Seconds(pool.cooldown_seconds.max(ATTESTED_SECONDS)),
        FenceReason::NodeGone | FenceReason::Replaced => pool
            .node_gone_quarantine_seconds
            .map_or(QuarantineDelay::UntilConfirmed, QuarantineDelay::Seconds),
    }
}

#[cfg(test)]
mod tests;
