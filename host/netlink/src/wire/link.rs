//! Links in netlink messages.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use rtnetlink::packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage,
};

use crate::parts::{KernelLink, Mac};

/// The question for all links, without their statistics.
pub(crate) fn get_links() -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
    message
}

/// The question for the link of a name.
pub(crate) fn get_link(name: &str) -> LinkMessage {
    let mut message = get_links();
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    message
}

/// A message that sets a link up, with this MTU.
pub(crate) fn set_link(index: u32, mtu: u32) -> LinkMessage {
    let mut message = raise_link(index);
    message.attributes.push(LinkAttribute::Mtu(mtu));
    message
}

/// A message that sets a link up.
pub(crate) fn raise_link(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message
}

/// A message that gives a link an alias.
pub(crate) fn set_alias(index: u32, alias: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::IfAlias(alias.to_owned()));
    message
}

/// A message that removes a link.
pub(crate) fn remove_link(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

/// A veth pair to be made.
pub(crate) struct NewVeth<'a> {
    /// The near end's name.
    pub(crate) name: &'a str,
    /// The near end's hardware address.
    pub(crate) mac: Mac,
    /// The other end's name.
    pub(crate) peer: &'a str,
    /// The other end's hardware address.
    pub(crate) peer_mac: Mac,
    /// The other end's network namespace.
    pub(crate) namespace: BorrowedFd<'a>,
    /// The MTU of both, in bytes.
    pub(crate) mtu: u32,
}

/// A message that makes a veth pair, its far end already where it belongs.
pub(crate) fn veth(new: &NewVeth<'_>) -> LinkMessage {
    let mut peer = LinkMessage::default();
    peer.attributes = vec![
        LinkAttribute::IfName(new.peer.to_owned()),
        LinkAttribute::Address(new.peer_mac.0.to_vec()),
        LinkAttribute::Mtu(new.mtu),
        LinkAttribute::NetNsFd(new.namespace.as_raw_fd()),
    ];
    let mut message = LinkMessage::default();
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = vec![
        LinkAttribute::IfName(new.name.to_owned()),
        LinkAttribute::Address(new.mac.0.to_vec()),
        LinkAttribute::Mtu(new.mtu),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    message
}

/// A message as a link; `None` without a name.
pub(crate) fn read_link(message: &LinkMessage) -> Option<KernelLink> {
    let mut link = KernelLink {
        name: read_link_name(message)?.to_owned(),
        index: message.header.index,
        mac: None,
        mtu: 0,
        up: message.header.flags.contains(LinkFlags::Up),
        peer: None,
        alias: None,
    };
    let mut veth = false;
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::Address(bytes) => {
                link.mac = <[u8; 6]>::try_from(bytes.as_slice()).ok().map(Mac);
            }
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::IfAlias(alias) => link.alias = Some(alias.clone()),
            LinkAttribute::Link(peer) => link.peer = Some(*peer),
            LinkAttribute::LinkInfo(parts) => veth = parts.contains(&LinkInfo::Kind(InfoKind::Veth)),
            _ => {}
        }
    }
    link.peer = link.peer.filter(|_| veth);
    Some(link)
}

/// The name in a message.
pub(crate) fn read_link_name(message: &LinkMessage) -> Option<&str> {
    message.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.as_str()),
        _ => None,
    })
}
