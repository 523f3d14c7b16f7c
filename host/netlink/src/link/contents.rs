//! Addresses and routes of a pod's end.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::PodLink;
use crate::numbers::MAIN;
use crate::parts::{InterfaceAddress, KernelRoute};

/// The pod's addresses, each alone in its subnet.
pub(super) fn addresses(link: &PodLink) -> impl Iterator<Item = InterfaceAddress> + '_ {
    link.addresses.iter().map(|address| InterfaceAddress {
        device: link.inside.clone(),
        address: *address,
        length: IpNet::from(*address).prefix_len(),
    })
}

/// The pod's routes: to the gateway, and everything through it.
pub(super) fn routes(link: &PodLink) -> impl Iterator<Item = KernelRoute> + '_ {
    link.gateways().into_iter().flat_map(|gateway| {
        let any = match gateway {
            IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
            IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
        };
        [
            KernelRoute::new(MAIN, IpNet::from(gateway), None, &link.inside),
            KernelRoute::new(MAIN, any, Some(gateway), &link.inside),
        ]
    })
}
