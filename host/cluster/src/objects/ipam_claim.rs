//! `IPAMClaim` of `k8s.cni.cncf.io`: the standard claim for an address that outlives its pod, which tools for virtual machines create.
//!
//! Its definition is somebody else's, and a cluster may be without it. Two are in use under one version, which differ in the shape of `status.ownerPod`:
//! a text that is required, and, since v0.5.1-alpha, an object with a `name`. Either is read, and what is written follows the cluster's definition.

use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// The most characters of a pod's name that are read: one more than any has.
const NAME: usize = 254;

/// The version that is served.
const VERSION: &str = "v1alpha1";

/// The asking half: one interface of one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "k8s.cni.cncf.io",
    version = "v1alpha1",
    kind = "IPAMClaim",
    plural = "ipamclaims",
    namespaced,
    schema = "disabled",
    derive = "PartialEq",
    status = "IPAMClaimStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct IPAMClaimSpec {
    /// The name in the network's CNI configuration.
    pub network: String,
    /// The interface of the pod.
    pub interface: String,
    /// The addresses that are asked for, as CIDRs, at most one of each family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_requests: Vec<String>,
}

/// The answering half.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IPAMClaimStatus {
    /// The addresses, as CIDRs.
    #[serde(default)]
    pub ips: Vec<String>,
    /// The name of the pod that has them; empty if none has.
    #[serde(default, deserialize_with = "owner_pod")]
    pub owner_pod: String,
    /// The conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// The shape of `status.ownerPod` in a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerPodShape {
    /// The name, empty if no pod has the addresses.
    Text,
    /// An object with the name, missing if no pod has the addresses.
    Object,
    /// There is no such field.
    Missing,
}

impl OwnerPodShape {
    /// The shape in the definition of a cluster.
    #[must_use]
    pub fn of(definition: &CustomResourceDefinition) -> Self {
        let version = definition.spec.versions.iter().find(|version| version.name == VERSION);
        let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
        let status = schema.and_then(|schema| schema.properties.as_ref()?.get("status"));
        match status.and_then(|status| status.properties.as_ref()?.get("ownerPod")) {
            None => Self::Missing,
            Some(field) if field.type_.as_deref() == Some("object") => Self::Object,
            Some(_) => Self::Text,
        }
    }

    /// A status in this shape, for a merge: a field that is null goes.
    #[must_use]
    pub fn patch(self, status: &IPAMClaimStatus) -> Value {
        let mut patch = json!(status);
        let Some(fields) = patch.as_object_mut() else { return patch };
        match self {
            Self::Text => {}
            Self::Object if status.owner_pod.is_empty() => {
                fields.insert("ownerPod".to_owned(), Value::Null);
            }
            Self::Object => {
                fields.insert("ownerPod".to_owned(), json!({ "name": status.owner_pod }));
            }
            Self::Missing => {
                fields.remove("ownerPod");
            }
        }
        patch
    }
}

/// Reads the name of the owner's pod in either shape. Of any other one it is empty: no claim of another tool keeps anybody from reading the others.
///
/// # Errors
/// If it is not JSON.
pub fn owner_pod<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(OwnerPodVisitor)
}

struct OwnerPod(String);

impl<'de> Deserialize<'de> for OwnerPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        owner_pod(deserializer).map(Self)
    }
}

struct OwnerPodVisitor;

impl<'de> Visitor<'de> for OwnerPodVisitor {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name, or an object with a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.chars().take(NAME).collect())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<String, A::Error> {
        let mut found = String::new();
        while let Some(field) = fields.next_key::<String>()? {
            match field.as_str() {
                "name" => found = fields.next_value::<OwnerPod>()?.0,
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<String, E> {
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests;
