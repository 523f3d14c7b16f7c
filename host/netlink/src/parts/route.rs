//! A route.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// The kind of a route to a link or gateway, as the kernel counts them.
const UNICAST: u8 = 1;

/// A route of one table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelRoute {
    /// The route's table.
    pub table: u32,
    /// The destinations.
    pub to: IpNet,
    /// The gateway.
    pub via: Option<IpAddr>,
    /// The link, empty if it has none, or more than one.
    pub device: String,
    /// Whether its scope is the link. Always false in IPv6, which has no scopes.
    pub on_link: bool,
    /// The program that made the route, as the kernel's protocol number.
    pub protocol: u8,
    /// The route's metric; the smaller one wins.
    pub metric: u32,
    /// The route's kind, as the kernel counts them: 1 leads to a link, others drop or answer.
    pub kind: u8,
    /// Whether it has nothing else that changes its effect, such as a source address or metrics.
    pub plain: bool,
}

impl KernelRoute {
    /// An ordinary route in one of our tables.
    #[must_use]
    pub fn new(table: u32, to: IpNet, via: Option<IpAddr>, device: &str) -> Self {
        let v4 = matches!(to, IpNet::V4(_));
        Self {
            table,
            to,
            via,
            device: device.to_owned(),
            on_link: v4 && via.is_none(),
            protocol: crate::numbers::PROTOCOL,
            metric: if v4 { 0 } else { crate::numbers::IPV6_METRIC },
            kind: UNICAST,
            plain: true,
        }
    }

    /// The route's key; a table has at most one route for each, and setting another one replaces it.
    #[must_use]
    pub fn key(&self) -> (u32, IpNet, u32) {
        (self.table, self.to, self.metric)
    }
}

impl fmt::Display for KernelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route {}", self.to)?;
        if let Some(via) = self.via {
            write!(f, " via {via}")?;
        }
        if !self.device.is_empty() {
            write!(f, " dev {}", self.device)?;
        }
        write!(f, " table {}", self.table)
    }
}
