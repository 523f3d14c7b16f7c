//! The facts of the chapter `claims`.

use std::fmt;

use tenure_types::{Generation, Moment, NetworkName};

use super::{Claim, ClaimKey, Presence};

/// A fact about an agent's claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimFact {
    /// An agent claimed an address, or asks for something else under the same name.
    Claimed(Claim),
    /// An agent asked for its claim again, for the first time since the node booted.
    Confirmed {
        /// The claim.
        key: ClaimKey,
        /// Time of the fact.
        at: Moment,
    },
    /// A claim ended.
    Released {
        /// The claim.
        key: ClaimKey,
        /// The allocation that it held.
        generation: Generation,
        /// Time of the fact.
        at: Moment,
        /// Why, for people: as in the release of its allocation.
        reason: Box<str>,
    },
}

impl ClaimFact {
    /// The claim that the fact is about.
    #[must_use]
    pub fn key(&self) -> &ClaimKey {
        match self {
            Self::Claimed(claim) => &claim.key,
            Self::Confirmed { key, .. } | Self::Released { key, .. } => key,
        }
    }

    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        &self.key().network
    }
    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        match self {
            Self::Claimed(Claim { presence: Presence::Here(at) | Presence::Reserved(at), .. })
            | Self::Confirmed { at, .. }
            | Self::Released { at, .. } => *at,
        }
    }
}

impl fmt::Display for ClaimFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Claimed(_) => "claimed",
            Self::Confirmed { .. } => "confirmed",
            Self::Released { .. } => "unclaimed",
        };
        let ClaimKey { agent, name, .. } = self.key();
        write!(formatter, "{verb:<10} claim {name} of {agent}")?;
        match self {
            Self::Claimed(Claim { wish, .. }) => {
                if let Some(lease) = wish.lease {
                    write!(formatter, ", lease {} s", lease.as_secs())?;
                }
                wish.claimant.scope.iter().try_for_each(|scope| write!(formatter, ", scope {scope}"))
            }
            Self::Confirmed { .. } => Ok(()),
            Self::Released { reason, .. } => write!(formatter, " ({reason})"),
        }
    }
}
