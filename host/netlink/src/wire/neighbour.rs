//! Neighbours in netlink messages.

use std::net::IpAddr;

use rtnetlink::packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use rtnetlink::packet_route::route::RouteType;

use super::family;
use crate::parts::{IpFamily, Mac};

/// A message that says for ever whose hardware address an address has.
pub(crate) fn write_neighbour(address: IpAddr, mac: Mac, device: u32) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(IpFamily::of_address(address));
    message.header.ifindex = device;
    message.header.state = NeighbourState::Permanent;
    message.header.kind = RouteType::Unicast;
    let destination = match address {
        IpAddr::V4(address) => NeighbourAddress::Inet(address),
        IpAddr::V6(address) => NeighbourAddress::Inet6(address),
    };
    message.attributes = vec![
        NeighbourAttribute::Destination(destination),
        NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()),
    ];
    message
}

/// The address, hardware address and link index of a permanent neighbour.
pub(crate) fn read_neighbour(message: &NeighbourMessage) -> Option<(IpAddr, Mac, u32)> {
    if message.header.state != NeighbourState::Permanent {
        return None;
    }
    let mac = message.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::LinkLayerAddress(bytes) => <[u8; 6]>::try_from(bytes.as_slice()).ok().map(Mac),
        _ => None,
    });
    Some((address(message)?, mac?, message.header.ifindex))
}

/// The address and link index of a neighbour that has answered, or whose hardware address was set.
pub(crate) fn read_answered(message: &NeighbourMessage) -> Option<(IpAddr, u32)> {
    let answered = [
        NeighbourState::Reachable,
        NeighbourState::Stale,
        NeighbourState::Delay,
        NeighbourState::Probe,
        NeighbourState::Permanent,
    ];
    answered.contains(&message.header.state).then_some(())?;
    Some((address(message)?, message.header.ifindex))
}

fn address(message: &NeighbourMessage) -> Option<IpAddr> {
    message.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => Some(IpAddr::V4(*ip)),
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => Some(IpAddr::V6(*ip)),
        _ => None,
    })
}
