//! Addresses in netlink messages.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rtnetlink::packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope,
};

use super::family;
use crate::parts::{InterfaceAddress, IpFamily};

/// An address as a message. The kernel adds no route for it to the main table, and does not ask whether another host has it.
pub(crate) fn write_address(address: &InterfaceAddress, device: u32) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(IpFamily::of_address(address.address));
    message.header.prefix_len = address.length;
    message.header.scope = AddressScope::Universe;
    message.header.index = device;
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![
        AddressAttribute::Address(address.address),
        AddressAttribute::Local(address.address),
        AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Noprefixroute),
    ];
    message
}

/// A message as an address; `None` for what is valid on its link only.
pub(crate) fn read_address(
    message: &AddressMessage,
    links: &BTreeMap<u32, String>,
) -> Option<InterfaceAddress> {
    if message.header.scope != AddressScope::Universe {
        return None;
    }
    let mut found: Option<IpAddr> = None;
    for attribute in &message.attributes {
        match attribute {
            // Of a point-to-point link, `InterfaceAddress` is the other end's.
            AddressAttribute::Local(address) => found = Some(*address),
            AddressAttribute::Address(address) => found = found.or(Some(*address)),
            _ => {}
        }
    }
    let device = links.get(&message.header.index)?.clone();
    Some(InterfaceAddress { device, address: found?, length: message.header.prefix_len })
}
