//! The SDK's data as the port's.
//!
//! The SDK makes everything optional. What EC2 always sends, such as an interface's id, must be there; what it may leave out
//! has an empty value.

use std::collections::BTreeMap;
use std::net::IpAddr;

use aws_sdk_ec2::types;
use ipnet::IpNet;

use crate::port::{Attachment, Ec2Interface, Ec2Subnet, InstanceLimits, Status};

/// The field that an answer lacks.
pub(super) type Missing = &'static str;

/// An interface.
pub(super) fn interface(known: &types::NetworkInterface) -> Result<Ec2Interface, Missing> {
    let kind = known.interface_type().map_or("interface", types::NetworkInterfaceType::as_str);
    Ok(Ec2Interface {
        id: known.network_interface_id().ok_or("networkInterfaceId")?.to_owned(),
        subnet: known.subnet_id().ok_or("subnetId")?.to_owned(),
        mac: known.mac_address().unwrap_or_default().to_ascii_lowercase(),
        description: known.description().unwrap_or_default().to_owned(),
        kind: kind.to_owned(),
        status: status(known.status(), known.attachment().and_then(|attachment| attachment.status())),
        attachment: known.attachment().map(attachment).transpose()?,
        primary_address: known.private_ip_address().map(address).transpose()?,
        groups: known.groups().iter().filter_map(|group| group.group_id().map(str::to_owned)).collect(),
        carries: carries(known)?,
        tags: tags(known.tag_set()),
    })
}

/// An interface is `in-use` from the Attach on and until it is off: whether it is on its way, its attachment says. `pending`, which EC2 answers
/// to a creation, is not among the SDK's words.
fn status(
    known: Option<&types::NetworkInterfaceStatus>,
    attachment: Option<&types::AttachmentStatus>,
) -> Status {
    match (known, attachment) {
        (Some(types::NetworkInterfaceStatus::InUse), Some(types::AttachmentStatus::Attaching)) => {
            return Status::Attaching;
        }
        (
            Some(types::NetworkInterfaceStatus::InUse),
            Some(types::AttachmentStatus::Detaching | types::AttachmentStatus::Detached),
        ) => return Status::Detaching,
        _ => {}
    }
    match known {
        Some(types::NetworkInterfaceStatus::Available) => Status::Available,
        Some(types::NetworkInterfaceStatus::Attaching) => Status::Attaching,
        Some(types::NetworkInterfaceStatus::InUse) => Status::InUse,
        Some(types::NetworkInterfaceStatus::Detaching) => Status::Detaching,
        _ => Status::Other,
    }
}

fn attachment(known: &types::NetworkInterfaceAttachment) -> Result<Attachment, Missing> {
    let index = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
    Ok(Attachment {
        id: known.attachment_id().ok_or("attachmentId")?.to_owned(),
        // An interface of a service, such as a load balancer, has none.
        instance: known.instance_id().unwrap_or_default().to_owned(),
        card: index(known.network_card_index()).unwrap_or(0),
        device: index(known.device_index()).ok_or("deviceIndex")?,
        delete_with_instance: known.delete_on_termination().unwrap_or(false),
        since: known.attach_time().and_then(|time| u64::try_from(time.secs()).ok()).unwrap_or(0),
    })
}

/// The single addresses of IPv4 but the interface's own, and the prefixes of both families.
fn carries(known: &types::NetworkInterface) -> Result<Vec<IpNet>, Missing> {
    let singles = known.private_ip_addresses().iter().filter(|single| single.primary() != Some(true));
    let singles = singles.filter_map(types::NetworkInterfacePrivateIpAddress::private_ip_address);
    // A service that chooses at random may list it a second time.
    let singles = singles.filter(|text| known.private_ip_address() != Some(*text));
    let prefixes = known.ipv4_prefixes().iter().filter_map(types::Ipv4PrefixSpecification::ipv4_prefix);
    let sixes = known.ipv6_prefixes().iter().filter_map(types::Ipv6PrefixSpecification::ipv6_prefix);
    singles.map(|text| address(text).map(IpNet::from)).chain(prefixes.chain(sixes).map(net)).collect()
}

/// A subnet.
pub(super) fn subnet(known: &types::Subnet) -> Result<Ec2Subnet, Missing> {
    let is_associated = |association: &&types::SubnetIpv6CidrBlockAssociation| {
        let state = association.ipv6_cidr_block_state().and_then(types::SubnetCidrBlockState::state);
        matches!(state, None | Some(types::SubnetCidrBlockStateCode::Associated))
    };
    let associations = known.ipv6_cidr_block_association_set().iter().filter(is_associated);
    let sixes = associations.filter_map(types::SubnetIpv6CidrBlockAssociation::ipv6_cidr_block);
    Ok(Ec2Subnet {
        id: known.subnet_id().ok_or("subnetId")?.to_owned(),
        ranges: known.cidr_block().into_iter().chain(sixes).map(net).collect::<Result<_, _>>()?,
        available: known
            .available_ip_address_count()
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(0),
        tags: tags(known.tags()),
    })
}

