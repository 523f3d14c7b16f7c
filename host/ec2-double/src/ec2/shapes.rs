//! Interfaces, attachments and tags as EC2 writes them. An absent option has no element; an empty set is an empty element.

use std::collections::BTreeMap;

use super::Context;
use crate::state::{Attachment, Interface, Status};
use crate::xml::{Element, list, parent, text};

/// An interface, as Create and DescribeNetworkInterfaces write it.
pub(super) fn interface(known: &Interface, context: &Context<'_>) -> Vec<Element> {
    let mut elements = common(known, context);
    elements.push(text("availabilityZone", &known.zone));
    elements.push(text("requesterManaged", false));
    elements.push(text("status", known.status.word()));
    elements.push(tags(&known.tags));
    if let Some(found) = &known.attachment {
        let mut inner = attachment(found, known.status, context);
        inner.push(text("instanceId", &found.instance));
        inner.push(text("instanceOwnerId", &context.state.account.id));
        elements.push(parent("attachment", inner));
    }
    if let Some(tracking) = known.tracking {
        let mut inner = Vec::new();
        inner.extend(tracking.tcp_established.map(|seconds| text("tcpEstablishedTimeout", seconds)));
        inner.extend(tracking.udp_stream.map(|seconds| text("udpStreamTimeout", seconds)));
        inner.extend(tracking.udp.map(|seconds| text("udpTimeout", seconds)));
        elements.push(parent("connectionTrackingConfiguration", inner));
    }
    elements
}

/// An interface, as DescribeInstances writes it.
pub(super) fn interface_of_instance(known: &Interface, context: &Context<'_>) -> Vec<Element> {
    let mut elements = common(known, context);
    elements.push(text("status", known.status.word()));
    if let Some(found) = &known.attachment {
        elements.push(parent("attachment", attachment(found, known.status, context)));
    }
    elements
}

fn common(known: &Interface, context: &Context<'_>) -> Vec<Element> {
    let account = &context.state.account;
    let mut elements = vec![
        text("networkInterfaceId", &known.id),
        text("subnetId", &known.subnet),
        text("vpcId", &account.vpc),
        text("description", &known.description),
        text("ownerId", &account.id),
        text("macAddress", &known.mac),
        text("sourceDestCheck", known.source_dest_check),
        text("interfaceType", "interface"),
        groups(&known.groups),
    ];
    elements.extend(known.primary().map(|address| text("privateIpAddress", address)));
    elements.push(list(
        "privateIpAddressesSet",
        known.ipv4.iter().map(|address| {
            let is_primary = known.primary() == Some(*address);
            vec![text("privateIpAddress", address), text("primary", is_primary)]
        }),
    ));
    let prefixes = known.ipv4_prefixes.iter().map(|prefix| vec![text("ipv4Prefix", prefix)]);
    elements.push(list("ipv4PrefixSet", prefixes));
    let addresses = known.ipv6.iter().map(|address| vec![text("ipv6Address", address)]);
    elements.push(list("ipv6AddressesSet", addresses));
    let prefixes = known.ipv6_prefixes.iter().map(|prefix| vec![text("ipv6Prefix", prefix)]);
    elements.push(list("ipv6PrefixSet", prefixes));
    elements
}

fn attachment(known: &Attachment, status: Status, context: &Context<'_>) -> Vec<Element> {
    let word = match status {
        Status::Attaching => "attaching",
        Status::Detaching => "detaching",
        Status::Pending | Status::Available | Status::InUse => "attached",
    };
    vec![
        text("attachmentId", &known.id),
        text("deviceIndex", known.device),
        text("networkCardIndex", known.card),
        text("status", word),
        text("attachTime", (context.date)(known.since)),
        text("deleteOnTermination", known.delete_on_termination),
    ]
}

/// Security groups, with names that the double makes up.
pub(super) fn groups(ids: &[String]) -> Element {
    list("groupSet", ids.iter().map(|id| vec![text("groupId", id), text("groupName", format!("group {id}"))]))
}

/// Renders tags as a `tagSet`.
pub(super) fn tags(tags: &BTreeMap<String, String>) -> Element {
    list("tagSet", tags.iter().map(|(key, value)| vec![text("key", key), text("value", value)]))
}

/// The answer of calls that return nothing but success.
pub(super) fn done() -> Vec<Element> {
    vec![text("return", true)]
}
