//! All durable facts: the closed set of chapters.

use tenure_types::NetworkName;

use crate::{ChoiceFact, LedgerFact};

/// One durable fact. Durable state changes only by applying facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// About networks, their ranges, and who owns which address.
    Ledger(LedgerFact),
    /// About which policy serves which network.
    Choices(ChoiceFact),
}

impl Fact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Ledger(fact) => fact.network(),
            Self::Choices(fact) => fact.network(),
        }
    }
}

impl From<LedgerFact> for Fact {
    fn from(fact: LedgerFact) -> Self {
        Self::Ledger(fact)
    }
}

impl From<ChoiceFact> for Fact {
    fn from(fact: ChoiceFact) -> Self {
        Self::Choices(fact)
    }
}
