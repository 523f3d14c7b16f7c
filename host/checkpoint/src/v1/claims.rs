//! The chapter `claims` as it is stored.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Claim, ClaimFact, ClaimKey, Claims, Families, Presence, Wish};
use tenure_types::{AgentName, ClaimName, Generation, Moment, NetworkName};

use super::range::StoredMoment;
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "claims";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    #[serde(borrow)]
    Claimed(StoredClaim<'a>),
    Confirmed {
        #[serde(borrow)]
        of: StoredKey<'a>,
        at: StoredMoment,
    },
    Released {
        #[serde(borrow)]
        of: StoredKey<'a>,
        generation: u64,
        at: StoredMoment,
        #[serde(borrow)]
        reason: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredKey<'a> {
    #[serde(borrow)]
    network: Cow<'a, str>,
    #[serde(borrow)]
    agent: Cow<'a, str>,
    #[serde(borrow)]
    claim: Cow<'a, str>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredClaim<'a> {
    #[serde(borrow)]
    of: StoredKey<'a>,
    generation: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ipv4: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ipv6: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_seconds: Option<u64>,
    made_at: StoredMoment,
    /// When the agent first asked for it in the boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    here_at: Option<StoredMoment>,
    /// Since when it is reserved; present if `here_at` is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reserved_at: Option<StoredMoment>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    #[serde(borrow)]
    Claim(StoredClaim<'a>),
}

impl<'a> From<&'a ClaimKey> for StoredKey<'a> {
    fn from(ClaimKey { agent, network, name }: &'a ClaimKey) -> Self {
        Self { network: network.as_str().into(), agent: agent.as_str().into(), claim: name.as_str().into() }
    }
}

impl TryFrom<StoredKey<'_>> for ClaimKey {
    type Error = String;

    fn try_from(stored: StoredKey<'_>) -> Result<Self, String> {
        let text = |error: tenure_types::InvalidName| error.to_string();
        Ok(Self {
            agent: AgentName::new(&stored.agent).map_err(text)?,
            network: NetworkName::new(&stored.network).map_err(text)?,
            name: ClaimName::new(&stored.claim).map_err(text)?,
        })
    }
}

impl<'a> From<&'a Claim> for StoredClaim<'a> {
    fn from(Claim { key, wish, generation, made_at, presence }: &'a Claim) -> Self {
        let Wish { addresses, families: Families { ipv4, ipv6 }, lease } = wish;
        let (here_at, reserved_at) = match presence {
            Presence::Here(at) => (Some((*at).into()), None),
            Presence::Reserved(at) => (None, Some((*at).into())),
        };
        Self {
            of: key.into(),
            generation: generation.0,
            addresses: addresses.clone(),
            ipv4: *ipv4,
            ipv6: *ipv6,
            lease_seconds: lease.map(|lease| lease.as_secs()),
            made_at: (*made_at).into(),
            here_at,
            reserved_at,
        }
    }
}

impl TryFrom<StoredClaim<'_>> for Claim {
    type Error = String;

    fn try_from(stored: StoredClaim<'_>) -> Result<Self, String> {
        let presence = match (stored.here_at, stored.reserved_at) {
            (Some(at), None) => Presence::Here(at.into()),
            (None, Some(at)) => Presence::Reserved(at.into()),
            _ => return Err("a claim needs either here_at or reserved_at".to_owned()),
        };
        let families = Families { ipv4: stored.ipv4, ipv6: stored.ipv6 };
        let lease = stored.lease_seconds.map(Duration::from_secs);
        Ok(Self {
            key: stored.of.try_into()?,
            wish: Wish { addresses: stored.addresses, families, lease },
            generation: Generation(stored.generation),
            made_at: stored.made_at.into(),
            presence,
        })
    }
}

pub(super) fn encode(fact: &ClaimFact) -> Vec<u8> {
    json(&match fact {
        ClaimFact::Claimed(claim) => StoredFact::Claimed(claim.into()),
        ClaimFact::Confirmed { key, at } => StoredFact::Confirmed { of: key.into(), at: (*at).into() },
        ClaimFact::Released { key, generation, at, reason } => StoredFact::Released {
            of: key.into(),
            generation: generation.0,
            at: (*at).into(),
            reason: (&**reason).into(),
        },
    })
}

pub(super) fn decode(text: &str) -> Result<ClaimFact, String> {
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Claimed(claim) => ClaimFact::Claimed(claim.try_into()?),
        StoredFact::Confirmed { of, at } => ClaimFact::Confirmed { key: of.try_into()?, at: at.into() },
        StoredFact::Released { of, generation, at, reason } => ClaimFact::Released {
            key: of.try_into()?,
            generation: Generation(generation),
            at: at.into(),
            reason: (&*reason).into(),
        },
    })
}

/// The items of a snapshot; none if nothing was ever claimed.
pub(super) fn items(claims: &Claims) -> Vec<Line> {
    if *claims == Claims::default() {
        return Vec::new();
    }
    let through = line(CHAPTER, json(&StoredItem::Through(claims.through())));
    let all = claims.all().map(|claim| line(CHAPTER, json(&StoredItem::Claim(claim.into()))));
    [through].into_iter().chain(all).collect()
}

/// The claims during recovery.
#[derive(Debug, Default)]
pub(crate) struct Claiming {
    claims: Claims,
    through: u64,
    all: Vec<Claim>,
}

impl Claiming {
    pub(crate) fn into_claims(self) -> Claims {
        self.claims
    }
}

impl Chapter for Claiming {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        self.claims.apply(place, &decode(json).map_err(Refused::Malformed)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        match serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::Claim(claim) => self.all.push(claim.try_into().map_err(Refused::Malformed)?),
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.claims = Claims::restore(self.through, std::mem::take(&mut self.all));
        Ok(())
    }

    /// Ends no claim; each is reserved for its agent from now on.
    fn enter_boot(&mut self, now: Moment) -> Result<usize, Refused> {
        self.claims.enter_boot(now);
        Ok(0)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
