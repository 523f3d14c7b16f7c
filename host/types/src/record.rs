//! The facts that make up a ledger: what the checkpoint keeps and the ledger is rebuilt from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Allocation, Generation, Moment, Network, NetworkName};

/// One durable fact. The ledger changes by applying records and in no other way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// A network was created, or its policy or definition changed.
    Network(Box<Network>),
    /// An owner got addresses.
    Allocate(Arc<Allocation>),
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
            Self::Release { network, .. } => network,
        }
    }
}
