//! The chapter `delegations`: the requests to the delegates of networks, and the addresses that they still have to take back.
//!
//! A delegation begins before the delegate is asked and ends once the delegate has confirmed that it has nothing for the owner
//! any more. In between, the book alone says whether it is in use: one whose allocation is not in the book has to be undone
//! at the delegate, independently of what ended the allocation, and when.
//!
//! ```text
//!          asked                 given (with its allocation)
//!  none ──────────▶ asked ─────────────────────────────────────▶ given
//!    ▲                │ failed, refused, or the daemon crashed     │ the allocation was released
//!    │                ▼                                            ▼
//!    └──────────── to be undone at the delegate ◀──────────────────┘
//!       ended
//! ```

mod delegation;
mod fact;

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_types::{NetworkName, Owner};

pub use self::delegation::{Delegation, Given};
pub use self::fact::DelegationFact;

/// All delegations of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delegations {
    through: u64,
    by_network: BTreeMap<NetworkName, BTreeMap<Owner, Arc<Delegation>>>,
}

impl Delegations {
    /// Restores the delegations of a snapshot, which are current as of a place in the log.
    #[must_use]
    pub fn restore(through: u64, all: impl IntoIterator<Item = Delegation>) -> Self {
        let mut delegations = Self { through, ..Self::default() };
        all.into_iter().for_each(|delegation| delegations.insert(Arc::new(delegation)));
        delegations
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// All delegations, by network and owner.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Delegation>> {
        self.by_network.values().flat_map(BTreeMap::values)
    }

    /// The delegations of a network, by owner.
    pub fn of(&self, network: &NetworkName) -> impl Iterator<Item = &Arc<Delegation>> {
        self.by_network.get(network).into_iter().flat_map(BTreeMap::values)
    }

    /// The delegation of an owner.
    #[must_use]
    pub fn get(&self, network: &NetworkName, owner: &Owner) -> Option<&Arc<Delegation>> {
        self.by_network.get(network)?.get(owner)
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &DelegationFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        match fact {
            DelegationFact::Asked(delegation) => self.insert(Arc::new(delegation.clone())),
            DelegationFact::Given { network, owner, given, .. } => {
                let owners = self.by_network.get_mut(network);
                if let Some(delegation) = owners.and_then(|owners| owners.get_mut(owner)) {
                    Arc::make_mut(delegation).given = Some(given.clone());
                }
            }
            DelegationFact::Ended { network, owner, .. } => self.remove(network, owner),
        }
    }

    fn insert(&mut self, delegation: Arc<Delegation>) {
        let owners = self.by_network.entry(delegation.network.clone()).or_default();
        owners.insert(delegation.owner.clone(), delegation);
    }

    fn remove(&mut self, network: &NetworkName, owner: &Owner) {
        let Some(owners) = self.by_network.get_mut(network) else { return };
        owners.remove(owner);
        if owners.is_empty() {
            self.by_network.remove(network);
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{ContainerId, DelegateName, Generation, InterfaceName, Moment};

    use super::*;

    fn network() -> NetworkName {
        NetworkName::new("net").unwrap()
    }

    fn owner(container: &str) -> Owner {
        let container = ContainerId::new(container).unwrap();
        Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() }
    }

    fn delegation(container: &str) -> Delegation {
        Delegation {
            network: network(),
            owner: owner(container),
            delegate: DelegateName::new("azure").unwrap(),
            container: ContainerId::new(container).unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
            netns: "".into(),
            ipam: "{}".into(),
            since: Moment::default(),
            given: None,
        }
    }

    #[test]
    fn a_snapshot_says_what_there_is_and_as_of_where() {
        let delegations = Delegations::restore(7, [delegation("a"), delegation("b")]);
        assert_eq!((delegations.through(), delegations.all().count()), (7, 2));
        assert!(delegations.get(&network(), &owner("b")).is_some());
    }

    #[test]
    fn a_delegation_lasts_until_the_delegate_has_taken_everything_back() {
        let mut delegations = Delegations::default();
        delegations.apply(1, &DelegationFact::Asked(delegation("a")));
        delegations.apply(2, &DelegationFact::Asked(delegation("b")));
        let given = Given { generation: Generation(7), addresses: vec!["10.0.0.2".parse().unwrap()] };
        let fact = |owner| DelegationFact::Given {
            network: network(),
            owner,
            given: given.clone(),
            at: Moment::default(),
        };
        delegations.apply(3, &fact(owner("a")));
        delegations.apply(4, &fact(owner("unknown")));
        assert_eq!(delegations.get(&network(), &owner("a")).unwrap().given, Some(given.clone()));
        assert_eq!(delegations.get(&network(), &owner("b")).unwrap().given, None);
        assert_eq!((delegations.all().count(), delegations.of(&network()).count()), (2, 2));
        // Asked again: the delegate has to take back first what it gave before.
        delegations.apply(5, &DelegationFact::Asked(delegation("a")));
        assert_eq!(delegations.get(&network(), &owner("a")).unwrap().given, None);
        for (place, container) in [(6, "a"), (7, "b"), (8, "b")] {
            let (network, owner, at) = (network(), owner(container), Moment::default());
            delegations.apply(place, &DelegationFact::Ended { network, owner, at });
        }
        delegations.apply(3, &DelegationFact::Asked(delegation("c")));
        assert_eq!((delegations.all().count(), delegations.through()), (0, 8));
    }
}
