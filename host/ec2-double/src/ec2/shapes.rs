//! Interfaces, attachments and tags as EC2 writes them. An absent option has no element; an empty set is an empty element.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Context;
use crate::state::{Attachment, Interface, Status};
use crate::xml::{ElementSet, optional, record, set};

/// An interface, as Create and DescribeNetworkInterfaces write it.
pub(super) fn interface(known: &Interface, context: &Context<'_>) -> impl Serialize {
    let attachment = known.attachment.as_ref().map(|found| {
        record!(Attachment {
            #[serde(flatten)]
            common: attachment(found, known.status, context),
            instance_id: &found.instance,
            instance_owner_id: &context.state.account.id,
        })
    });
    let tracking = known.tracking.map(|tracking| {
        record!(Tracking {
            tcp_established_timeout: optional(tracking.tcp_established),
            udp_stream_timeout: optional(tracking.udp_stream),
            udp_timeout: optional(tracking.udp),
        })
    });
    record!(Interface {
        #[serde(flatten)]
        common: common(known, context),
        availability_zone: &known.zone,
        requester_managed: false,
        status: known.status.word(),
        tag_set: tags(&known.tags),
        attachment: optional(attachment),
        connection_tracking_configuration: optional(tracking),
    })
}

/// An interface, as DescribeInstances writes it.
pub(super) fn interface_of_instance(known: &Interface, context: &Context<'_>) -> impl Serialize {
    let attachment = known.attachment.as_ref().map(|found| attachment(found, known.status, context));
    record!(Interface {
        #[serde(flatten)]
        common: common(known, context),
        status: known.status.word(),
        attachment: optional(attachment),
    })
}

fn common(known: &Interface, context: &Context<'_>) -> impl Serialize {
    let account = &context.state.account;
    let addresses = known.ipv4.iter().map(|address| {
        record!(Address { private_ip_address: address, primary: known.primary() == Some(*address) })
    });
    let ipv4_prefix = |prefix| record!(Prefix { ipv4_prefix: prefix });
    let ipv6_prefix = |prefix| record!(Prefix { ipv6_prefix: prefix });
    let ipv6_address = |address| record!(Address { ipv6_address: address });
    record!(Common {
        network_interface_id: &known.id,
        subnet_id: &known.subnet,
        vpc_id: &account.vpc,
        description: &known.description,
        owner_id: &account.id,
        mac_address: &known.mac,
        source_dest_check: known.source_dest_check,
        interface_type: "interface",
        group_set: groups(&known.groups),
        private_ip_address: optional(known.primary()),
        private_ip_addresses_set: set(addresses),
        ipv4_prefix_set: set(known.ipv4_prefixes.iter().map(ipv4_prefix)),
        ipv6_addresses_set: set(known.ipv6.iter().map(ipv6_address)),
        ipv6_prefix_set: set(known.ipv6_prefixes.iter().map(ipv6_prefix)),
    })
}

fn attachment(known: &Attachment, status: Status, context: &Context<'_>) -> impl Serialize {
    record!(Attachment {
        attachment_id: &known.id,
        device_index: known.device,
        network_card_index: known.card,
        status: status.attachment_word(),
        attach_time: (context.date)(known.since),
        delete_on_termination: known.delete_on_termination,
    })
}

/// Security groups, with names that the double makes up.
pub(super) fn groups(ids: &[String]) -> ElementSet<impl Serialize> {
    set(ids.iter().map(|id| record!(Group { group_id: id, group_name: format!("group {id}") })))
}

/// Renders tags as a `tagSet`.
pub(super) fn tags(tags: &BTreeMap<String, String>) -> ElementSet<impl Serialize> {
    set(tags.iter().map(|(key, value)| record!(Tag { key: key, value: value })))
}
