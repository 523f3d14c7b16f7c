//! The entries of the operator's half.

use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::objects::delivery::{BlockIndexRange, GatewayEntry, RouteEntry};
use crate::objects::reference::MarkEntry;
use crate::objects::schema;

/// The identity that the operator accepted for the node. A replacement under the same name overwrites the spec, and not this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedIdentity {
    /// The Node's uid.
    #[serde(rename = "nodeUID")]
    #[schemars(schema_with = "schema::uid")]
    pub node_uid: String,
    /// The machine.
    #[schemars(schema_with = "schema::machine")]
    pub machine: String,
    /// The boot id.
    #[serde(rename = "bootID")]
    #[schemars(schema_with = "schema::uid")]
    pub boot_id: String,
}

/// A hint that the agent should look at a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct HintEntry {
    /// The IPBlock's name.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// The addresses.
    #[schemars(schema_with = "schema::cidr")]
    pub cidr: String,
    /// The IPBlock's uid.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
    /// The mark on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<MarkEntry>,
    /// Whether the pool no longer has the block's CIDR: the block keeps its gateway, and hands out none of the addresses that were excluded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
}

/// The settings of a pool, as of a generation of its spec. An agent goes back to a lower one only if the pool itself has it, after a restore.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolSettings {
    /// The pool's name.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// The pool's uid.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
    /// The generation of the pool's spec.
    #[schemars(range(min = 0))]
    pub generation: i64,
    /// Whether the addresses are for claims alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_claims: bool,
    /// Addresses that are not handed out: the pool's exclusions, and what is taken of blocks that the node holds.
    #[serde(default)]
    #[schemars(length(max = 512))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub exclusions: Vec<ExclusionEntry>,
    /// Places in each block that are not handed out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub per_block_exclusions: Vec<BlockIndexRange>,
    /// The gateway of the addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayEntry>,
    /// The CIDRs that contain a gateway which is an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::gateway_subnets")]
    pub gateway_subnets: Vec<String>,
    /// Routes that pods get with an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub routes: Vec<RouteEntry>,
    /// Seconds for which a freed address is not handed out again.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86_400))]
    pub cooldown_seconds: i64,
    /// The pods that get addresses of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// The same by their namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
}

/// A pool that grants the node nothing of what it wants, in one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct WaitingEntry {
    /// The pool's name.
    #[schemars(schema_with = "schema::name")]
    pub pool: String,
    /// The pool's uid.
    #[serde(rename = "poolUID")]
    #[schemars(schema_with = "schema::uid")]
    pub pool_uid: String,
    /// The family.
    #[schemars(schema_with = "schema::family")]
    pub family: String,
    /// The reason, in CamelCase.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// The same in words.
    #[schemars(length(max = 512))]
    pub message: String,
}

/// Addresses that are not handed out: a CIDR, or all from `start` to `end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("has(self.cidr) != (has(self.start) && has(self.end)) && has(self.start) == has(self.end)")
        .message("an exclusion is either a cidr, or a start and an end"),
    validation = Rule::new("!has(self.start) || !has(self.end) || ip(self.start).family() == ip(self.end).family()")
        .message("start and end must be of one family")
)]
pub struct ExclusionEntry {
    /// The addresses, as a CIDR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_cidr")]
    pub cidr: Option<String>,
    /// The first address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_address")]
    pub start: Option<String>,
    /// The last address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_address")]
    pub end: Option<String>,
}

impl ExclusionEntry {
    /// Whether an address is among them. An entry that cannot be read, which the API server would not have taken, has none.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let read = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<IpAddr>().ok());
        let cidr = self.cidr.as_ref().and_then(|cidr| cidr.parse::<IpNet>().ok());
        let between = || {
            let (start, end) = (read(&self.start)?, read(&self.end)?);
            Some(start.is_ipv4() == address.is_ipv4() && start <= address && address <= end)
        };
        cidr.map_or_else(|| between().unwrap_or_default(), |cidr| cidr.contains(&address))
    }
}
