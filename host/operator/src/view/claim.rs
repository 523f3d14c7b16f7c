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
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::view::{ClaimView, KeptObject};

    fn metadata() -> Value {
        json!({
            "namespace": "default", "name": "a", "uid": "00000000-0000-0000-0000-00000000000a",
            "resourceVersion": "5", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["tests/own"],
        })
    }

    /// The same metadata with everything that a user may put into it.
    fn large() -> Value {
        let labels: BTreeMap<String, &str> = (0..70_000).map(|number| (format!("l{number}"), "")).collect();
        let fields: BTreeMap<String, Value> =
            labels.keys().map(|key| (format!("f:{key}"), json!({}))).collect();
        let mut metadata = metadata();
        metadata["labels"] = json!(labels);
        metadata["annotations"] = json!({ "a": "b" });
        metadata["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u" }]);
        metadata["managedFields"] =
            json!([{ "manager": "m", "fieldsType": "FieldsV1", "fieldsV1": { "f:metadata": fields } }]);
        metadata
    }

    /// As a watch reads it: from text.
    fn read<T: serde::de::DeserializeOwned>(object: &Value) -> T {
        serde_json::from_str(&object.to_string()).unwrap()
    }

    #[test]
    fn a_claim_costs_what_is_read_of_it() {
        let claim = |metadata: Value| json!({ "metadata": metadata, "spec": { "pool": "names" } });
        let kept = |metadata| KeptObject::<ClaimView>::of(read(&claim(metadata)));
        assert!(kept(metadata()).read.is_ok());
        assert_eq!(kept(large()), kept(metadata()));
        let ipam = |metadata: Value| json!({ "metadata": metadata, "spec": { "network": "blue", "interface": "net1" } });
        let kept = |metadata| KeptObject::<IPAMClaim>::of(read(&ipam(metadata)));
        assert!(kept(metadata()).read.is_ok());
        assert_eq!(kept(large()), kept(metadata()));
    }

    #[test]
    fn a_list_of_finalizers_is_cut() {
        let mut long = metadata();
        let names: Vec<String> = (0..100).map(|number| format!("tests/{number}")).collect();
        long["finalizers"] = json!(names);
        let claim: WatchedClaim = read(&json!({ "metadata": long, "spec": { "pool": "names" } }));
        assert_eq!(claim.metadata.finalizers.unwrap(), names[..MAX_FINALIZERS]);
    }

    #[test]
    fn an_ipam_claim_is_read_whatever_its_definition_lets_in() {
        let long = "x".repeat(1_000_000);
        let requests: Vec<&str> =
            std::iter::once("10.0.0.5/29").chain(std::iter::repeat_n(&*long, 100)).collect();
        let spec = json!({ "network": long, "interface": long, "ipRequests": requests });
        let status = json!({ "ips": requests, "ownerPod": long, "conditions": [] });
        let claim: WatchedIpamClaim =
            read(&json!({ "metadata": metadata(), "spec": spec, "status": status }));
        assert_eq!((claim.spec.network.len(), claim.spec.interface.as_str()), (NAME, ""));
        let status = claim.status.unwrap();
        for cut in [&claim.spec.ip_requests, &status.ips] {
            assert_eq!((cut.len(), cut[0].as_str(), cut[1].len()), (LISTED, "10.0.0.5/29", ADDRESS));
        }
        assert_eq!(status.owner_pod.len(), NAME);
        // The definition since v0.5.1-alpha.
        let status = json!({ "ips": [], "ownerPod": { "name": "p" } });
        let claim: WatchedIpamClaim =
            read(&json!({ "metadata": metadata(), "spec": spec, "status": status }));
        assert_eq!(claim.status.unwrap().owner_pod, "p");
        // One without a spec keeps nobody from reading the others.
        let bare: WatchedIpamClaim = read(&json!({ "metadata": metadata() }));
        assert_eq!((bare.spec, bare.status), (IPAMClaimSpec::default(), None));
    }
}
