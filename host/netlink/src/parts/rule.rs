//! A policy routing rule.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpFamily {
    /// The family of a network.
    #[must_use]
    pub fn of(net: IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    /// The family of an address.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// Bits of a packet's mark, and which of them count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketMark {
    /// The bits.
    pub value: u32,
    /// Which count.
    pub mask: u32,
}

/// A rule that looks a table up, or goes on at a later rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoutingRule {
    /// The rule's family.
    pub family: IpFamily,
    /// The rule's priority; the smallest is asked first.
    pub priority: u32,
    /// The sources that it is for; `None` is any.
    pub from: Option<IpNet>,
    /// The destinations that it is for; `None` is any.
    pub to: Option<IpNet>,
    /// The mark that it is for.
    pub mark: Option<PacketMark>,
    /// The table that it looks up; 0 if it goes on instead.
    pub table: u32,
    /// The priority of the rule that it goes on at.
    pub goto: Option<u32>,
    /// The program that made the rule, as the kernel's protocol number.
    pub protocol: u8,
    /// Whether it says more than this, such as an interface or another action. Such a rule is never ours.
    pub special: bool,
}

impl RoutingRule {
    /// A rule of ours for everything.
    #[must_use]
    pub fn new(family: IpFamily, priority: u32, table: u32) -> Self {
        let protocol = crate::numbers::PROTOCOL;
        Self {
            family,
            priority,
            from: None,
            to: None,
            mark: None,
            table,
            goto: None,
            protocol,
            special: false,
        }
    }

    /// A rule of ours that goes on at a later one.
    #[must_use]
    pub fn jump(family: IpFamily, priority: u32, to: u32) -> Self {
        Self { goto: Some(to), ..Self::new(family, priority, 0) }
    }

    /// The same, for these sources.
    #[must_use]
    pub fn from(self, net: IpNet) -> Self {
        Self { from: Some(net), ..self }
    }

    /// The same, for these destinations.
    #[must_use]
    pub fn to(self, net: IpNet) -> Self {
        Self { to: Some(net), ..self }
    }

    /// The same, for this mark.
    #[must_use]
    pub fn mark(self, bits: u32) -> Self {
        Self { mark: Some(PacketMark { value: bits, mask: bits }), ..self }
    }
}

impl fmt::Display for RoutingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}:", self.priority)?;
        match self.from {
            Some(net) => write!(f, " from {net}")?,
            None => write!(f, " from all")?,
        }
        if let Some(net) = self.to {
            write!(f, " to {net}")?;
        }
        if let Some(PacketMark { value, mask }) = self.mark {
            write!(f, " fwmark {value:#x}/{mask:#x}")?;
        }
        match self.goto {
            Some(priority) => write!(f, " goto {priority}"),
            None => write!(f, " lookup {}", self.table),
        }
    }
}
