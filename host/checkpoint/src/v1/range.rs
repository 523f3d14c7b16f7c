//! Ranges, pools and attributes as they are stored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_types::{Attributes, Generation, Moment, Need, Pool, PoolName, Range, RangeName, Supply};

/// Names and values, as an object.
pub(super) type StoredAttributes<'a> = BTreeMap<Cow<'a, str>, Cow<'a, str>>;

pub(super) fn stored_attributes(attributes: &Attributes) -> StoredAttributes<'_> {
    attributes.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

pub(super) fn attributes(stored: &StoredAttributes<'_>) -> Result<Attributes, String> {
    if stored.is_empty() {
        return Ok(Attributes::default());
    }
    Attributes::new(stored.iter()).map_err(|error| error.to_string())
}

/// The same as a form.
pub(super) struct Named;

impl Named {
    pub(super) fn serialize<S: Serializer>(attributes: &Attributes, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(attributes.iter())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Attributes, D::Error> {
        attributes(&StoredAttributes::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// The number of an allocation.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Generation", transparent)]
pub(super) struct StoredGeneration(u64);

/// A moment: nanoseconds of the boot clock, and milliseconds of the wall clock.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StoredMoment {
    boot_ns: u64,
    wall_ms: u64,
}

impl From<Moment> for StoredMoment {
    fn from(Moment { boot_ns, wall_ms }: Moment) -> Self {
        Self { boot_ns, wall_ms }
    }
}

impl From<&Moment> for StoredMoment {
    fn from(moment: &Moment) -> Self {
        (*moment).into()
    }
}

impl From<StoredMoment> for Moment {
    fn from(StoredMoment { boot_ns, wall_ms }: StoredMoment) -> Self {
        Self { boot_ns, wall_ms }
    }
}

/// A range. Its name is omitted if it is the default one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRange<'a> {
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    name: Cow<'a, str>,
    subnet: IpNet,
    first: IpAddr,
    last: IpAddr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
    prefix_length: u8,
    #[serde(borrow, default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: StoredAttributes<'a>,
}

impl<'a> From<&'a Range> for StoredRange<'a> {
    fn from(range: &'a Range) -> Self {
        let name = if range.has_default_name() { "" } else { range.name().as_str() };
        Self {
            name: name.into(),
            subnet: range.subnet(),
            first: range.first(),
            last: range.last(),
            gateway: range.gateway(),
            prefix_length: range.prefix_length(),
            attributes: stored_attributes(range.attributes()),
        }
    }
}

impl TryFrom<StoredRange<'_>> for Range {
    type Error = String;

    fn try_from(stored: StoredRange<'_>) -> Result<Self, String> {
        let StoredRange { name, subnet, first, last, gateway, prefix_length, attributes: named } = stored;
        let range =
            Self::new(subnet, first, last, gateway, prefix_length).map_err(|error| error.to_string())?;
        let range = range.with(attributes(&named)?);
        match &*name {
            "" => Ok(range),
            name => Ok(range.named(RangeName::new(name).map_err(|error| error.to_string())?)),
        }
    }
}

/// A pool without its ranges.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredPool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    supply: StoredSupply,
    need: StoredNeed,
    #[serde(borrow, default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: StoredAttributes<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredSupply {
    Configuration,
    Host,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredNeed {
    Always,
    Optional,
}

impl<'a> From<&'a Pool> for StoredPool<'a> {
    fn from(pool: &'a Pool) -> Self {
        Self {
            name: pool.name.as_str().into(),
            supply: match pool.supply {
                Supply::Configuration => StoredSupply::Configuration,
                Supply::Host => StoredSupply::Host,
            },
            need: match pool.need {
                Need::Always => StoredNeed::Always,
                Need::Optional => StoredNeed::Optional,
            },
            attributes: stored_attributes(&pool.attributes),
        }
    }
}

impl TryFrom<StoredPool<'_>> for Pool {
    type Error = String;

    fn try_from(stored: StoredPool<'_>) -> Result<Self, String> {
        Ok(Self {
            name: PoolName::new(&stored.name).map_err(|error| error.to_string())?,
            supply: match stored.supply {
                StoredSupply::Configuration => Supply::Configuration,
                StoredSupply::Host => Supply::Host,
            },
            need: match stored.need {
                StoredNeed::Always => Need::Always,
                StoredNeed::Optional => Need::Optional,
            },
            attributes: attributes(&stored.attributes)?,
        })
    }
}
