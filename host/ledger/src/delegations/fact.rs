//! The facts of the chapter `delegations`.

use std::fmt;

use tenure_types::{Moment, NetworkName, Owner};

use super::{Delegation, Given};

/// A fact about a delegate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegationFact {
    /// A delegate is about to be asked for addresses. From now on it may have some for the owner. Staged again with the removal
    /// of its network, for one that is not undone by then: what was given counts no more.
    Asked(Delegation),
    /// The ledger has accepted what it gave; staged with the allocation.
    Given {
        /// The network.
        network: NetworkName,
        /// The owner.
        owner: Owner,
        /// Answer of the delegate.
        given: Given,
        /// Time of the fact.
        at: Moment,
    },
    /// The delegate has nothing for the owner any more, or never had.
    Ended {
        /// The network.
        network: NetworkName,
        /// The owner.
        owner: Owner,
        /// Time of the fact.
        at: Moment,
    },
}

impl DelegationFact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Asked(delegation) => &delegation.network,
            Self::Given { network, .. } | Self::Ended { network, .. } => network,
        }
    }

    /// The owner that the fact is about.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Asked(delegation) => &delegation.owner,
            Self::Given { owner, .. } | Self::Ended { owner, .. } => owner,
        }
    }
    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        match self {
            Self::Asked(delegation) => delegation.since,
            Self::Given { at, .. } | Self::Ended { at, .. } => *at,
        }
    }
}

impl fmt::Display for DelegationFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner();
        match self {
            Self::Asked(Delegation { delegate, .. }) => {
                write!(formatter, "{:<10} delegate {delegate} for {owner}", "asked")
            }
            Self::Given { given, .. } => {
                let addresses: Vec<_> = given.addresses.iter().map(ToString::to_string).collect();
                write!(formatter, "{:<10} {} to {owner} by its delegate", "given", addresses.join(", "))
            }
            Self::Ended { .. } => {
                write!(formatter, "{:<10} the delegate has nothing for {owner} any more", "ended")
            }
        }
    }
}
