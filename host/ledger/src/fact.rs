//! All durable facts: the closed set of chapters.

use tenure_types::NetworkName;

use crate::{ChoiceFact, ComponentFact, LedgerFact};

/// One durable fact. Durable state changes only by applying facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// About networks, their ranges, and who owns which address.
    Ledger(LedgerFact),
    /// About which policy serves which network.
    Choices(ChoiceFact),
    /// About the policies that were loaded into this node.
    Components(ComponentFact),
}

impl Fact {
    /// The network that the fact is about; `None` if it is about the whole node.
    #[must_use]
    pub fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Ledger(fact) => Some(fact.network()),
            Self::Choices(fact) => Some(fact.network()),
            Self::Components(_) => None,
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

impl From<ComponentFact> for Fact {
    fn from(fact: ComponentFact) -> Self {
        Self::Components(fact)
    }
}
