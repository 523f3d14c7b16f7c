//! A pod's routes, as read from the configuration and returned in the result.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::Serialize;

use super::json::{JsonNode, JsonObject};
use crate::Error;

/// A route. All fields except the destination are optional.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    /// The destination.
    pub dst: IpNet,
    /// The next hop, if it is not the address's own gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gw: Option<IpAddr>,
    /// The path's MTU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// The TCP maximum segment size to advertise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advmss: Option<u32>,
    /// The route's priority among routes to the same destination; the lowest wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The routing table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// The scope, as numbered by the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<u32>,
}

impl Route {
    /// The default route through a gateway.
    #[must_use]
    pub fn default_by(gateway: IpAddr) -> Self {
        let dst = match gateway {
            IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
            IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
        };
        Self { dst, gw: Some(gateway), mtu: None, advmss: None, priority: None, table: None, scope: None }
    }

    /// Whether it is of an address's family.
    #[must_use]
    pub fn is_for(&self, address: IpAddr) -> bool {
        self.dst.addr().is_ipv4() == address.is_ipv4()
    }

    /// Whether it is for everything and says nothing else.
    pub(super) fn is_default(&self) -> bool {
        *self == Self { dst: self.dst, ..self.plain() } && self.gw.is_none() && self.dst.prefix_len() == 0
    }

    /// Reads a route from the configuration.
    pub(super) fn parse(node: &JsonNode<'_>) -> Result<Self, Error> {
        let object = node.object()?;
        let dst = object.get("dst").ok_or_else(|| object.missing("dst"))?;
        let number = |key| Self::number(&object, key);
        Ok(Self {
            dst: dst.text()?.parse().map_err(|_| dst.invalid("not a subnet in CIDR form"))?,
            gw: Self::gateway(&object)?,
            // The Go implementation omits these three if they are zero, and cannot tell zero from absent.
            mtu: number("mtu")?.filter(|value| *value != 0),
            advmss: number("advmss")?.filter(|value| *value != 0),
            priority: number("priority")?.filter(|value| *value != 0),
            table: number("table")?,
            scope: number("scope")?,
        })
    }

    /// The route as versions before 0.3.0 can express it.
    pub(super) fn plain(&self) -> Self {
        Self { dst: self.dst, gw: self.gw, mtu: None, advmss: None, priority: None, table: None, scope: None }
    }

    fn gateway(object: &JsonObject<'_>) -> Result<Option<IpAddr>, Error> {
        let Some(node) = object.get("gw") else { return Ok(None) };
        match node.text()?.as_str() {
            "" => Ok(None),
            text => match text.parse::<IpAddr>() {
                Ok(address) => Ok(Some(address.to_canonical())),
                Err(_) => Err(node.invalid("not an IP address")),
            },
        }
    }

    fn number(object: &JsonObject<'_>, key: &str) -> Result<Option<u32>, Error> {
        object.get(key).map(|node| node.read("a non-negative whole number")).transpose()
    }
}
