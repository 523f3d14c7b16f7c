//! The requests of each call, with the parameters that the port leaves to it.

use std::collections::BTreeMap;
use std::future::Future;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::{
    Filter, InstanceType, NetworkInterfaceAttachmentChanges, ResourceType, Tag, TagSpecification,
};
use ipnet::IpNet;

use super::answers::{self, Missing};
use super::failures::{failed, incomplete};
use crate::port::{Assign, Attach, CallError, Creation, Ec2Interface, Ec2Subnet, InstanceLimits, Which};

/// The results that EC2 is asked for on a page: the most that it gives. Without a size, it refuses large answers.
const PAGE: i32 = 1000;

/// The most pages of an answer. A service that always has another one must not be listened to for ever.
const PAGES: usize = 100;

/// The most values that EC2 takes in a filter.
const VALUES: usize = 200;

/// Ids are asked for by a filter, which leaves out what does not exist. A list of ids would fail as a whole because of one.
pub(super) async fn interfaces(client: &Client, which: &Which) -> Result<Vec<Ec2Interface>, CallError> {
    match which {
        Which::Attached(instance) => {
            described(client, vec![filter("attachment.instance-id", [instance])]).await
        }
        Which::Tagged(tags) => {
            let filters = tags.iter().map(|(key, value)| filter(&format!("tag:{key}"), [value]));
            described(client, filters.collect()).await
        }
        Which::Ids(ids) => {
            let mut all = Vec::new();
            for some in ids.chunks(VALUES) {
                all.extend(described(client, vec![filter("network-interface-id", some)]).await?);
            }
            Ok(all)
        }
    }
}

async fn described(client: &Client, filters: Vec<Filter>) -> Result<Vec<Ec2Interface>, CallError> {
    const ACTION: &str = "DescribeNetworkInterfaces";
    // Without a filter, the answer would be all interfaces of the region.
    if filters.is_empty() {
        return Ok(Vec::new());
    }
    let request = client.describe_network_interfaces().set_filters(Some(filters)).max_results(PAGE);
    pages(ACTION, |token| {
        let request = request.clone().set_next_token(token);
        async move {
            let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
            let found = answer.network_interfaces().iter().map(answers::interface).collect();
            Ok((complete(ACTION, found)?, answer.next_token))
        }
    })
    .await
}

pub(super) async fn subnets(client: &Client, vpc: &str, zone: &str) -> Result<Vec<Ec2Subnet>, CallError> {
    const ACTION: &str = "DescribeSubnets";
    let request = client
        .describe_subnets()
        .filters(filter("vpc-id", [vpc]))
        .filters(filter("availability-zone", [zone]))
        .max_results(PAGE);
    pages(ACTION, |token| {
        let request = request.clone().set_next_token(token);
        async move {
            let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
            let found = answer.subnets().iter().map(answers::subnet).collect();
            Ok((complete(ACTION, found)?, answer.next_token))
        }
    })
    .await
}

pub(super) async fn limits(client: &Client, instance_type: &str) -> Result<InstanceLimits, CallError> {
    const ACTION: &str = "DescribeInstanceTypes";
    let request = client.describe_instance_types().instance_types(InstanceType::from(instance_type));
    let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
    let known = answer.instance_types().first().ok_or_else(|| incomplete(ACTION, "instanceType"))?;
    complete(ACTION, answers::limits(known))
}

/// Creates an interface; the token makes it repeatable.
pub(super) async fn create(client: &Client, creation: &Creation) -> Result<Ec2Interface, CallError> {
    const ACTION: &str = "CreateNetworkInterface";
    let mut request = client
        .create_network_interface()
        .client_token(&creation.token)
        .subnet_id(&creation.subnet)
        .set_groups((!creation.groups.is_empty()).then(|| creation.groups.clone()))
        .description(&creation.description);
    if !creation.tags.is_empty() {
        let specification = TagSpecification::builder()
            .resource_type(ResourceType::NetworkInterface)
            .set_tags(Some(tags(&creation.tags)));
        request = request.tag_specifications(specification.build());
    }
    request = match creation.carries {
        Assign::Nothing => request,
        Assign::Addresses(count) => request.secondary_private_ip_address_count(number(count)),
        Assign::Prefixes(count) => request.ipv4_prefix_count(number(count)),
        Assign::Ipv6Prefixes(count) => request.ipv6_prefix_count(number(count)),
    };
    let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
    let created = answer.network_interface().ok_or_else(|| incomplete(ACTION, "networkInterface"))?;
    complete(ACTION, answers::interface(created))
}

/// Attaches an interface. Without the card, EC2 finds indexes taken on another card.
pub(super) async fn attach(client: &Client, attachment: &Attach) -> Result<String, CallError> {
    const ACTION: &str = "AttachNetworkInterface";
    let request = client
        .attach_network_interface()
        .network_interface_id(&attachment.interface)
        .instance_id(&attachment.instance)
        .network_card_index(number(attachment.card))
        .device_index(number(attachment.device));
    let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
    answer.attachment_id.ok_or_else(|| incomplete(ACTION, "attachmentId"))
}

pub(super) async fn delete_with_instance(
    client: &Client,
    interface: &str,
    attachment: &str,
) -> Result<(), CallError> {
    let changes =
        NetworkInterfaceAttachmentChanges::builder().attachment_id(attachment).delete_on_termination(true);
    let request = client
        .modify_network_interface_attribute()
        .network_interface_id(interface)
        .attachment(changes.build());
    request.send().await.map(drop).map_err(|error| failed("ModifyNetworkInterfaceAttribute", &error))
}

