//! The chapter `claims` as it is stored.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Claim, ClaimFact, ClaimKey, Claimant, Claims, Families, Presence, Wish};
use tenure_types::{AgentName, ClaimName, Generation, HolderName, Moment, NetworkName, ScopeName};

use super::form::{As, form};
use super::range::{StoredGeneration, StoredMoment};
use super::stored::Stored;

#[derive(Serialize, Deserialize)]
#[serde(remote = "ClaimFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Claimed(#[serde(with = "As::<StoredClaim>")] Claim),
    Confirmed {
        #[serde(rename = "of", with = "StoredKey")]
        key: ClaimKey,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Released {
        #[serde(rename = "of", with = "StoredKey")]
        key: ClaimKey,
        #[serde(with = "StoredGeneration")]
        generation: Generation,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
        reason: Box<str>,
    },
}

form!(StoredFact of ClaimFact);

#[derive(Serialize, Deserialize)]
#[serde(remote = "ClaimKey")]
struct StoredKey {
    network: NetworkName,
    agent: AgentName,
    #[serde(rename = "claim")]
    name: ClaimName,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredClaim {
    #[serde(with = "StoredKey")]
    of: ClaimKey,
    #[serde(with = "StoredGeneration")]
    generation: Generation,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ipv4: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ipv6: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    optional_ipv4: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    optional_ipv6: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holder: Option<HolderName>,
    made_at: StoredMoment,
    /// The time of the agent's first request for it in the boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    here_at: Option<StoredMoment>,
    /// Since when it is reserved; present if `here_at` is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reserved_at: Option<StoredMoment>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem {
    Claim(Box<StoredClaim>),
}

impl From<&Claim> for StoredClaim {
    fn from(Claim { key, wish, generation, made_at, presence }: &Claim) -> Self {
        let Wish { addresses, families: Families { ipv4, ipv6 }, optional, lease, claimant } = wish;
        let (here_at, reserved_at) = match presence {
            Presence::Here(at) => (Some(at.into()), None),
            Presence::Reserved(at) => (None, Some(at.into())),
        };
        Self {
            of: key.clone(),
            generation: *generation,
            addresses: addresses.clone(),
            ipv4: *ipv4,
            ipv6: *ipv6,
            lease_seconds: lease.map(|lease| lease.as_secs()),
            optional_ipv4: optional.ipv4,
            optional_ipv6: optional.ipv6,
            scope: claimant.scope.clone(),
            holder: claimant.holder.clone(),
            made_at: made_at.into(),
            here_at,
            reserved_at,
        }
    }
}

impl TryFrom<StoredClaim> for Claim {
    type Error = &'static str;

    fn try_from(stored: StoredClaim) -> Result<Self, &'static str> {
        let presence = match (stored.here_at, stored.reserved_at) {
            (Some(at), None) => Presence::Here(at.into()),
            (None, Some(at)) => Presence::Reserved(at.into()),
            _ => return Err("a claim needs either here_at or reserved_at"),
        };
        let wish = Wish {
            addresses: stored.addresses,
            families: Families { ipv4: stored.ipv4, ipv6: stored.ipv6 },
            optional: Families { ipv4: stored.optional_ipv4, ipv6: stored.optional_ipv6 },
            lease: stored.lease_seconds.map(Duration::from_secs),
            claimant: Claimant { scope: stored.scope, holder: stored.holder },
        };
        let (generation, made_at) = (stored.generation, stored.made_at.into());
        Ok(Self { key: stored.of, wish, generation, made_at, presence })
    }
}

impl Stored for Claims {
    const NAME: &'static str = "claims";

    type Facts = StoredFact;
    type Item<'a> = StoredItem;
    type Parts = Vec<Claim>;

    fn items(&self) -> impl Iterator<Item = StoredItem> {
        self.all().map(|claim| StoredItem::Claim(Box::new(claim.into())))
    }

    fn add(all: &mut Vec<Claim>, StoredItem::Claim(claim): StoredItem) -> Result<(), String> {
        all.push((*claim).try_into()?);
        Ok(())
    }

    fn restore(through: u64, all: &mut Vec<Claim>) -> Self {
        Self::restore(through, std::mem::take(all))
    }

    /// Ends no claim; each is reserved for its agent from now on.
    fn enter_boot(&mut self, now: Moment) {
        Self::enter_boot(self, now);
    }
}
