//! `AssignPrivateIpAddresses` and `UnassignPrivateIpAddresses`.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::{Parameters, Work};
use crate::state::{Refusal, Wanted};
use crate::xml::{record, set};

pub(super) fn assign(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    let reassign = parameters.boolean("AllowReassignment")?.unwrap_or(false);
    let addresses: Vec<Ipv4Addr> = parameters.list("PrivateIpAddress")?;
    let prefixes: Vec<Ipv4Net> = parameters.list("Ipv4Prefix")?;
    let count: Option<u32> = parameters.value("SecondaryPrivateIpAddressCount")?;
    let prefix_count: Option<u32> = parameters.value("Ipv4PrefixCount")?;
    let wanted = wanted(count, addresses, prefix_count, prefixes)?;
    if wanted == Wanted::Nothing {
        let message = "You must specify private IP addresses, prefixes, or the number of either";
        return Err(Refusal::new("MissingParameter", message));
    }
    Ok(Box::new(move |context| {
        let assigned = context.state.assign(&id, &wanted, reassign, context.now)?;
        let address = |address| record!(Address { private_ip_address: address });
        let prefix = |prefix| record!(Prefix { ipv4_prefix: prefix });
        Ok(context.answer(record!(Assigned {
            network_interface_id: id,
            assigned_private_ip_addresses_set: set(assigned.addresses.into_iter().map(address)),
            assigned_ipv4_prefix_set: set(assigned.prefixes.into_iter().map(prefix)),
            r#return: true,
        })))
    }))
}

pub(super) fn unassign(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    let addresses: Vec<Ipv4Addr> = parameters.list("PrivateIpAddress")?;
    let prefixes: Vec<Ipv4Net> = parameters.list("Ipv4Prefix")?;
    if addresses.is_empty() && prefixes.is_empty() {
        return Err(Refusal::missing("PrivateIpAddress"));
    }
    Ok(Box::new(move |context| {
        context.state.unassign(&id, &addresses, &prefixes, context.now)?;
        Ok(context.done())
    }))
}

/// The one thing that is asked for; several exclude each other. A count of zero asks for nothing.
pub(super) fn wanted<A, P>(
    count: Option<u32>,
    these: Vec<A>,
    prefix_count: Option<u32>,
    these_prefixes: Vec<P>,
) -> Result<Wanted<A, P>, Refusal> {
    let mut found = Vec::new();
    found.extend(count.filter(|count| *count > 0).map(Wanted::Count));
    found.extend(prefix_count.filter(|count| *count > 0).map(Wanted::Prefixes));
    if !these.is_empty() {
        found.push(Wanted::These(these));
    }
    if !these_prefixes.is_empty() {
        found.push(Wanted::ThesePrefixes(these_prefixes));
    }
    if found.len() > 1 {
        return Err(Refusal::combination(
            "Only one of addresses, prefixes and their counts can be specified",
        ));
    }
    Ok(found.pop().unwrap_or(Wanted::Nothing))
}