/// The limits of an instance type, of network card 0.
pub(super) fn limits(known: &types::InstanceTypeInfo) -> Result<InstanceLimits, Missing> {
    let network = known.network_info().ok_or("networkInfo")?;
    let number = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
    let first = network.network_cards().iter().find(|card| card.network_card_index() == Some(0));
    let of_card = first.and_then(types::NetworkCardInfo::maximum_network_interfaces);
    let is_nitro = known.hypervisor() == Some(&types::InstanceTypeHypervisor::Nitro);
    Ok(InstanceLimits {
        interfaces: number(of_card.or(network.maximum_network_interfaces()))
            .ok_or("maximumNetworkInterfaces")?,
        addresses: number(network.ipv4_addresses_per_interface()).ok_or("ipv4AddressesPerInterface")?,
        ipv6_addresses: number(network.ipv6_addresses_per_interface()).unwrap_or(0),
        prefixes: is_nitro || known.bare_metal() == Some(true),
    })
}

/// An address as EC2 writes it.
pub(super) fn address(text: &str) -> Result<IpAddr, Missing> {
    text.parse().map_err(|_| "valid address")
}

/// A prefix as EC2 writes it.
pub(super) fn net(text: &str) -> Result<IpNet, Missing> {
    text.parse().map_err(|_| "valid prefix")
}

fn tags(known: &[types::Tag]) -> BTreeMap<String, String> {
    let pairs = known.iter().filter_map(|tag| Some((tag.key()?.to_owned(), tag.value()?.to_owned())));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_status_is_another() {
        let cases = [
            ("pending", Status::Other),
            ("associated", Status::Other),
            ("available", Status::Available),
            ("attaching", Status::Attaching),
            ("in-use", Status::InUse),
            ("detaching", Status::Detaching),
        ];
        for (word, expected) in cases {
            assert_eq!(status(Some(&word.into()), None), expected, "{word}");
        }
    }

    #[test]
    fn an_interface_in_use_may_be_on_its_way() {
        let cases = [
            ("attaching", Status::Attaching),
            ("attached", Status::InUse),
            ("busy", Status::InUse),
            ("detaching", Status::Detaching),
            ("detached", Status::Detaching),
        ];
        for (word, expected) in cases {
            assert_eq!(status(Some(&"in-use".into()), Some(&word.into())), expected, "{word}");
            assert_eq!(status(Some(&"available".into()), Some(&word.into())), Status::Available, "{word}");
        }
    }

    #[test]
    fn the_nodes_own_addresses_are_not_carried() {
        let single = |text: &str, is_primary: bool| {
            types::NetworkInterfacePrivateIpAddress::builder()
                .private_ip_address(text)
                .primary(is_primary)
                .build()
        };
        let known = types::NetworkInterface::builder()
            .private_ip_address("10.0.0.5")
            .private_ip_addresses(single("10.0.0.5", true))
            .private_ip_addresses(single("10.0.0.5", false))
            .private_ip_addresses(single("10.0.0.6", false))
            .ipv4_prefixes(types::Ipv4PrefixSpecification::builder().ipv4_prefix("10.0.0.16/28").build())
            .ipv6_addresses(types::NetworkInterfaceIpv6Address::builder().ipv6_address("fd00::5").build())
            .ipv6_prefixes(types::Ipv6PrefixSpecification::builder().ipv6_prefix("fd00:0:0:1::/80").build())
            .build();
        let carried: Vec<String> = carries(&known).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(carried, ["10.0.0.6/32", "10.0.0.16/28", "fd00:0:0:1::/80"]);
    }

    #[test]
    fn the_limits_are_those_of_the_first_card() {
        let card = |index: i32, interfaces: i32| {
            types::NetworkCardInfo::builder()
                .network_card_index(index)
                .maximum_network_interfaces(interfaces)
                .build()
        };
        let network = types::NetworkInfo::builder()
            .maximum_network_interfaces(16)
            .network_cards(card(1, 9))
            .network_cards(card(0, 7))
            .ipv4_addresses_per_interface(50);
        let known = types::InstanceTypeInfo::builder().network_info(network.build()).bare_metal(true).build();
        let expected = InstanceLimits { interfaces: 7, addresses: 50, ipv6_addresses: 0, prefixes: true };
        assert_eq!(limits(&known), Ok(expected));
        assert_eq!(limits(&types::InstanceTypeInfo::builder().build()), Err("networkInfo"));
    }

    #[test]
    fn a_subnet_has_the_ranges_that_it_still_has() {
        let association = |net: &str, state: types::SubnetCidrBlockStateCode| {
            let state = types::SubnetCidrBlockState::builder().state(state).build();
            types::SubnetIpv6CidrBlockAssociation::builder()
                .ipv6_cidr_block(net)
                .ipv6_cidr_block_state(state)
                .build()
        };
        let known = types::Subnet::builder()
            .subnet_id("subnet-1")
            .cidr_block("10.0.0.0/24")
            .ipv6_cidr_block_association_set(association(
                "fd00:0:0:1::/64",
                types::SubnetCidrBlockStateCode::Disassociated,
            ))
            .ipv6_cidr_block_association_set(association(
                "fd00:0:0:2::/64",
                types::SubnetCidrBlockStateCode::Associated,
            ))
            .build();
        let ranges: Vec<String> = subnet(&known).unwrap().ranges.iter().map(ToString::to_string).collect();
        assert_eq!(ranges, ["10.0.0.0/24", "fd00:0:0:2::/64"]);
    }
}
