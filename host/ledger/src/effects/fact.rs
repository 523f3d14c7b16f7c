//! The facts of the chapter `effects`.

use std::fmt;

use tenure_types::{Attributes, IntentId, Moment, NetworkName, Object};

use super::{Intent, IntentOrigin};

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
        /// Time of the fact.
        at: Moment,
    },
    /// The effect was done.
    Done {
        /// The intent.
        id: IntentId,
        /// The network whose supply it changes.
        network: NetworkName,
        /// Time of the fact.
        at: Moment,
    },
    /// The effect is over, and nothing of it is left outside.
    Undone {
        /// The intent.
        id: IntentId,
        /// The network whose supply it changes.
        network: NetworkName,
        /// Why, for people.
        why: Box<str>,
        /// Time of the fact.
        at: Moment,
    },
    /// The outside has an object like this.
    Seen {
        /// The object as it is now.
        object: Object,
        /// Time of the fact.
        at: Moment,
    },
    /// The outside no longer has an object.
    Gone {
        /// The object's kind.
        kind: String,
        /// The object's name.
        name: String,
        /// Time of the fact.
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
    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        match self {
            Self::Intended(intent) => intent.since,
            Self::Reached { at, .. }
            | Self::Done { at, .. }
            | Self::Undone { at, .. }
            | Self::Seen { at, .. }
            | Self::Gone { at, .. } => *at,
        }
    }
}

impl fmt::Display for EffectFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Intended(Intent { id, pool, kind, attributes, origin, .. }) => {
                let by = if *origin == IntentOrigin::Host { " by the host" } else { "" };
                let kind = kind.name();
                write!(formatter, "{:<10} {kind} for pool {pool}{by} ({attributes}) as {id}", "intended")
            }
            Self::Reached { id, reached, .. } => write!(formatter, "{:<10} {id}: {reached}", "reached"),
            Self::Done { id, .. } => write!(formatter, "{:<10} {id}", "done"),
            Self::Undone { id, why, .. } => write!(formatter, "{:<10} {id}: {why}", "undone"),
            Self::Seen { object: Object { kind, name, attributes }, .. } => {
                write!(formatter, "{:<10} {kind} {name} ({attributes})", "seen")
            }
            Self::Gone { kind, name, .. } => write!(formatter, "{:<10} {kind} {name}", "gone"),
        }
    }
}
