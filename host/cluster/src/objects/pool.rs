//! `AddressPool`: which addresses are leased, to which nodes, and in blocks of which size.

mod family;
mod taken;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use tenure_leases::RangeUse;

pub use self::family::{Ipv4Ranges, Ipv6Ranges, PoolCapacityEntry};
pub use self::taken::{MAX_TAKEN, TakenEntry};
use crate::objects::delivery::{BlockIndexRange, GatewayEntry, RouteEntry};
use crate::objects::node::ExclusionEntry;
use crate::objects::schema;

/// A person's half: addresses and settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "ipam.tenure.dev",
    version = "v1alpha1",
    kind = "AddressPool",
    plural = "addresspools",
    shortname = "apool",
    category = "tenure",
    doc = "Addresses that are leased to nodes in blocks, or to claims one by one.",
    derive = "PartialEq",
    status = "AddressPoolStatus",
    printcolumn(json_path = ".spec.ipv4.cidrs", name = "IPv4", type_ = "string"),
    printcolumn(json_path = ".spec.ipv6.cidrs", name = "IPv6", type_ = "string"),
    printcolumn(json_path = ".status.ipv4.leased", name = "Leased4", type_ = "integer"),
    printcolumn(json_path = ".status.ipv4.free", name = "Free4", type_ = "integer"),
    printcolumn(json_path = ".status.ipv6.leased", name = "Leased6", type_ = "integer", priority = 1),
    printcolumn(json_path = ".status.ipv6.free", name = "Free6", type_ = "integer", priority = 1),
    printcolumn(json_path = ".status.conditions[?(@.type==\"Ready\")].status", name = "Ready", type_ = "string"),
    printcolumn(json_path = ".status.conditions[?(@.type==\"Ready\")].reason", name = "Reason", type_ = "string", priority = 1),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date"),
    validation = Rule::new("size(self.metadata.name) <= 60").message("the name of a pool has at most 60 characters")
)]
#[x_kube(
    validation = Rule::new("has(self.ipv4) || has(self.ipv6)").message("a pool needs ipv4 or ipv6"),
    validation = Rule::new("(!has(oldSelf.ipv4) || has(self.ipv4)) && (!has(oldSelf.ipv6) || has(self.ipv6))")
        .message("a family cannot be taken away from a pool; empty its cidrs, and they drain"),
    validation = Rule::new("!has(self.exclusions) || self.exclusions.all(x, (oldSelf.hasValue() && has(oldSelf.value().exclusions) && x in oldSelf.value().exclusions) || (has(self.ipv4) && self.ipv4.cidrs.exists(c, has(x.cidr) ? cidr(c).containsCIDR(x.cidr) : has(x.start) && has(x.end) && cidr(c).containsIP(x.start) && cidr(c).containsIP(x.end))) || (has(self.ipv6) && self.ipv6.cidrs.exists(c, has(x.cidr) ? cidr(c).containsCIDR(x.cidr) : has(x.start) && has(x.end) && cidr(c).containsIP(x.start) && cidr(c).containsIP(x.end))))")
        .message("an exclusion must lie in one of the pool's cidrs")
        .optional_old_self(true),
    validation = Rule::new("!has(self.taken) || self.taken.all(t, (has(self.ipv4) && self.ipv4.cidrs.exists(c, cidr(c).containsCIDR(t.cidr))) || (has(self.ipv6) && self.ipv6.cidrs.exists(c, cidr(c).containsCIDR(t.cidr))))")
        .message("a taken range must lie in one of the pool's cidrs; remove what is taken before its cidr"),
    validation = Rule::new("!has(self.gateway) || ((!has(self.gateway.ipv4) || (has(self.ipv4) && self.ipv4.cidrs.exists(c, cidr(c).containsIP(self.gateway.ipv4)))) && (!has(self.gateway.ipv6) || (has(self.ipv6) && self.ipv6.cidrs.exists(c, cidr(c).containsIP(self.gateway.ipv6)))))")
        .message("a gateway must lie in one of the pool's cidrs"),
    validation = Rule::new("self.usage != 'Claims' || ((!has(self.ipv4) || self.ipv4.blockPrefix == 32) && (!has(self.ipv6) || self.ipv6.blockPrefix == 128))")
        .message("a pool for claims has single addresses: blockPrefix is 32 for IPv4 and 128 for IPv6"),
    validation = Rule::new("!has(self.networks) || self.usage == 'Claims'")
        .message("networks needs usage Claims: it says whose IPAMClaims get the addresses"),
    validation = Rule::new("!has(self.namespaces) || self.usage == 'Claims'")
        .message("namespaces needs usage Claims: it says whose claims get the addresses; for blocks, there is namespaceSelector"),
    validation = Rule::new("self.usage != 'Claims' || (!has(self.podSelector) && !has(self.namespaceSelector))")
        .message("podSelector and namespaceSelector need usage Blocks; namespaces says whose claims get the addresses"),
    validation = Rule::new("self.usage != 'Claims' || (!has(self.quota) && (!has(self.perBlockExclusions) || size(self.perBlockExclusions) == 0))")
        .message("quota and perBlockExclusions need usage Blocks"),
    validation = Rule::new("!has(self.gateway) || !has(self.gateway.blockIndex) || ((!has(self.ipv4) || self.ipv4.blockPrefix < 16 || self.gateway.blockIndex < [65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1][self.ipv4.blockPrefix - 16]) && (!has(self.ipv6) || self.ipv6.blockPrefix < 112 || self.gateway.blockIndex < [65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1][self.ipv6.blockPrefix - 112]))")
        .message("gateway.blockIndex is outside of a block")
)]
#[serde(rename_all = "camelCase")]
pub struct AddressPoolSpec {
    /// The IPv4 addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Ranges>,
    /// The IPv6 addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Ranges>,
    /// The use of the addresses: blocks for nodes, or single addresses for AddressClaims.
    #[serde(default = "default_usage")]
    #[schemars(schema_with = "schema::pool_usage")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("usage is immutable"))]
    pub usage: String,
    /// The networks, by the names in their CNI configurations, whose IPAMClaims get addresses of it. Only with usage Claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub networks: Vec<String>,
    /// The namespaces whose AddressClaims and IPAMClaims get addresses of it; without it, all. Only with usage Claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub namespaces: Vec<String>,
    /// Addresses that are not handed out.
    #[serde(default)]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub exclusions: Vec<ExclusionEntry>,
    /// Places in each block that are not handed out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub per_block_exclusions: Vec<BlockIndexRange>,
    /// Addresses that something else hands out; no block that has one of them is granted. Written by an import.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["cidr".into(), "source".into()]))]
    pub taken: Vec<TakenEntry>,
    /// The gateway of the addresses; without it, as the network's configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayEntry>,
    /// Routes that pods get with an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["dst".into()]))]
    pub routes: Vec<RouteEntry>,
    /// The nodes that get blocks; all, if it is missing or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// The pods that get addresses of it, by their labels, on a network of several pools. A pool with `podSelector` or `namespaceSelector` serves
    /// no other pods, unless they name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// The same by the labels of the pods' namespace. With both, a pod must match both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The overlap group. Equal addresses may be in use twice in different groups only.
    #[serde(default = "default_group")]
    #[schemars(schema_with = "schema::group")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("overlapGroup is immutable"))]
    pub overlap_group: String,
    /// Grants no blocks. Those that are leased stay.
    #[serde(default)]
    pub disabled: bool,
    /// Whether idle blocks are taken back when the pool is short.
    #[serde(default = "default_true")]
    pub release_excess: bool,
    /// Seconds for which a freed address is not handed out again, unless the node's own cooldown is longer.
    #[serde(default = "default_cooldown")]
    #[schemars(range(min = 0, max = 86_400))]
    pub cooldown_seconds: i64,
    /// Seconds for which the blocks of a deleted Node stay in quarantine; -1: until somebody attests its end.
    #[serde(default = "default_quarantine")]
    #[schemars(range(min = -1, max = 2_592_000))]
    pub node_gone_quarantine_seconds: i64,
    /// The most blocks that a node and the pool may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<PoolQuota>,
}

/// Limits of a pool, each for one family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolQuota {
    /// The most blocks of one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub max_blocks_per_node: Option<i64>,
    /// The most blocks of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_097_152))]
    pub max_blocks: Option<i64>,
}

/// The operator's half: what became of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressPoolStatus {
    /// The generation of the spec that the status is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// Blocks of IPv4.
    #[serde(default)]
    pub ipv4: Option<PoolCapacityEntry>,
    /// Blocks of IPv6.
    #[serde(default)]
    pub ipv6: Option<PoolCapacityEntry>,
    /// The conditions: Ready, Allocatable, Exhausted, Draining, ExclusionsInForce.
    #[serde(default)]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

fn default_usage() -> String {
    RangeUse::Blocks.to_string()
}

fn default_group() -> String {
    "default".to_owned()
}

const fn default_true() -> bool {
    true
}

const fn default_cooldown() -> i64 {
    60
}

const fn default_quarantine() -> i64 {
    3600
}
