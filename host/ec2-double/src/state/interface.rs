//! Network interfaces, and the attachments that tie them to instances.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use serde::Serialize;

use super::time::Time;

/// The state of an interface.
///
/// ```text
/// pending ─▶ available ─▶ attaching ─▶ in-use ─▶ detaching ─▶ available
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Being created.
    Pending,
    /// Attached to nothing.
    Available,
    /// On its way to an instance.
    Attaching,
    /// The interface is attached.
    InUse,
    /// On its way from an instance.
    Detaching,
}

impl Status {
    /// EC2's word for the interface's status: it is in use from the Attach on, and until it is off.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Available => "available",
            Self::Attaching | Self::InUse | Self::Detaching => "in-use",
        }
    }

    /// EC2's word for the status of its attachment, if it has one.
    #[must_use]
    pub const fn attachment_word(self) -> &'static str {
        match self {
            Self::Attaching => "attaching",
            Self::Detaching => "detaching",
            Self::Pending | Self::Available | Self::InUse => "attached",
        }
    }
}

/// An interface's place on an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The attachment's identifier.
    pub id: String,
    /// The instance.
    pub instance: String,
    /// The device index on its card; 0 on card 0 is the primary interface.
    pub device: u32,
    /// The network card.
    pub card: u32,
    /// The time of the request to attach.
    pub since: Time,
    /// Whether the interface ends with the instance.
    pub delete_on_termination: bool,
}

/// The time-outs of tracked connections, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionTracking {
    /// Established TCP connections.
    pub tcp_established: Option<u32>,
    /// UDP streams.
    pub udp_stream: Option<u32>,
    /// Other UDP.
    pub udp: Option<u32>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// The interface's identifier.
    pub id: String,
    /// The interface's subnet's identifier.
    pub subnet: String,
    /// The interface's availability zone.
    pub zone: String,
    /// Free text.
    pub description: String,
    /// The interface's MAC.
    pub mac: String,
    /// The interface's security groups.
    pub groups: Vec<String>,
    /// Whether it drops packets that are not from or to its own addresses.
    pub source_dest_check: bool,
    /// The interface's state.
    pub status: Status,
    /// The interface's IPv4 addresses; the first is its own.
    pub ipv4: Vec<Ipv4Addr>,
    /// The interface's delegated /28 prefixes.
    pub ipv4_prefixes: Vec<Ipv4Net>,
    /// The interface's IPv6 addresses.
    pub ipv6: Vec<Ipv6Addr>,
    /// The interface's delegated /80 prefixes.
    pub ipv6_prefixes: Vec<Ipv6Net>,
    /// The interface's tags.
    pub tags: BTreeMap<String, String>,
    /// The interface's place on an instance.
    pub attachment: Option<Attachment>,
    /// The interface's connection tracking, if it is not the default.
    pub tracking: Option<ConnectionTracking>,
    /// The creation time.
    pub created: Time,
    /// Since when it has been attached to nothing.
    pub idle_since: Option<Time>,
}

impl Interface {
    /// The address of its own, which is never a pod's.
    #[must_use]
    pub fn primary(&self) -> Option<Ipv4Addr> {
        self.ipv4.first().copied()
    }

    /// The IPv4 slots that are used: addresses and prefixes share them.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.ipv4.len() + self.ipv4_prefixes.len()
    }

    /// The IPv6 slots that are used.
    #[must_use]
    pub fn slots_six(&self) -> usize {
        self.ipv6.len() + self.ipv6_prefixes.len()
    }

    /// Whether traffic to an address arrives at this interface.
    #[must_use]
    pub fn carries(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => {
                self.ipv4.contains(&address)
                    || self.ipv4_prefixes.iter().any(|prefix| prefix.contains(&address))
            }
            IpAddr::V6(address) => {
                self.ipv6.contains(&address)
                    || self.ipv6_prefixes.iter().any(|prefix| prefix.contains(&address))
            }
        }
    }

    /// Whether it is attached to an instance, or on its way there.
    #[must_use]
    pub fn is_on(&self, instance: &str) -> bool {
        let is_staying = self.status != Status::Detaching;
        is_staying && self.attachment.as_ref().is_some_and(|attachment| attachment.instance == instance)
    }
}
