//! Interfaces: their links, their addresses, and the table of each secondary one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{DesiredState, Invalid, WantedLink};
use crate::node::{CloudInterface, NodeNetwork};
use crate::numbers::table_of;
use crate::parts::{InterfaceAddress, KernelRoute};

/// The IPv6 gateway of every subnet, as the cloud network answers for it.
const IPV6_GATEWAY: Ipv6Addr = Ipv6Addr::new(0xfe80, 0xec2, 0, 0, 0, 0, 0, 1);

pub(super) fn add(node: &NodeNetwork, wanted: &mut DesiredState) -> Result<(), Invalid> {
    let link = |interface: &CloudInterface, whole| WantedLink {
        name: interface.name.clone(),
        mac: interface.mac,
        mtu: node.settings.mtu,
        whole,
    };
    wanted.links.extend(node.primary.iter().map(|primary| link(primary, false)));
    for interface in &node.secondary {
        wanted.links.push(link(interface, true));
        wanted.addresses.extend(interface.addresses.iter().map(|net| InterfaceAddress {
            device: interface.name.clone(),
            address: net.addr(),
            length: net.prefix_len(),
        }));
        wanted.routes.extend(routes(interface, table(interface)?));
    }
    Ok(())
}

/// The table of an interface.
pub(super) fn table(interface: &CloudInterface) -> Result<u32, Invalid> {
    table_of(interface.card, interface.device).ok_or_else(|| Invalid::NoTable {
        name: interface.name.clone(),
        card: interface.card,
        device: interface.device,
    })
}

/// The way to the gateway, and everything else through it.
fn routes(interface: &CloudInterface, table: u32) -> Vec<KernelRoute> {
    let mut routes = Vec::new();
    if let Some(gateway) = gateway_v4(interface) {
        let default = IpNet::V4(Ipv4Net::default());
        routes.push(KernelRoute::new(table, IpNet::from(IpAddr::V4(gateway)), None, &interface.name));
        routes.push(KernelRoute::new(table, default, Some(IpAddr::V4(gateway)), &interface.name));
    }
    if interface.has_v6() {
        let default = IpNet::V6(Ipv6Net::default());
        routes.push(KernelRoute::new(table, IpNet::from(IpAddr::V6(IPV6_GATEWAY)), None, &interface.name));
        routes.push(KernelRoute::new(table, default, Some(IpAddr::V6(IPV6_GATEWAY)), &interface.name));
    }
    routes
}

/// The IPv4 gateway: the first address after the subnet's base.
fn gateway_v4(interface: &CloudInterface) -> Option<Ipv4Addr> {
    let net = interface.addresses.iter().find_map(|net| match net {
        IpNet::V4(net) => Some(net),
        IpNet::V6(_) => None,
    })?;
    u32::from(net.network()).checked_add(1).map(Ipv4Addr::from)
}

impl CloudInterface {
    /// Whether it has or carries an IPv6 address.
    pub(crate) fn has_v6(&self) -> bool {
        self.addresses.iter().chain(&self.carries).any(|net| matches!(net, IpNet::V6(_)))
    }
}
