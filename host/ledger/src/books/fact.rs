//! The facts of the chapter `ledger`, each about one network.

use std::sync::Arc;

use tenure_types::{Allocation, Generation, Moment, Network, NetworkName, Place, PoolName, Range, RangeName};

/// A fact about a network's book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerFact {
    /// A network came to be, or its configuration or pools changed. A pool stays itself by its name, with its ranges.
    Defined(Arc<Network>),
    /// A network is gone, with all that it had. It holds nothing.
    Removed {
        /// The network.
        network: NetworkName,
        /// When.
        at: Moment,
    },
    /// An import of the network began or ended; nobody new is let in while one is under way or was cut off.
    Importing {
        /// The network.
        network: NetworkName,
        /// Whether it began.
        under_way: bool,
        /// When.
        at: Moment,
    },
    /// A pool has one more range, behind those that it had.
    RangeAdded {
        /// The network.
        network: NetworkName,
        /// The pool.
        pool: PoolName,
        /// The range.
        range: Box<Range>,
        /// When.
        at: Moment,
    },
    /// A range hands nothing more out, or does so again. What is held in it stays its owners'.
    RangeDraining {
        /// The network.
        network: NetworkName,
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
        /// Whether it drains from now on.
        draining: bool,
        /// When.
        at: Moment,
    },
    /// A pool has one range less. What is held in it stays its owners'.
    RangeRemoved {
        /// The network.
        network: NetworkName,
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
        /// When.
        at: Moment,
    },
    /// An owner got addresses.
    Allocated(Arc<Allocation>),
    /// An owner asked again for what it has: whatever was meant for its earlier request does not mean this allocation any more.
    Renewed {
        /// The network.
        network: NetworkName,
        /// Which allocation was asked for again.
        generation: Generation,
        /// When that request began.
        requested_at: Moment,
        /// The network namespace that it named.
        netns: Box<str>,
        /// Where the daemon has seen that namespace, if it has.
        netns_seen: Option<Place>,
    },
    /// An owner's addresses were freed and cool from now on.
    Released {
        /// The network.
        network: NetworkName,
        /// Which allocation ended.
        generation: Generation,
        /// When it ended.
        at: Moment,
        /// Why: one of [`End`](tenure_types::End)'s reasons, and an operator's words behind it; for people.
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
            | Self::Released { network, .. } => network,
        }
    }
}