pub(super) async fn set_groups(client: &Client, interface: &str, groups: &[String]) -> Result<(), CallError> {
    let request = client
        .modify_network_interface_attribute()
        .network_interface_id(interface)
        .set_groups(Some(groups.to_vec()));
    request.send().await.map(drop).map_err(|error| failed("ModifyNetworkInterfaceAttribute", &error))
}

pub(super) async fn assign(client: &Client, interface: &str, what: &Assign) -> Result<Vec<IpNet>, CallError> {
    match *what {
        Assign::Nothing => Ok(Vec::new()),
        Assign::Ipv6Prefixes(count) => assign_six(client, interface, count).await,
        Assign::Addresses(count) => assign_four(client, interface, Some(count), None).await,
        Assign::Prefixes(count) => assign_four(client, interface, None, Some(count)).await,
    }
}

async fn assign_four(
    client: &Client,
    interface: &str,
    addresses: Option<u32>,
    prefixes: Option<u32>,
) -> Result<Vec<IpNet>, CallError> {
    const ACTION: &str = "AssignPrivateIpAddresses";
    let request = client
        .assign_private_ip_addresses()
        .network_interface_id(interface)
        .set_secondary_private_ip_address_count(addresses.map(number))
        .set_ipv4_prefix_count(prefixes.map(number));
    let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
    let singles = answer.assigned_private_ip_addresses().iter().filter_map(|new| new.private_ip_address());
    let nets = answer.assigned_ipv4_prefixes().iter().filter_map(|new| new.ipv4_prefix());
    let found = singles.map(|text| answers::address(text).map(IpNet::from)).chain(nets.map(answers::net));
    complete(ACTION, found.collect())
}

async fn assign_six(client: &Client, interface: &str, count: u32) -> Result<Vec<IpNet>, CallError> {
    const ACTION: &str = "AssignIpv6Addresses";
    let request =
        client.assign_ipv6_addresses().network_interface_id(interface).ipv6_prefix_count(number(count));
    let answer = request.send().await.map_err(|error| failed(ACTION, &error))?;
    complete(ACTION, answer.assigned_ipv6_prefixes().iter().map(|text| answers::net(text)).collect())
}

/// Takes off what is named: with one request for each family that is among it, that of IPv4 first.
pub(super) async fn unassign(client: &Client, interface: &str, what: &[IpNet]) -> Result<(), CallError> {
    let of = |is_six: bool, is_single: bool| {
        let meant = what.iter().filter(move |net| {
            matches!(net, IpNet::V6(_)) == is_six && (net.prefix_len() == net.max_prefix_len()) == is_single
        });
        meant.map(move |net| if is_single { net.addr().to_string() } else { net.to_string() })
    };
    let some = |texts: Vec<String>| (!texts.is_empty()).then_some(texts);
    let (singles, nets) = (some(of(false, true).collect()), some(of(false, false).collect()));
    if singles.is_some() || nets.is_some() {
        let request = client
            .unassign_private_ip_addresses()
            .network_interface_id(interface)
            .set_private_ip_addresses(singles)
            .set_ipv4_prefixes(nets);
        request.send().await.map_err(|error| failed("UnassignPrivateIpAddresses", &error))?;
    }
    let (singles, nets) = (some(of(true, true).collect()), some(of(true, false).collect()));
    if singles.is_some() || nets.is_some() {
        let request = client
            .unassign_ipv6_addresses()
            .network_interface_id(interface)
            .set_ipv6_addresses(singles)
            .set_ipv6_prefixes(nets);
        request.send().await.map_err(|error| failed("UnassignIpv6Addresses", &error))?;
    }
    Ok(())
}

pub(super) async fn detach(client: &Client, attachment: &str) -> Result<(), CallError> {
    let request = client.detach_network_interface().attachment_id(attachment);
    request.send().await.map(drop).map_err(|error| failed("DetachNetworkInterface", &error))
}

pub(super) async fn delete(client: &Client, interface: &str) -> Result<(), CallError> {
    let request = client.delete_network_interface().network_interface_id(interface);
    request.send().await.map(drop).map_err(|error| failed("DeleteNetworkInterface", &error))
}

pub(super) async fn tag(
    client: &Client,
    interface: &str,
    pairs: &BTreeMap<String, String>,
) -> Result<(), CallError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let request = client.create_tags().resources(interface).set_tags(Some(tags(pairs)));
    request.send().await.map(drop).map_err(|error| failed("CreateTags", &error))
}

/// Asks for pages until there are no more.
async fn pages<T, F>(
    action: &'static str,
    ask: impl Fn(Option<String>) -> F + Send,
) -> Result<Vec<T>, CallError>
where
    F: Future<Output = Result<(Vec<T>, Option<String>), CallError>> + Send,
{
    let (mut all, mut token) = (Vec::new(), None);
    for _ in 0..PAGES {
        let (page, next) = ask(token).await?;
        all.extend(page);
        token = next.filter(|next| !next.is_empty());
        if token.is_none() {
            return Ok(all);
        }
    }
    Err(incomplete(action, "last page"))
}

fn complete<T>(action: &'static str, found: Result<T, Missing>) -> Result<T, CallError> {
    found.map_err(|missing| incomplete(action, missing))
}

fn filter(name: &str, values: impl IntoIterator<Item = impl AsRef<str>>) -> Filter {
    let values = values.into_iter().map(|value| value.as_ref().to_owned()).collect();
    Filter::builder().name(name).set_values(Some(values)).build()
}

fn tags(pairs: &BTreeMap<String, String>) -> Vec<Tag> {
    pairs.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

/// A count or an index as the SDK takes it; EC2 refuses what is far too large.
fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
