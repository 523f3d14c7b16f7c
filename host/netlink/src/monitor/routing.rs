//! Changes of links, addresses, routes and rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rtnetlink::MulticastGroup;
use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};
use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::address::{AddressMessage, AddressScope};
use rtnetlink::sys::protocols::NETLINK_ROUTE;

use super::Change;
use super::socket::Socket;
use crate::numbers::OWN_TABLES;
use crate::{ours, wire};

/// Opens the channel.
pub(super) fn open() -> io::Result<Socket> {
    let groups = [
        MulticastGroup::Link,
        MulticastGroup::Ipv4Ifaddr,
        MulticastGroup::Ipv4Route,
        MulticastGroup::Ipv4Rule,
        MulticastGroup::Ipv6Ifaddr,
        MulticastGroup::Ipv6Route,
        MulticastGroup::Ipv6Rule,
    ];
    Socket::open(NETLINK_ROUTE, &groups.map(|group| group as u32))
}

/// What a message says of these links and of what is ours.
pub(super) fn change(bytes: &[u8], links: &BTreeSet<&str>) -> Option<Change> {
    let Ok(message) = NetlinkMessage::<Message>::deserialize(bytes) else { return Some(Change::Overrun) };
    let NetlinkPayload::InnerMessage(message) = message.payload else { return None };
    match message {
        Message::DelRule(message) => wire::read_rule(&message).filter(ours::is_rule).map(Change::Rule),
        Message::DelRoute(message) => wire::read_route(&message, &BTreeMap::new())
            .filter(|route| OWN_TABLES.contains(&route.table))
            .map(Change::Route),
        Message::NewAddress(message) | Message::DelAddress(message) => {
            is_global(&message).then_some(Change::Address)
        }
        Message::NewLink(message) | Message::DelLink(message) => wire::read_link_name(&message)
            .filter(|name| links.contains(name))
            .map(|name| Change::Link(name.to_owned())),
        _ => None,
    }
}

fn is_global(message: &AddressMessage) -> bool {
    message.header.scope == AddressScope::Universe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{MAIN, POD_TABLE, TO_PODS};
    use crate::parts::{Address, Family, Route, Rule};

    fn said(message: Message) -> Option<Change> {
        let mut message = NetlinkMessage::from(message);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        change(&bytes, &BTreeSet::from(["eth1"]))
    }

    #[test]
    fn only_what_is_ours_is_a_change() {
        let ours = Rule::new(Family::V4, TO_PODS, POD_TABLE);
        assert_eq!(said(Message::DelRule(wire::write_rule(&ours))), Some(Change::Rule(ours.clone())));
        assert_eq!(said(Message::NewRule(wire::write_rule(&ours))), None);
        let foreign = Rule { protocol: 3, ..ours };
        assert_eq!(said(Message::DelRule(wire::write_rule(&foreign))), None);
        let route = |table| Route::new(table, "10.0.0.1/32".parse().unwrap(), None, "");
        let gone = said(Message::DelRoute(wire::write_route(&route(POD_TABLE), Some(7))));
        assert_eq!(gone, Some(Change::Route(route(POD_TABLE))));
        assert_eq!(said(Message::DelRoute(wire::write_route(&route(MAIN), Some(7)))), None);
        let mut address = wire::write_address(
            &Address { device: "eth1".to_owned(), address: "10.0.0.1".parse().unwrap(), length: 20 },
            7,
        );
        assert_eq!(said(Message::DelAddress(address.clone())), Some(Change::Address));
        address.header.scope = AddressScope::Link;
        assert_eq!(said(Message::DelAddress(address)), None);
        assert_eq!(said(Message::NewLink(wire::get_link("eth1"))), Some(Change::Link("eth1".to_owned())));
        assert_eq!(said(Message::DelLink(wire::get_link("eth9"))), None);
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_change_of_everything() {
        assert_eq!(change(&[1, 2, 3], &BTreeSet::new()), Some(Change::Overrun));
    }
}
