//! The facts that make up a ledger: what the checkpoint keeps and the ledger is rebuilt from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Allocation, Generation, Moment, Network, NetworkName, Place};

/// One durable fact. The ledger changes by applying records and in no other way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// A network was created, or its policy or definition changed.
    Network(Box<Network>),
    /// An owner got addresses.
    Allocate(Arc<Allocation>),
    /// An owner asked again for what it has: whatever was meant for its earlier request does not mean this allocation any more.
    Renew {
        /// The network.
        network: NetworkName,
        /// Which allocation was asked for again.
        generation: Generation,
        /// When that request began.
        requested_at: Moment,
        /// The network namespace that it named.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        netns: String,
        /// Where the daemon has seen that namespace, if it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns_seen: Option<Place>,
    },
    /// An owner's addresses were freed and cool from now on.
    Release {
        /// The network.
        network: NetworkName,
        /// Which allocation ended.
        generation: Generation,
        /// When it ended.
        at: Moment,
        /// Why: `del`, `gc`, `undone`, `leak`, `repair`; for people.
        reason: String,
    },
}

impl Record {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Network(network) => &network.name,
            Self::Allocate(allocation) => &allocation.network,
            Self::Renew { network, .. } | Self::Release { network, .. } => network,
        }
    }
}
