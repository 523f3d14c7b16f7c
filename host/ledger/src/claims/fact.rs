//! The facts of the chapter `claims`.

use tenure_types::{Generation, Moment, NetworkName};

use super::{Claim, ClaimKey};

/// A fact about an agent's claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimFact {
    /// An agent claimed an address, or asks for something else under the same name.
    Claimed(Claim),
    /// An agent asked for its claim again, for the first time since the node booted.
    Confirmed {
        /// The claim.
        key: ClaimKey,
        /// When.
        at: Moment,
    },
    /// A claim ended.
    Released {
        /// The claim.
        key: ClaimKey,
        /// The allocation that it held.
        generation: Generation,
        /// When.
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
}
