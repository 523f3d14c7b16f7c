//! All durable facts: the closed set of chapters.

use tenure_types::NetworkName;

use crate::{
    ChoiceFact, ClaimFact, ComponentFact, DelegationFact, EffectFact, LedgerFact, MoveFact, StateFact,
};

/// One durable fact. Durable state changes only by applying facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// About networks, their ranges, and who owns which address.
    Ledger(LedgerFact),
    /// About which policy serves which network.
    Choices(ChoiceFact),
    /// About the policies that were loaded into this node.
    Components(ComponentFact),
    /// About what agents on the node have claimed.
    Claims(ClaimFact),
    /// About what policies remember on a network.
    States(StateFact),
    /// About what delegates were asked for.
    Delegations(DelegationFact),
    /// About what the host does outside the ledger.
    Effects(EffectFact),
    /// About networks that move over from other IPAMs.
    Moves(MoveFact),
}

impl Fact {
    /// The network that the fact is about; `None` if it is about the whole node.
    #[must_use]
    pub fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Ledger(fact) => Some(fact.network()),
            Self::Choices(fact) => Some(fact.network()),
            Self::Components(_) => None,
            Self::Claims(fact) => Some(fact.network()),
            Self::States(fact) => Some(fact.network()),
            Self::Delegations(fact) => Some(fact.network()),
            Self::Effects(fact) => fact.network(),
            Self::Moves(fact) => Some(fact.network()),
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

impl From<StateFact> for Fact {
    fn from(fact: StateFact) -> Self {
        Self::States(fact)
    }
}

impl From<ComponentFact> for Fact {
    fn from(fact: ComponentFact) -> Self {
        Self::Components(fact)
    }
}

impl From<DelegationFact> for Fact {
    fn from(fact: DelegationFact) -> Self {
        Self::Delegations(fact)
    }
}

impl From<ClaimFact> for Fact {
    fn from(fact: ClaimFact) -> Self {
        Self::Claims(fact)
    }
}

impl From<EffectFact> for Fact {
    fn from(fact: EffectFact) -> Self {
        Self::Effects(fact)
    }
}

impl From<MoveFact> for Fact {
    fn from(fact: MoveFact) -> Self {
        Self::Moves(fact)
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{Moment, PolicyName, PolicyStamp};

    use super::*;

    #[test]
    fn a_fact_is_about_its_network_or_about_the_node() {
        let (network, at) = (NetworkName::new("net").unwrap(), Moment::default());
        let forgotten: Fact = StateFact::Forgotten { network: network.clone(), at }.into();
        assert_eq!(forgotten.network(), Some(&network));
        let policy = PolicyStamp { name: PolicyName::new("a").unwrap(), digest: "00".into() };
        assert_eq!(Fact::from(ComponentFact::Unloaded { policy, at }).network(), None);
    }
}
