//! The facts of the chapter `effects`.

use tenure_types::{Attributes, IntentId, Moment, NetworkName, Object};

use super::Intent;

/// A fact about what the host does outside the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectFact {
    /// The host is about to do something.
    Intended(Intent),
    /// The outside has answered a step.
    Reached {
        /// The intent.
        id: IntentId,
        /// The network whose supply it changes.
        network: NetworkName,
        /// All that the outside has answered so far.
        reached: Attributes,
        /// When.
        at: Moment,
    },
    /// It was done.
    Done {
        /// The intent.
        id: IntentId,
        /// The network whose supply it changes.
        network: NetworkName,
        /// When.
        at: Moment,
    },
    /// It is over, and nothing of it is left outside.
    Undone {
        /// The intent.
        id: IntentId,
        /// The network whose supply it changes.
        network: NetworkName,
        /// Why, for people.
        why: Box<str>,
        /// When.
        at: Moment,
    },
    /// The outside has an object like this.
    Seen {
        /// The object as it is now.
        object: Object,
        /// When.
        at: Moment,
    },
    /// The outside no longer has an object.
    Gone {
        /// The object's kind.
        kind: String,
        /// The object's name.
        name: String,
        /// When.
        at: Moment,
    },
}

impl EffectFact {
    /// The network that the fact is about; `None` for the node's objects.
    #[must_use]
    pub fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Intended(intent) => Some(&intent.network),
            Self::Reached { network, .. } | Self::Done { network, .. } | Self::Undone { network, .. } => {
                Some(network)
            }
            Self::Seen { .. } | Self::Gone { .. } => None,
        }
    }
}
