//! The chapter `delegations` as it is stored.

use std::borrow::Cow;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::delegations::Given;
use tenure_ledger::{Delegation, DelegationFact, Delegations};
use tenure_types::{ContainerId, DelegateName, Generation, InterfaceName, Moment, NetworkName, Owner};

use super::allocation::StoredOwner;
use super::form::{As, Lent, Maybe, form};
use super::range::{StoredGeneration, StoredMoment};
use super::stored::Stored;

#[derive(Serialize, Deserialize)]
#[serde(remote = "DelegationFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Asked(#[serde(with = "StoredDelegation")] Delegation),
    Given {
        network: NetworkName,
        #[serde(with = "As::<StoredOwner<'_>>")]
        owner: Owner,
        #[serde(with = "StoredGiven")]
        given: Given,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Ended {
        network: NetworkName,
        #[serde(with = "As::<StoredOwner<'_>>")]
        owner: Owner,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
}

form!(StoredFact of DelegationFact);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Delegation")]
struct StoredDelegation {
    network: NetworkName,
    #[serde(with = "As::<StoredOwner<'_>>")]
    owner: Owner,
    delegate: DelegateName,
    container: ContainerId,
    interface: InterfaceName,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    netns: Box<str>,
    ipam: Arc<str>,
    #[serde(with = "As::<StoredMoment>")]
    since: Moment,
    #[serde(with = "Maybe::<StoredGiven>", default, skip_serializing_if = "Option::is_none")]
    given: Option<Given>,
}

form!(StoredDelegation of Delegation);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Given")]
struct StoredGiven {
    #[serde(with = "StoredGeneration")]
    generation: Generation,
    addresses: Vec<IpAddr>,
}

form!(StoredGiven of Given);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem<'a> {
    Delegation(#[serde(with = "Lent::<StoredDelegation>")] Cow<'a, Delegation>),
}

/// The delegations that were read.
#[derive(Debug, Default)]
pub(crate) struct ReadDelegations {
    all: Vec<Delegation>,
    /// Kept once for all the owners that were asked with it.
    ipam: HashSet<Arc<str>>,
}

impl ReadDelegations {
    fn share(&mut self, delegation: &mut Delegation) {
        match self.ipam.get(&delegation.ipam) {
            Some(known) => delegation.ipam = Arc::clone(known),
            None => _ = self.ipam.insert(Arc::clone(&delegation.ipam)),
        }
    }
}

impl Stored for Delegations {
    const NAME: &'static str = "delegations";

    type Facts = StoredFact;
    type Item<'a> = StoredItem<'a>;
    type Parts = ReadDelegations;

    fn items(&self) -> impl Iterator<Item = StoredItem<'_>> {
        self.all().map(|delegation| StoredItem::Delegation(Cow::Borrowed(delegation)))
    }

    fn add(read: &mut ReadDelegations, StoredItem::Delegation(item): StoredItem<'_>) -> Result<(), String> {
        let mut delegation = item.into_owned();
        read.share(&mut delegation);
        read.all.push(delegation);
        Ok(())
    }

    fn restore(through: u64, read: &mut ReadDelegations) -> Self {
        Self::restore(through, std::mem::take(&mut read.all))
    }

    fn share(read: &mut ReadDelegations, fact: &mut DelegationFact) {
        if let DelegationFact::Asked(delegation) = fact {
            read.share(delegation);
        }
    }
}
