//! `IPBlock`: the lease of one block, and what is said about giving it back.

use ipnet::IpNet;

use crate::word::words;
use crate::{HolderIdentity, MachineHash, MarkId, ObjectVersion, PoolKey, RangeId, Uid, UnknownWord};

words! {
    /// The phase of an IPBlock. The empty word means leased, so that the ordinary path writes no status.
    BlockPhase {
        /// The node named in the spec holds it.
        Leased = "",
        /// The holder is gone, as far as is known; nobody gets it yet.
        Quarantined = "Quarantined",
        /// The pool is gone, and the block drains.
        Orphaned = "Orphaned",
    }
}

words! {
    /// Why the operator wants a block back.
    MarkReason {
        /// The node has it to spare, and the pool is short.
        Excess = "excess",
        /// The range, the pool's selector or an order of deletion takes it from the node. The node keeps its last open block.
        Drain = "drain",
        /// The pool is being deleted: the node gives up its last open block, too.
        Retire = "retire",
    }
}

words! {
    /// Why an agent refuses a mark.
    RefusalReason {
        /// An address is held, or in quarantine.
        InUse = "inUse",
        /// An address is cooling down.
        Cooling = "cooling",
        /// An address is promised to a claim.
        Claimed = "claimed",
        /// A request or an acceptance of the block is under way.
        UnderWay = "underWay",
        /// The agent does not know yet what it holds there, or holds those addresses under another uid.
        Unknown = "unknown",
        /// The node would go below its reserve, or lose its last open block.
        Reserve = "reserve",
    }
}

/// An order to give a block back, written into the IPBlock's status by compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockMark {
    /// The mark's identity.
    pub id: MarkId,
    /// The reason.
    pub why: MarkReason,
}

/// An agent's answer to a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarkAnswer {
    /// The block is empty, and frozen durably: it may be deleted.
    Ready,
    /// No new address comes from the block; it will be ready with its last one.
    Cordoned,
    /// The block stays.
    Refused(RefusalReason),
}

impl MarkAnswer {
    /// The word in the object: `ready`, `cordoned`, or the reason of a refusal.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Cordoned => "cordoned",
            Self::Refused(reason) => reason.as_str(),
        }
    }
}

impl std::str::FromStr for MarkAnswer {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "ready" => Ok(Self::Ready),
            "cordoned" => Ok(Self::Cordoned),
            _ => word.parse().map(Self::Refused),
        }
    }
}

/// An agent's answer to one mark on one lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MarkAck {
    /// The IPBlock's uid.
    pub uid: Uid,
    /// The mark.
    pub mark: MarkId,
    /// The answer.
    pub answer: MarkAnswer,
}

/// An IPBlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpBlock {
    /// The lease's epoch.
    pub uid: Uid,
    /// The version that was read; a write and a delete carry it.
    pub version: ObjectVersion,
    /// The addresses.
    pub cidr: IpNet,
    /// The range of the space that it is a cell of.
    pub range: RangeId,
    /// The pool.
    pub pool: PoolKey,
    /// The holder's name, Node uid, machine and boot when it was granted. Immutable.
    pub holder: HolderIdentity,
    /// The uid of the Node object that the holder's kubelet registered later.
    pub adopted_node_uid: Option<Uid>,
    /// The phase.
    pub phase: BlockPhase,
    /// The order to give it back, if there is one.
    pub mark: Option<BlockMark>,
    /// The last mark that was taken back. A holder that answered ready uses the block again when it sees the very mark that it answered here.
    pub cleared: Option<MarkId>,
    /// Whether it has a deletionTimestamp, which cannot be taken back.
    pub deleting: bool,
    /// Seconds of quarantine that leaders have added up so far.
    pub elapsed_seconds: u64,
}

impl IpBlock {
    /// Whether it is leased to this machine under this name. What a NodeIPAM says counts for such blocks only.
    #[must_use]
    pub fn is_held_by(&self, name: &str, machine: MachineHash) -> bool {
        self.holder.is_machine(name, machine)
    }

    /// Whether it is leased to this Node object, as it was granted or as the operator adopted it.
    #[must_use]
    pub fn names_node(&self, uid: Uid) -> bool {
        self.holder.uid == uid || self.adopted_node_uid == Some(uid)
    }
}

/// The result of a quorum GET of a block's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one is looked at and dropped")]
pub enum FetchedBlock {
    /// The object as etcd has it.
    Found(IpBlock),
    /// The server answered 404.
    Missing,
    /// No answer, or an error: nothing is known.
    Unreachable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_later_version_is_refused() {
        for phase in BlockPhase::ALL {
            assert_eq!(phase.as_str().parse::<BlockPhase>().as_ref(), Ok(phase));
        }
        for reason in MarkReason::ALL {
            assert_eq!(reason.as_str().parse::<MarkReason>().as_ref(), Ok(reason));
        }
        for refusal in RefusalReason::ALL {
            assert_eq!(refusal.as_str().parse(), Ok(MarkAnswer::Refused(*refusal)));
        }
        assert_eq!("ready".parse(), Ok(MarkAnswer::Ready));
        assert_eq!("cordoned".parse(), Ok(MarkAnswer::Cordoned));
        assert_eq!("Ready".parse::<MarkAnswer>().unwrap_err().to_string(), "unknown RefusalReason \"Ready\"");
        assert!("evict".parse::<MarkReason>().is_err());
        assert!("Leased".parse::<BlockPhase>().is_err());
    }
}
