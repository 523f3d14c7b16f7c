//! The chapter `delegations` as it is stored.

use std::borrow::Cow;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::delegations::Given;
use tenure_ledger::{Delegation, DelegationFact, Delegations};
use tenure_types::{ContainerId, DelegateName, Generation, InterfaceName, NetworkName, Owner};

use super::allocation::StoredOwner;
use super::range::StoredMoment;
use super::shared::Shared;
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "delegations";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    #[serde(borrow)]
    Asked(StoredDelegation<'a>),
    Given {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        owner: StoredOwner<'a>,
        given: StoredGiven,
        at: StoredMoment,
    },
    Ended {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        owner: StoredOwner<'a>,
        at: StoredMoment,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredDelegation<'a> {
    #[serde(borrow)]
    network: Cow<'a, str>,
    #[serde(borrow)]
    owner: StoredOwner<'a>,
    #[serde(borrow)]
    delegate: Cow<'a, str>,
    #[serde(borrow)]
    container: Cow<'a, str>,
    #[serde(borrow)]
    interface: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    netns: Cow<'a, str>,
    #[serde(borrow)]
    ipam: Cow<'a, str>,
    since: StoredMoment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<StoredGiven>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredGiven {
    generation: u64,
    addresses: Vec<IpAddr>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and only on its way to or from JSON")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    #[serde(borrow)]
    Delegation(StoredDelegation<'a>),
}

impl From<&Given> for StoredGiven {
    fn from(Given { generation, addresses }: &Given) -> Self {
        Self { generation: generation.0, addresses: addresses.clone() }
    }
}

impl From<StoredGiven> for Given {
    fn from(StoredGiven { generation, addresses }: StoredGiven) -> Self {
        Self { generation: Generation(generation), addresses }
    }
}

impl<'a> From<&'a Delegation> for StoredDelegation<'a> {
    fn from(delegation: &'a Delegation) -> Self {
        Self {
            network: delegation.network.as_str().into(),
            owner: (&delegation.owner).into(),
            delegate: delegation.delegate.as_str().into(),
            container: delegation.container.as_str().into(),
            interface: delegation.interface.as_str().into(),
            netns: (&*delegation.netns).into(),
            ipam: (&*delegation.ipam).into(),
            since: delegation.since.into(),
            given: delegation.given.as_ref().map(StoredGiven::from),
        }
    }
}

impl TryFrom<StoredDelegation<'_>> for Delegation {
    type Error = String;

    fn try_from(stored: StoredDelegation<'_>) -> Result<Self, String> {
        let text = |error: tenure_types::InvalidName| error.to_string();
        Ok(Self {
            network: NetworkName::new(&stored.network).map_err(text)?,
            owner: owner(stored.owner)?,
            delegate: DelegateName::new(&stored.delegate).map_err(text)?,
            container: ContainerId::new(&stored.container).map_err(text)?,
            interface: InterfaceName::new(&stored.interface).map_err(text)?,
            netns: stored.netns.into(),
            ipam: stored.ipam.into(),
            since: stored.since.into(),
            given: stored.given.map(Given::from),
        })
    }
}

fn owner(stored: StoredOwner<'_>) -> Result<Owner, String> {
    stored.read(&mut Shared::default())
}

pub(super) fn encode(fact: &DelegationFact) -> Vec<u8> {
    json(&match fact {
        DelegationFact::Asked(delegation) => StoredFact::Asked(delegation.into()),
        DelegationFact::Given { network, owner, given, at } => StoredFact::Given {
            network: network.as_str().into(),
            owner: owner.into(),
            given: given.into(),
            at: (*at).into(),
        },
        DelegationFact::Ended { network, owner, at } => {
            StoredFact::Ended { network: network.as_str().into(), owner: owner.into(), at: (*at).into() }
        }
    })
}

pub(super) fn decode(text: &str) -> Result<DelegationFact, String> {
    let name = |text: &str| NetworkName::new(text).map_err(|error| error.to_string());
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Asked(delegation) => DelegationFact::Asked(delegation.try_into()?),
        StoredFact::Given { network, owner: of, given, at } => DelegationFact::Given {
            network: name(&network)?,
            owner: owner(of)?,
            given: given.into(),
            at: at.into(),
        },
        StoredFact::Ended { network, owner: of, at } => {
            DelegationFact::Ended { network: name(&network)?, owner: owner(of)?, at: at.into() }
        }
    })
}

/// The items of a snapshot; none if no delegate was ever asked.
pub(super) fn items(delegations: &Delegations) -> Vec<Line> {
    if *delegations == Delegations::default() {
        return Vec::new();
    }
    let through = line(CHAPTER, json(&StoredItem::Through(delegations.through())));
    let all = delegations.all();
    let all = all.map(|delegation| line(CHAPTER, json(&StoredItem::Delegation(delegation.as_ref().into()))));
    [through].into_iter().chain(all).collect()
}

/// The delegations during recovery.
#[derive(Debug, Default)]
pub(crate) struct Delegating {
    delegations: Delegations,
    through: u64,
    all: Vec<Delegation>,
    /// Kept once for all the owners that were asked with it.
    ipam: HashSet<Arc<str>>,
}

impl Delegating {
    pub(crate) fn into_delegations(self) -> Delegations {
        self.delegations
    }

    fn share(&mut self, delegation: &mut Delegation) {
        match self.ipam.get(&delegation.ipam) {
            Some(known) => delegation.ipam = Arc::clone(known),
            None => _ = self.ipam.insert(Arc::clone(&delegation.ipam)),
        }
    }
}

impl Chapter for Delegating {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let mut fact = decode(json).map_err(Refused::Malformed)?;
        if let DelegationFact::Asked(delegation) = &mut fact {
            self.share(delegation);
        }
        self.delegations.apply(place, &fact);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        match serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::Delegation(stored) => {
                let mut delegation = stored.try_into().map_err(Refused::Malformed)?;
                self.share(&mut delegation);
                self.all.push(delegation);
            }
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.delegations = Delegations::restore(self.through, std::mem::take(&mut self.all));
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
