//! The checkpoint of the Amazon VPC CNI's ipamd: one JSON file, `vpc-cni-ipam/1`.
//!
//! Its form is that of `CheckpointData` in `pkg/ipamd/datastore/data_store.go` of amazon-vpc-cni-k8s.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The only supported version.
pub(super) const VERSION: &str = "vpc-cni-ipam/1";

#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) version: String,
    #[serde(default)]
    pub(super) allocations: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    #[serde(default)]
    pub(super) network_name: String,
    #[serde(default, rename = "containerID")]
    pub(super) container_id: String,
    #[serde(default)]
    pub(super) if_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) ipv4: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) ipv6: String,
    /// Nanoseconds since the Unix epoch.
    #[serde(default)]
    pub(super) allocation_timestamp: Option<i64>,
    #[serde(default)]
    pub(super) metadata: Metadata,
}

impl Row {
    /// Whether the row has an address.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        [&self.ipv4, &self.ipv6].iter().any(|text| text.parse() == Ok(address))
    }
}

/// The pod. At its start ipamd drops a row whose pod has no link on the host under the name that ipamd gives it, but keeps
/// one that names no pod.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Metadata {
    #[serde(default, rename = "k8sPodNamespace", skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    #[serde(default, rename = "k8sPodName", skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
}
