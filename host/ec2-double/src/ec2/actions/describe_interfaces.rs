//! `DescribeNetworkInterfaces`.

use std::sync::Arc;

use super::{Context, Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::ec2::shapes;
use crate::state::{Interface, Refusal};
use crate::xml::{optional, record, set};

/// The filters that the double knows.
const FILTERS: &[&str] = &[
    "addresses.private-ip-address",
    "attachment.attachment-id",
    "attachment.device-index",
    "attachment.instance-id",
    "attachment.status",
    "availability-zone",
    "description",
    "group-id",
    "interface-type",
    "ipv6-addresses.ipv6-address",
    "mac-address",
    "network-interface-id",
    "private-ip-address",
    "status",
    "subnet-id",
    "vpc-id",
];

/// The results that fit on a page.
const MOST: usize = 1000;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let paging = Paging::take(parameters, MOST, "NetworkInterfaceId")?;
    let ids = parameters.texts("NetworkInterfaceId");
    let filters = Filters::take(parameters, FILTERS)?;
    Ok(Box::new(move |context| {
        let found = if ids.is_empty() { visible(context) } else { named(context, &ids)? };
        let vpc = &context.state.account.vpc;
        let kept = found
            .into_iter()
            .filter(|interface| filters.match_all(&interface.tags, |name| values(interface, vpc, name)));
        let (page, next) = paging.page(kept.map(|interface| (interface.id.clone(), interface)).collect())?;
        let items = page.iter().map(|interface| shapes::interface(interface, context));
        Ok(context
            .answer(record!(Described { network_interface_set: set(items), next_token: optional(next) })))
    }))
}

/// All interfaces that Describe shows now.
pub(super) fn visible<'a>(context: &'a Context<'_>) -> Vec<&'a Arc<Interface>> {
    let consistency = &context.state.consistency;
    let seen = context.state.interfaces().all_at(consistency.describe(context.now));
    seen.filter(|interface| !consistency.describe_hides.contains(&interface.id)).collect()
}

/// The interfaces of these identifiers; all must be there.
fn named<'a>(context: &'a Context<'_>, ids: &[String]) -> Result<Vec<&'a Arc<Interface>>, Refusal> {
    let all = visible(context);
    let (known, unknown): (Vec<&String>, Vec<&String>) =
        ids.iter().partition(|id| all.iter().any(|interface| interface.id == **id));
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|id| id.as_str()).collect();
        return Err(Refusal::no_interface(names.join(", ")));
    }
    Ok(all.into_iter().filter(|interface| known.contains(&&interface.id)).collect())
}

/// The values of an interface that a filter compares.
fn values(interface: &Interface, vpc: &str, name: &str) -> Vec<String> {
    let one = |value: &str| vec![value.to_owned()];
    let attachment = interface.attachment.as_ref();
    match name {
        "addresses.private-ip-address" => interface.ipv4.iter().map(ToString::to_string).collect(),
        "attachment.attachment-id" => attachment.map(|known| known.id.clone()).into_iter().collect(),
        "attachment.device-index" => attachment.map(|known| known.device.to_string()).into_iter().collect(),
        "attachment.instance-id" => attachment.map(|known| known.instance.clone()).into_iter().collect(),
        "attachment.status" => {
            attachment.map(|_| interface.status.attachment_word().to_owned()).into_iter().collect()
        }
        "availability-zone" => one(&interface.zone),
        "description" => one(&interface.description),
        "group-id" => interface.groups.clone(),
        "interface-type" => one("interface"),
        "ipv6-addresses.ipv6-address" => interface.ipv6.iter().map(ToString::to_string).collect(),
        "mac-address" => one(&interface.mac),
        "network-interface-id" => one(&interface.id),
        "private-ip-address" => interface.primary().map(|address| address.to_string()).into_iter().collect(),
        "status" => one(interface.status.word()),
        "subnet-id" => one(&interface.subnet),
        "vpc-id" => one(vpc),
        _ => Vec::new(),
    }
}
