//! Rules in netlink messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::route::RouteProtocol;
use rtnetlink::packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};

use super::family;
use crate::parts::{IpFamily, PacketMark, RoutingRule};

/// A rule as a message.
pub(crate) fn write_rule(rule: &RoutingRule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family(rule.family);
    message.header.action = if rule.goto.is_some() { RuleAction::Goto } else { RuleAction::ToTable };
    message.header.table = u8::try_from(rule.table).unwrap_or(0);
    let attributes = &mut message.attributes;
    attributes.push(RuleAttribute::Priority(rule.priority));
    attributes.push(RuleAttribute::Table(rule.table));
    attributes.push(RuleAttribute::Protocol(RouteProtocol::from(rule.protocol)));
    attributes.extend(rule.goto.map(RuleAttribute::Goto));
    if let Some(net) = rule.from {
        message.header.src_len = net.prefix_len();
        attributes.push(RuleAttribute::Source(net.network()));
    }
    if let Some(net) = rule.to {
        message.header.dst_len = net.prefix_len();
        attributes.push(RuleAttribute::Destination(net.network()));
    }
    if let Some(PacketMark { value, mask }) = rule.mark {
        attributes.push(RuleAttribute::FwMark(value));
        attributes.push(RuleAttribute::FwMask(mask));
    }
    message
}

/// A message as a rule; `None` for a family that we do not know.
pub(crate) fn read_rule(message: &RuleMessage) -> Option<RoutingRule> {
    let header = &message.header;
    let (family, any) = match header.family {
        AddressFamily::Inet => (IpFamily::V4, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        AddressFamily::Inet6 => (IpFamily::V6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        _ => return None,
    };
    let mut rule = RoutingRule::new(family, 0, u32::from(header.table));
    rule.protocol = 0;
    let action = matches!(header.action, RuleAction::ToTable | RuleAction::Goto);
    rule.special = !action || header.tos != 0 || header.flags.contains(RuleFlags::Invert);
    let (mut from, mut to, mut mark, mut mask) = (any, any, None, None);
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Source(address) => from = *address,
            RuleAttribute::Destination(address) => to = *address,
            RuleAttribute::Priority(priority) => rule.priority = *priority,
            RuleAttribute::Goto(priority) => rule.goto = Some(*priority),
            RuleAttribute::Table(table) => rule.table = *table,
            RuleAttribute::Protocol(protocol) => rule.protocol = u8::from(*protocol),
            RuleAttribute::FwMark(bits) => mark = Some(*bits),
            RuleAttribute::FwMask(bits) => mask = Some(*bits),
            // What the kernel says of every rule: nothing is suppressed.
            RuleAttribute::SuppressPrefixLen(u32::MAX) | RuleAttribute::SuppressIfGroup(u32::MAX) => {}
            RuleAttribute::L3MDev(false) => {}
            _ => rule.special = true,
        }
    }
    let net = |address, length: u8| (length > 0).then(|| IpNet::new(address, length).ok()).flatten();
    rule.from = net(from, header.src_len);
    rule.to = net(to, header.dst_len);
    if mark.is_some() || mask.is_some_and(|mask| mask != 0) {
        rule.mark = Some(PacketMark { value: mark.unwrap_or(0), mask: mask.unwrap_or(u32::MAX) });
    }
    Some(rule)
}
