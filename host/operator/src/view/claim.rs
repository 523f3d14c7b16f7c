//! Claims, as far as the operator reads them.
//!
//! The users of any namespace write them, and the API server bounds an object by its size alone: 1.5 MB, in which there is room for tens of thousands of
//! labels. In memory each takes ten times its text. So an object of theirs costs what is read of it: the rest is passed over while it is read.

use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tenure_cluster::objects::ipam_claim::owner_pod;
use tenure_cluster::{
    AddressClaim, AddressClaimSpec, AddressClaimStatus, IPAMClaim, IPAMClaimSpec, IPAMClaimStatus,
};

/// The most finalizers of a claim that are read. A list of so many may be longer.
pub const MAX_FINALIZERS: usize = 16;

/// The objects of a page of a list. Each may have 1.5 MB.
pub(super) const PAGE: u32 = 20;

/// The most characters of a name that are read: one more than any has.
const NAME: usize = 254;

/// The most characters of an address that are read.
const ADDRESS: usize = 64;

/// The most addresses and conditions of an IPAMClaim that are read. The standard has one address of each family, and the operator one condition.
const LISTED: usize = 16;

/// An AddressClaim. Its definition bounds the spec and the status.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(inherit = "AddressClaim")]
pub struct WatchedClaim {
    /// The part of the metadata.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// The asking half.
    pub spec: AddressClaimSpec,
    /// The answering half.
    #[serde(default)]
    pub status: Option<AddressClaimStatus>,
}

/// An IPAMClaim. Its definition is somebody else's, and bounds nothing.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(inherit = "IPAMClaim")]
pub struct WatchedIpamClaim {
    /// The part of the metadata.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// The part of the asking half.
    #[serde(default, deserialize_with = "ipam_spec")]
    pub spec: IPAMClaimSpec,
    /// The part of the answering half.
    #[serde(default, deserialize_with = "ipam_status")]
    pub status: Option<IPAMClaimStatus>,
}

impl From<WatchedClaim> for AddressClaim {
    fn from(object: WatchedClaim) -> Self {
        let WatchedClaim { metadata, spec, status } = object;
        Self { metadata, spec, status }
    }
}

impl From<WatchedIpamClaim> for IPAMClaim {
    fn from(object: WatchedIpamClaim) -> Self {
        let WatchedIpamClaim { metadata, spec, status } = object;
        Self { metadata, spec, status }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<FirstOf<String, MAX_FINALIZERS>>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let read = ReadMetadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: read.name,
        namespace: read.namespace,
        uid: read.uid,
        resource_version: read.resource_version,
        generation: read.generation,
        creation_timestamp: read.creation_timestamp,
        deletion_timestamp: read.deletion_timestamp,
        finalizers: read.finalizers.map(|names| names.0),
        ..ObjectMeta::default()
    })
}

/// The asking half of an IPAMClaim. A claim may be without one, of which nobody may lose the others.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReadIpamSpec {
    network: BeginningOf<NAME>,
    ip_requests: FirstOf<BeginningOf<ADDRESS>, LISTED>,
}

fn ipam_spec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IPAMClaimSpec, D::Error> {
    let ReadIpamSpec { network, ip_requests } = ReadIpamSpec::deserialize(deserializer)?;
    Ok(IPAMClaimSpec { network: network.0, ip_requests: ip_requests.texts(), ..IPAMClaimSpec::default() })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReadIpamStatus {
    ips: FirstOf<BeginningOf<ADDRESS>, LISTED>,
    #[serde(deserialize_with = "owner_pod")]
    owner_pod: String,
    conditions: FirstOf<Condition, LISTED>,
}

fn ipam_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IPAMClaimStatus>, D::Error> {
    let read = Option::<ReadIpamStatus>::deserialize(deserializer)?;
    Ok(read.map(|ReadIpamStatus { ips, owner_pod, conditions }| IPAMClaimStatus {
        ips: ips.texts(),
        owner_pod,
        conditions: conditions.0,
    }))
}

/// The first elements of a list, at most so many; the others are passed over.
struct FirstOf<T, const MOST: usize>(Vec<T>);

impl<T, const MOST: usize> Default for FirstOf<T, MOST> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<const LENGTH: usize, const MOST: usize> FirstOf<BeginningOf<LENGTH>, MOST> {
    fn texts(self) -> Vec<String> {
        self.0.into_iter().map(|text| text.0).collect()
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for FirstOf<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FirstVisitor(PhantomData))
    }
}

struct FirstVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for FirstVisitor<T, MOST> {
    type Value = FirstOf<T, MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < MOST {
            match list.next_element()? {
                Some(element) => first.push(element),
                None => return Ok(FirstOf(first)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FirstOf(first))
    }
}

/// The beginning of a text, at most so many characters.
#[derive(Default)]
struct BeginningOf<const MOST: usize>(String);

impl<'de, const MOST: usize> Deserialize<'de> for BeginningOf<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(BeginningVisitor)
    }
}

struct BeginningVisitor<const MOST: usize>;

impl<const MOST: usize> Visitor<'_> for BeginningVisitor<MOST> {
    type Value = BeginningOf<MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(BeginningOf(text.chars().take(MOST).collect()))
    }
}

#[cfg(test)]
mod tests;
