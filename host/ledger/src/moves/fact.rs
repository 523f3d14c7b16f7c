//! The facts of the chapter `moves`.

use std::sync::Arc;

use tenure_types::{Moment, NetworkName, Owner};

/// A network's move from one source, which has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The network.
    pub network: NetworkName,
    /// The IPAM and the location of its state; empty if an older program began it.
    pub source: Arc<str>,
    /// Who began it, for people; empty if that is not known.
    pub by: Box<str>,
    /// How many entries the source has; 0 if that is not known.
    pub entries: u64,
    /// How many entries are durable, of those.
    pub reached: u64,
    /// When it was last begun.
    pub at: Moment,
}

/// How a move ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveEnd {
    /// All of its entries were answered.
    Finished,
    /// An operator ended it.
    Abandoned,
}

impl MoveEnd {
    /// The name, as it is stored and shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
        }
    }
}

/// A fact about moves from other IPAMs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveFact {
    /// A network began to move over from a source, for the first time or again.
    Begun(Move),
    /// Some of the source's entries are durable.
    Reached {
        /// The network.
        network: NetworkName,
        /// The source.
        source: Arc<str>,
        /// How many, since the move was last begun.
        reached: u64,
        /// When.
        at: Moment,
    },
    /// A move ended.
    Ended {
        /// The network.
        network: NetworkName,
        /// The source.
        source: Arc<str>,
        /// How.
        end: MoveEnd,
        /// An operator's reason; may be empty.
        why: Box<str>,
        /// When.
        at: Moment,
    },
    /// A DEL of an attachment was answered, and an import may still name the attachment.
    Deleted {
        /// The network, which need not exist.
        network: NetworkName,
        /// The attachment.
        owner: Owner,
        /// When the DEL began.
        at: Moment,
    },
    /// The network was removed, and where its addresses came from is forgotten.
    Forgotten {
        /// The network.
        network: NetworkName,
        /// When.
        at: Moment,
    },
}

impl MoveFact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Begun(begun) => &begun.network,
            Self::Reached { network, .. }
            | Self::Ended { network, .. }
            | Self::Deleted { network, .. }
            | Self::Forgotten { network, .. } => network,
        }
    }
}
