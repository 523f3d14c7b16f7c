//! Routes of a pod, as the configuration names them and the result repeats them.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Serialize;

use super::json::{Node, Object};
use crate::Error;

/// A route; every field but the destination may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Where it leads.
    pub dst: IpNet,
    /// The next hop, where it is not the address's own gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gw: Option<IpAddr>,
    /// The largest packet along it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// The largest TCP segment to advertise along it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advmss: Option<u32>,
    /// Its priority among routes to the same destination; lower wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The routing table that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// Its scope, as the kernel numbers scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<u32>,
}

impl Route {
    /// Reads a route of the configuration.
    pub(super) fn parse(node: &Node<'_>) -> Result<Self, Error> {
        let object = node.object()?;
        let dst = object.get("dst").ok_or_else(|| object.missing("dst"))?;
        let number = |key| Self::number(&object, key);
        Ok(Self {
            dst: dst.text()?.parse().map_err(|_| dst.invalid("not a subnet in CIDR form"))?,
            gw: Self::gateway(&object)?,
            // Go leaves a zero of these three out, and cannot tell it from none.
            mtu: number("mtu")?.filter(|value| *value != 0),
            advmss: number("advmss")?.filter(|value| *value != 0),
            priority: number("priority")?.filter(|value| *value != 0),
            table: number("table")?,
            scope: number("scope")?,
        })
    }

    /// What versions before 0.3.0 know of a route.
    pub(super) fn plain(&self) -> Self {
        Self { dst: self.dst, gw: self.gw, mtu: None, advmss: None, priority: None, table: None, scope: None }
    }

    fn gateway(object: &Object<'_>) -> Result<Option<IpAddr>, Error> {
        let Some(node) = object.get("gw") else { return Ok(None) };
        match node.text()?.as_str() {
            "" => Ok(None),
            text => match text.parse::<IpAddr>() {
                Ok(address) => Ok(Some(address.to_canonical())),
                Err(_) => Err(node.invalid("not an IP address")),
            },
        }
    }

    fn number(object: &Object<'_>, key: &str) -> Result<Option<u32>, Error> {
        object.get(key).map(|node| node.read("a whole number, not negative")).transpose()
    }
}
