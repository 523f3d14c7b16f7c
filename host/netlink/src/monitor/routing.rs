//! Changes of links, addresses, routes and rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rtnetlink::MulticastGroup;
use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};
use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::address::{AddressMessage, AddressScope};
use rtnetlink::packet_route::route::{RouteAttribute, RouteMessage};
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};

use super::KernelChange;
use super::socket::MonitorSocket;
use crate::numbers::OWN_TABLES;
use crate::wanted::DesiredState;
use crate::{ours, wire};

/// Opens the channel.
pub(super) fn open() -> io::Result<MonitorSocket> {
    let groups = [
        MulticastGroup::Link,
        MulticastGroup::Ipv4Ifaddr,
        MulticastGroup::Ipv4Route,
        MulticastGroup::Ipv4Rule,
        MulticastGroup::Ipv6Ifaddr,
        MulticastGroup::Ipv6Route,
        MulticastGroup::Ipv6Rule,
    ];
    MonitorSocket::open(NETLINK_ROUTE, &groups.map(|group| group as u32))
}

/// The change of these links or of our objects that a message reports.
pub(super) fn change(bytes: &[u8], links: &BTreeSet<&str>, wanted: &DesiredState) -> Option<KernelChange> {
    let Ok(message) = NetlinkMessage::<Message>::deserialize(bytes) else {
        return Some(KernelChange::Overrun);
    };
    let NetlinkPayload::InnerMessage(message) = message.payload else { return None };
    match message {
        Message::DelRule(message) => wire::read_rule(&message).filter(ours::is_rule).map(KernelChange::Rule),
        Message::DelRoute(message) => wire::read_route(&message, &BTreeMap::new())
            .filter(|route| OWN_TABLES.contains(&route.table))
            .map(KernelChange::Route),
        // The kernel reports a route that is replaced as a new one, and ours as well when we set them.
        Message::NewRoute(message) => wire::read_route(&message, &device(&message))
            .filter(|route| ours::is_route(route, wanted) && !wanted.routes.contains(route))
            .map(KernelChange::Route),
        Message::NewAddress(message) | Message::DelAddress(message) => {
            is_global(&message).then_some(KernelChange::Address)
        }
        Message::NewLink(message) | Message::DelLink(message) => wire::read_link_name(&message)
            .filter(|name| links.contains(name))
            .map(|name| KernelChange::Link(name.to_owned())),
        _ => None,
    }
}

/// The name of the link that a route leads to, by its index; nothing if it is gone by now.
fn device(message: &RouteMessage) -> BTreeMap<u32, String> {
    let index = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    });
    let named = |index| {
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
        Some((index, index_to_name(socket, index).ok()?))
    };
    index.and_then(named).into_iter().collect()
}

fn is_global(message: &AddressMessage) -> bool {
    message.header.scope == AddressScope::Universe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{MAIN, POD_TABLE, TO_PODS};
    use crate::parts::{InterfaceAddress, IpFamily, KernelRoute, RoutingRule};

    /// A route to one pod, by the link that every namespace has as its first.
    fn wanted() -> DesiredState {
        let route = KernelRoute::new(POD_TABLE, "10.0.0.1/32".parse().unwrap(), None, "lo");
        DesiredState { routes: [route].into(), ..DesiredState::default() }
    }

    fn said(message: Message) -> Option<KernelChange> {
        let mut message = NetlinkMessage::from(message);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        change(&bytes, &BTreeSet::from(["eth1"]), &wanted())
    }

    #[test]
    fn only_what_is_ours_is_a_change() {
        let ours = RoutingRule::new(IpFamily::V4, TO_PODS, POD_TABLE);
        assert_eq!(said(Message::DelRule(wire::write_rule(&ours))), Some(KernelChange::Rule(ours.clone())));
        assert_eq!(said(Message::NewRule(wire::write_rule(&ours))), None);
        let foreign = RoutingRule { protocol: 3, ..ours };
        assert_eq!(said(Message::DelRule(wire::write_rule(&foreign))), None);
        let route = |table| KernelRoute::new(table, "10.0.0.1/32".parse().unwrap(), None, "");
        let gone = said(Message::DelRoute(wire::write_route(&route(POD_TABLE), Some(7))));
        assert_eq!(gone, Some(KernelChange::Route(route(POD_TABLE))));
        assert_eq!(said(Message::DelRoute(wire::write_route(&route(MAIN), Some(7)))), None);
        let mut address = wire::write_address(
            &InterfaceAddress { device: "eth1".to_owned(), address: "10.0.0.1".parse().unwrap(), length: 20 },
            7,
        );
        assert_eq!(said(Message::DelAddress(address.clone())), Some(KernelChange::Address));
        address.header.scope = AddressScope::Link;
        assert_eq!(said(Message::DelAddress(address)), None);
        assert_eq!(
            said(Message::NewLink(wire::get_link("eth1"))),
            Some(KernelChange::Link("eth1".to_owned()))
        );
        assert_eq!(said(Message::DelLink(wire::get_link("eth9"))), None);
    }

    #[test]
    fn a_route_that_is_not_as_it_is_wanted_is_a_change_and_our_own_is_none() {
        let ours = wanted().routes.first().unwrap().clone();
        let new = |route: &KernelRoute| said(Message::NewRoute(wire::write_route(route, Some(1))));
        assert_eq!(new(&ours), None);
        let gateway = KernelRoute { via: "10.0.0.9".parse().ok(), on_link: false, ..ours.clone() };
        assert_eq!(new(&gateway), Some(KernelChange::Route(gateway)));
        let nowhere = KernelRoute { kind: 7, ..ours.clone() };
        assert_eq!(new(&nowhere), Some(KernelChange::Route(nowhere)));
        assert_eq!(new(&KernelRoute { table: MAIN, ..ours.clone() }), None);
        let gone = said(Message::NewRoute(wire::write_route(&ours, Some(u32::MAX >> 1))));
        assert_eq!(gone, Some(KernelChange::Route(KernelRoute { device: String::new(), ..ours })));
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_change_of_everything() {
        assert_eq!(change(&[1, 2, 3], &BTreeSet::new(), &wanted()), Some(KernelChange::Overrun));
    }
}
