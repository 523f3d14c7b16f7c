//! The facts of the chapter `choices`.

use std::fmt;

use tenure_types::{Moment, NetworkName};

use super::{Choice, Step};

/// A fact of this chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceFact {
    /// A policy begins to serve a network.
    Chosen {
        /// The network.
        network: NetworkName,
        /// The choice.
        choice: Choice,
    },
    /// Something else happened to a policy on a network: any step but the choice itself.
    Noted {
        /// The network.
        network: NetworkName,
        /// Step that was taken.
        step: Step,
    },
    /// The last choice of a network could not be made durable, and is undone.
    Undone {
        /// The network.
        network: NetworkName,
        /// The choice before, which is in force again.
        choice: Choice,
        /// Time of the fact.
        at: Moment,
    },
    /// The network was removed, and its choices are forgotten.
    Forgotten {
        /// The network.
        network: NetworkName,
        /// Time of the fact.
        at: Moment,
    },
}

impl ChoiceFact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Chosen { network, .. }
            | Self::Noted { network, .. }
            | Self::Undone { network, .. }
            | Self::Forgotten { network, .. } => network,
        }
    }
    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        match self {
            Self::Chosen { choice, .. } => choice.at,
            Self::Noted { step, .. } => step.at,
            Self::Undone { at, .. } | Self::Forgotten { at, .. } => *at,
        }
    }
}

impl fmt::Display for ChoiceFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen { choice: Choice { policy, by, why, .. }, .. } => {
                write!(formatter, "{:<10} {policy} by {}", "chosen", by.name())?;
                because(formatter, why)
            }
            Self::Noted { step: Step { kind, policy, why, .. }, .. } => {
                write!(formatter, "{:<10} {policy}", kind.name())?;
                because(formatter, why)
            }
            Self::Undone { choice, .. } => {
                write!(formatter, "{:<10} the exchange; {} serves again", "undone", choice.policy)
            }
            Self::Forgotten { .. } => write!(formatter, "{:<10} the policy", "forgotten"),
        }
    }
}

fn because(formatter: &mut fmt::Formatter<'_>, why: &str) -> fmt::Result {
    match why {
        "" => Ok(()),
        why => write!(formatter, ": {why}"),
    }
}
