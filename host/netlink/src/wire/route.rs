//! Routes in netlink messages.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};

use super::family;
use crate::parts::{IpFamily, KernelRoute};

/// A route as a message; `device` is its link's index.
pub(crate) fn write_route(route: &KernelRoute, device: Option<u32>) -> RouteMessage {
    let mut message = RouteMessage::default();
    let header = &mut message.header;
    header.address_family = family(IpFamily::of(route.to));
    header.destination_prefix_length = route.to.prefix_len();
    header.table = u8::try_from(route.table).unwrap_or(0);
    header.protocol = RouteProtocol::from(route.protocol);
    header.scope = if route.on_link { RouteScope::Link } else { RouteScope::Universe };
    header.kind = RouteType::from(route.kind);
    let attributes = &mut message.attributes;
    attributes.push(RouteAttribute::Table(route.table));
    attributes.push(RouteAttribute::Destination(address(route.to.network())));
    attributes.extend(route.via.map(|via| RouteAttribute::Gateway(address(via))));
    attributes.extend(device.map(RouteAttribute::Oif));
    if route.metric != 0 {
        attributes.push(RouteAttribute::Priority(route.metric));
    }
    message
}

fn address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}

/// A message as a route, with links named by their index; `None` if it is not a route of a table.
pub(crate) fn read_route(message: &RouteMessage, links: &BTreeMap<u32, String>) -> Option<KernelRoute> {
    let header = &message.header;
    let any = match header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    if header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    let mut route = KernelRoute {
        table: u32::from(header.table),
        to: IpNet::from(any),
        via: None,
        device: String::new(),
        on_link: header.scope == RouteScope::Link,
        protocol: u8::from(header.protocol),
        metric: 0,
        kind: u8::from(header.kind),
        plain: header.tos == 0 && header.source_prefix_length == 0,
    };
    let mut to = any;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::Destination(address) => to = plain(address)?,
            RouteAttribute::Gateway(address) => route.via = plain(address),
            RouteAttribute::Oif(index) => route.device = links.get(index).cloned().unwrap_or_default(),
            RouteAttribute::Priority(metric) => route.metric = *metric,
            RouteAttribute::Metrics(_)
            | RouteAttribute::MultiPath(_)
            | RouteAttribute::PrefSource(_)
            | RouteAttribute::Via(_)
            | RouteAttribute::Encap(_)
            | RouteAttribute::NhId(_)
            | RouteAttribute::Realm(_) => route.plain = false,
            _ => {}
        }
    }
    route.to = IpNet::new(to, header.destination_prefix_length).ok()?;
    Some(route)
}

fn plain(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}
