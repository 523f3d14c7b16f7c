//! The link of one pod: a veth pair from the node into the pod's network namespace.
//!
//! The host's end is named and addressed by the pod's name, so that it is found again without a record. Inside, the pod has its
//! address alone, a gateway that no interface has, and a permanent neighbour for it: no question is ever asked on the link. The
//! route to the pod is not made here; it is part of what the node wants.
//!
//! ```text
//! node: eniDIGEST ◀── veth ──▶ eth0: POD/32, default via 169.254.1.1, 169.254.1.1 = eniDIGEST's hardware address
//! ```

mod check;
mod contents;
mod difference;
mod inside;
mod make;
mod name;
mod netns;
mod step;
mod turn;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use difference::LinkDifference;
pub use name::LinkName;
pub use netns::Netns;
pub use turn::{LinkTurn, LinkTurns};

use crate::error::Error;
use crate::kernel::Kernel;

/// The gateway of every pod in IPv4.
const GATEWAY_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);
/// The gateway of every pod in IPv6.
const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// The expected link of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodLink {
    /// The host's end.
    pub host: LinkName,
    /// The link's owner, such as the sandbox's ID. It is kept as the host end's alias once the link is whole: a pod that is started again has the
    /// same name, and what is left of the earlier one must not remove its link.
    pub owner: String,
    /// The name of the pod's end, such as `eth0`.
    pub inside: String,
    /// The pod's addresses.
    pub addresses: Vec<IpAddr>,
    /// The MTU of both ends, in bytes.
    pub mtu: u32,
}

impl PodLink {
    /// Makes the link, unless it is exactly there. Parts that differ are replaced.
    ///
    /// The calling thread's network namespace is the node's. Nobody else works on the link: callers that share it take
    /// [`LinkTurns`] at it.
    ///
    /// # Errors
    /// When the kernel refuses, or a step in the pod takes too long; then nothing of the link is left. [`Error::Taken`] when a link
    /// of the name is not ours.
    pub async fn make(&self, netns: &Netns) -> Result<(), Error> {
        make::make(self, netns, |_| true).await
    }

    /// Makes the link whole after a crash, unless it was whole once. Changes that a living pod, or a plugin that came after, has made to it stay:
    /// another name, a bridge that has the address, other routes, another MTU.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub async fn restore(&self, netns: &Netns) -> Result<(), Error> {
        make::make(self, netns, |difference| self.is_half_made(difference)).await
    }

    /// Whether a difference shows a link that was not finished, or that leads nowhere. The owner is named last.
    fn is_half_made(&self, difference: &LinkDifference) -> bool {
        match difference {
            LinkDifference::Owner { .. } => true,
            // The pod's permanent neighbour is the host's end with the address of before.
            LinkDifference::Absent(link) | LinkDifference::HardwareAddress { link, .. } => {
                link == self.host.as_str()
            }
            // The host's end is made up. The keeper sets up again one that somebody has set down.
            LinkDifference::Down(_)
            | LinkDifference::Strangers { .. }
            | LinkDifference::Mtu { .. }
            | LinkDifference::AddressMissing(..)
            | LinkDifference::AddressExtra(..)
            | LinkDifference::RouteMissing(_)
            | LinkDifference::NeighbourMissing(_) => false,
        }
    }

    /// The differences between the link and its expected state.
    ///
    /// # Errors
    /// When one of the two network namespaces does not answer.
    pub async fn check(&self, netns: &Netns) -> Result<Vec<LinkDifference>, Error> {
        check::check(self, netns).await
    }

    /// Removes the link of this name, and with it both ends. Needs no network namespace of the pod, and succeeds without a link,
    /// or when the link has another owner by now.
    ///
    /// # Errors
    /// When the kernel refuses, or the name is a link's that is not ours.
    pub async fn remove(host: &LinkName, owner: &str) -> Result<(), Error> {
        make::remove(host, owner).await
    }

    /// The links of this namespace that have an owner, each with it.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub async fn list() -> Result<Vec<(LinkName, String)>, Error> {
        let links = Kernel::connect()?.links().await?;
        let owned = links.into_iter().filter(|link| link.peer.is_some());
        Ok(owned.filter_map(|link| Some((LinkName::new(&link.name).ok()?, link.alias?))).collect())
    }

    /// The gateways of the families that the pod has addresses of.
    #[must_use]
    pub fn gateways(&self) -> Vec<IpAddr> {
        let mut gateways = Vec::new();
        if self.addresses.iter().any(IpAddr::is_ipv4) {
            gateways.push(IpAddr::V4(GATEWAY_V4));
        }
        if self.addresses.iter().any(IpAddr::is_ipv6) {
            gateways.push(IpAddr::V6(GATEWAY_V6));
        }
        gateways
    }
}
