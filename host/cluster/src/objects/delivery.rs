//! The use of a pool's addresses on a node: the gateway and the routes that pods get with them, and places that stay free in each block.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::objects::schema;

/// The gateway of a pool's addresses: one address for each family, or a place in each block, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("[has(self.ipv4) || has(self.ipv6), has(self.blockIndex), has(self.none) && self.none].filter(x, x).size() == 1")
        .message("a gateway is an address (ipv4, ipv6), a blockIndex, or none: true"),
    validation = Rule::new("!has(self.ipv4) || ip(self.ipv4).family() == 4").message("gateway.ipv4 must be IPv4"),
    validation = Rule::new("!has(self.ipv6) || ip(self.ipv6).family() == 6").message("gateway.ipv6 must be IPv6")
)]
#[serde(rename_all = "camelCase")]
pub struct GatewayEntry {
    /// The gateway of all IPv4 addresses of the CIDR that contains it; they get that CIDR's prefix length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_address")]
    pub ipv4: Option<String>,
    /// The same for IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_address")]
    pub ipv6: Option<String>,
    /// The place of the gateway in each block: 1 is the address after the block's first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65_535))]
    pub block_index: Option<i64>,
    /// Whether addresses have no gateway, and the longest prefix length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<bool>,
}

/// A route that pods get with an address of its family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("!has(self.gw) || ip(self.gw).family() == cidr(self.dst).ip().family()")
        .message("gw must be of the family of dst")
)]
pub struct RouteEntry {
    /// The destination.
    #[schemars(schema_with = "schema::cidr")]
    pub dst: String,
    /// The next hop; without it, the gateway of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_address")]
    pub gw: Option<String>,
    /// The MTU of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 68, max = 65_535))]
    pub mtu: Option<i64>,
}

/// Places in each block, counted from its first address, both ends included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("self.start <= self.end").message("start must not be after end"))]
pub struct BlockIndexRange {
    /// The first place.
    #[schemars(range(min = 0, max = 65_535))]
    pub start: i64,
    /// The last place.
    #[schemars(range(min = 0, max = 65_535))]
    pub end: i64,
}
