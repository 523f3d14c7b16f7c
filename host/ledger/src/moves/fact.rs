//! The facts of the chapter `moves`.

use std::fmt;
use std::sync::Arc;

use tenure_types::{Moment, NetworkName, Owner};

/// A network's move from one source, which has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The network.
    pub network: NetworkName,
    /// The IPAM and the location of its state; empty if an older program began it.
    pub source: Arc<str>,
    /// User who began the move, for people; empty if unknown.
    pub by: Box<str>,
    /// How many entries the source has; 0 if that is not known.
    pub entries: u64,
    /// How many entries are durable, of those.
    pub reached: u64,
    /// Time at which the move was last begun.
    pub at: Moment,
}

/// How a move ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveEnd {
    /// All of its entries were answered.
    Finished,
    /// An operator ended it; or let go of its source, if it had finished before.
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
        /// Time of the fact.
        at: Moment,
    },
    /// A move ended.
    Ended {
        /// The network.
        network: NetworkName,
        /// The source.
        source: Arc<str>,
        /// Way in which the move ended.
        end: MoveEnd,
        /// An operator's reason; may be empty.
        why: Box<str>,
        /// Time of the fact.
        at: Moment,
    },
    /// A DEL of an attachment was answered, and an import may still name the attachment.
    Deleted {
        /// The network, which need not exist.
        network: NetworkName,
        /// The attachment.
        owner: Owner,
        /// Beginning of the DEL.
        at: Moment,
    },
    /// The network was removed, and where its addresses came from is forgotten. Only older programs write this.
    Forgotten {
        /// The network.
        network: NetworkName,
        /// Time of the fact.
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
    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        match self {
            Self::Begun(begun) => begun.at,
            Self::Reached { at, .. }
            | Self::Ended { at, .. }
            | Self::Deleted { at, .. }
            | Self::Forgotten { at, .. } => *at,
        }
    }
}

impl fmt::Display for MoveFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun(Move { source, by, entries, .. }) => {
                let by = if by.is_empty() { String::new() } else { format!(", by {by}") };
                write!(formatter, "{:<10} an import from {source}{by}: {entries} entries", "began")
            }
            Self::Reached { source, reached, .. } => {
                write!(formatter, "{:<10} entry {reached} of {source}", "reached")
            }
            Self::Ended { source, end, why, .. } => {
                let verb = match end {
                    MoveEnd::Finished => "ended",
                    MoveEnd::Abandoned => "abandoned",
                };
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                write!(formatter, "{verb:<10} the import from {source}{why}")
            }
            Self::Deleted { owner, .. } => {
                write!(formatter, "{:<10} {owner}, which has no addresses here", "deleted")
            }
            Self::Forgotten { .. } => write!(formatter, "{:<10} where the addresses came from", "forgotten"),
        }
    }
}
