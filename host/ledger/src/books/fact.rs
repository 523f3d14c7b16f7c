//! The facts of the chapter `ledger`, each about one network.

use std::sync::Arc;

use tenure_types::{Allocation, Generation, Moment, Network, NetworkName, Place, PoolName, Range, RangeName};

use super::quarantine::{QuarantineMark, QuarantineSubject};

/// A fact about a network's book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerFact {
    /// A network was created, or its configuration or pools changed. A pool whose name stays keeps its ranges.
    Defined(Arc<Network>),
    /// A network was removed, with all its state. It had no allocations.
    Removed {
        /// The network.
        network: NetworkName,
        /// Time of the fact.
        at: Moment,
    },
    /// An import of the network began or ended. While one is in progress or was interrupted, new owners are refused.
    Importing {
        /// The network.
        network: NetworkName,
        /// Whether it began.
        under_way: bool,
        /// Time of the fact.
        at: Moment,
    },
    /// A range was added to a pool, after its other ranges.
    RangeAdded {
        /// The network.
        network: NetworkName,
        /// The pool.
        pool: PoolName,
        /// The range.
        range: Box<Range>,
        /// Time of the fact.
        at: Moment,
    },
    /// A range began or stopped draining; a draining range hands out nothing. Addresses held in it stay with their
    /// owners.
    RangeDraining {
        /// The network.
        network: NetworkName,
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
        /// Whether it began to drain.
        draining: bool,
        /// Time of the fact.
        at: Moment,
    },
    /// A range was removed from a pool. Addresses held in it stay with their owners.
    RangeRemoved {
        /// The network.
        network: NetworkName,
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
        /// Time of the fact.
        at: Moment,
    },
    /// An owner was assigned addresses.
    Allocated(Arc<Allocation>),
    /// An owner repeated its request: operations that refer to the earlier request no longer apply to this allocation.
    Renewed {
        /// The network.
        network: NetworkName,
        /// The allocation that was requested again.
        generation: Generation,
        /// Beginning of the repeated request.
        requested_at: Moment,
        /// The network namespace that it named.
        netns: Box<str>,
        /// The place in which the daemon saw that namespace, if it did.
        netns_seen: Option<Place>,
    },
    /// An owner's addresses were freed and began to cool down.
    Released {
        /// The network.
        network: NetworkName,
        /// The allocation that ended.
        generation: Generation,
        /// End of the allocation.
        at: Moment,
        /// Why, for people: one of [`End`](tenure_types::End)'s reasons, followed by an operator's comment, if any.
        reason: Box<str>,
    },
    /// An address, or an allocation's owner, is doubtful from now on; of an earlier quarantine only the mark changes.
    Quarantined {
        /// The network.
        network: NetworkName,
        /// The subject.
        subject: QuarantineSubject,
        /// The reason, and the time of the fact.
        mark: QuarantineMark,
    },
    /// A quarantine ended. An address that nobody has begins to cool down.
    QuarantineLifted {
        /// The network.
        network: NetworkName,
        /// The subject.
        subject: QuarantineSubject,
        /// Time of the fact.
        at: Moment,
        /// The reason, for people.
        reason: Box<str>,
    },
}

impl LedgerFact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Defined(network) => &network.name,
            Self::Allocated(allocation) => &allocation.network,
            Self::Removed { network, .. }
            | Self::Importing { network, .. }
            | Self::RangeAdded { network, .. }
            | Self::RangeDraining { network, .. }
            | Self::RangeRemoved { network, .. }
            | Self::Renewed { network, .. }
            | Self::Released { network, .. }
            | Self::Quarantined { network, .. }
            | Self::QuarantineLifted { network, .. } => network,
        }
    }
}
