//! The addresses of one family, and the count of their blocks.

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::objects::schema;

/// IPv4 addresses of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.cidrs.all(c, cidr(c).ip().family() == 4)").message("ipv4.cidrs must be IPv4"),
    validation = Rule::new("self.cidrs.all(c, cidr(c).prefixLength() <= self.blockPrefix && cidr(c).prefixLength() + 16 >= self.blockPrefix)")
        .message("blockPrefix must be at least as long as the prefix of each CIDR, and at most 16 bits longer"),
    validation = Rule::new("self.cidrs.all(a, self.cidrs.exists_one(b, cidr(a).containsCIDR(b) || cidr(b).containsCIDR(a)))")
        .message("cidrs must not overlap")
)]
#[serde(rename_all = "camelCase")]
pub struct Ipv4Ranges {
    /// The CIDRs. One may be added at any time; one that is removed drains.
    #[schemars(schema_with = "cidrs")]
    pub cidrs: Vec<String>,
    /// The prefix length of a block.
    #[serde(default = "default_ipv4")]
    #[schemars(schema_with = "schema::ipv4_prefix")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("blockPrefix is immutable"))]
    pub block_prefix: u8,
}

/// IPv6 addresses of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.cidrs.all(c, cidr(c).ip().family() == 6)").message("ipv6.cidrs must be IPv6"),
    validation = Rule::new("self.cidrs.all(c, cidr(c).prefixLength() <= self.blockPrefix && cidr(c).prefixLength() + 16 >= self.blockPrefix)")
        .message("blockPrefix must be at least as long as the prefix of each CIDR, and at most 16 bits longer"),
    validation = Rule::new("self.cidrs.all(a, self.cidrs.exists_one(b, cidr(a).containsCIDR(b) || cidr(b).containsCIDR(a)))")
        .message("cidrs must not overlap")
)]
#[serde(rename_all = "camelCase")]
pub struct Ipv6Ranges {
    /// The CIDRs. One may be added at any time; one that is removed drains.
    #[schemars(schema_with = "cidrs")]
    pub cidrs: Vec<String>,
    /// The prefix length of a block.
    #[serde(default = "default_ipv6")]
    #[schemars(schema_with = "schema::ipv6_prefix")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("blockPrefix is immutable"))]
    pub block_prefix: u8,
}

/// Blocks of one family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct PoolCapacityEntry {
    /// Blocks in the open ranges.
    #[schemars(range(min = 0))]
    pub total: i64,
    /// Leased blocks.
    #[schemars(range(min = 0))]
    pub leased: i64,
    /// Blocks in quarantine.
    #[schemars(range(min = 0))]
    pub quarantined: i64,
    /// Blocks that can be granted.
    #[schemars(range(min = 0))]
    pub free: i64,
}

/// A list of CIDRs.
fn cidrs(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "items": schema::cidr(generator),
        "x-kubernetes-list-type": "atomic",
    })
}

const fn default_ipv4() -> u8 {
    26
}

const fn default_ipv6() -> u8 {
    122
}
