//! `CreateNetworkInterface`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::addresses::wanted;
use super::{Parameters, Work, tags};
use crate::ec2::shapes;
use crate::state::{ConnectionTracking, Creation, Refusal};
use crate::xml::{optional, record};

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let token = parameters.text("ClientToken").filter(|token| !token.is_empty());
    if token.as_ref().is_some_and(|token| token.len() > 64 || !token.is_ascii()) {
        return Err(Refusal::value("A client token has at most 64 ASCII characters"));
    }
    if let Some(other) = parameters.text("InterfaceType").filter(|kind| kind != "interface") {
        return Err(Refusal::value(format!("Value ({other}) for parameter InterfaceType is invalid.")));
    }
    let (primary, others) = named_addresses(parameters)?;
    let creation = Creation {
        subnet: parameters.required("SubnetId")?,
        description: parameters.text("Description").unwrap_or_default(),
        groups: parameters.texts("SecurityGroupId"),
        primary,
        ipv4: wanted(
            parameters.value("SecondaryPrivateIpAddressCount")?,
            others,
            parameters.value("Ipv4PrefixCount")?,
            nested::<Ipv4Net>(parameters, "Ipv4Prefix", "Ipv4Prefix")?,
        )?,
        ipv6: wanted(
            parameters.value("Ipv6AddressCount")?,
            nested::<Ipv6Addr>(parameters, "Ipv6Addresses", "Ipv6Address")?,
            parameters.value("Ipv6PrefixCount")?,
            nested::<Ipv6Net>(parameters, "Ipv6Prefix", "Ipv6Prefix")?,
        )?,
        tags: own_tags(parameters)?,
        tracking: tracking(parameters)?,
    };
    Ok(Box::new(move |context| {
        let id = context.state.create(&creation, token.as_deref(), context.now)?;
        let created =
            context.state.interfaces().get(&id).cloned().ok_or_else(|| Refusal::no_interface(&id))?;
        Ok(context.answer(record!(Created {
            network_interface: shapes::interface(&created, context),
            client_token: optional(token),
        })))
    }))
}

/// `PrivateIpAddress`, or the members of `PrivateIpAddresses` of which one may be primary.
fn named_addresses(parameters: &mut Parameters) -> Result<(Option<Ipv4Addr>, Vec<Ipv4Addr>), Refusal> {
    let mut primary: Option<Ipv4Addr> = parameters.value("PrivateIpAddress")?;
    let mut others = Vec::new();
    for mut member in parameters.structures("PrivateIpAddresses") {
        let missing = || Refusal::missing("PrivateIpAddresses.PrivateIpAddress");
        let address: Ipv4Addr = member.value("PrivateIpAddress")?.ok_or_else(missing)?;
        let is_primary = member.boolean("Primary")?.unwrap_or(false);
        member.finish()?;
        if !is_primary {
            others.push(address);
        } else if primary.replace(address).is_some() {
            return Err(Refusal::combination("Only one address can be primary"));
        }
    }
    Ok((primary, others))
}

/// A list of structures with one field.
fn nested<T: std::str::FromStr>(
    parameters: &mut Parameters,
    list: &str,
    field: &str,
) -> Result<Vec<T>, Refusal> {
    let mut found = Vec::new();
    for mut member in parameters.structures(list) {
        found.push(member.value(field)?.ok_or_else(|| Refusal::missing(&format!("{list}.{field}")))?);
        member.finish()?;
    }
    Ok(found)
}

/// `TagSpecification.N` of the type `network-interface`.
fn own_tags(parameters: &mut Parameters) -> Result<BTreeMap<String, String>, Refusal> {
    let mut all = BTreeMap::new();
    for mut specification in parameters.structures("TagSpecification") {
        let kind = specification.required("ResourceType")?;
        if kind != "network-interface" {
            let message = format!("'{kind}' is not a valid taggable resource type for this operation.");
            return Err(Refusal::value(message));
        }
        all.extend(tags::take(&mut specification)?);
        specification.finish()?;
    }
    Ok(all)
}

/// `ConnectionTrackingSpecification`, with the ranges that EC2 documents.
pub(super) fn tracking(parameters: &mut Parameters) -> Result<Option<ConnectionTracking>, Refusal> {
    let mut seconds = |field: &str, from: u32, to: u32| {
        let name = format!("ConnectionTrackingSpecification.{field}");
        let found: Option<u32> = parameters.value(&name)?;
        match found {
            Some(wrong) if !(from..=to).contains(&wrong) => {
                Err(Refusal::value(format!("Value ({wrong}) for parameter {name} is invalid.")))
            }
            found => Ok(found),
        }
    };
    let tracking = ConnectionTracking {
        tcp_established: seconds("TcpEstablishedTimeout", 60, 432_000)?,
        udp_stream: seconds("UdpStreamTimeout", 60, 180)?,
        udp: seconds("UdpTimeout", 30, 60)?,
    };
    Ok(Some(tracking).filter(|tracking| *tracking != ConnectionTracking::default()))
}
