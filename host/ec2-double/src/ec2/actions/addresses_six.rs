//! `AssignIpv6Addresses` and `UnassignIpv6Addresses`.

use std::net::Ipv6Addr;

use ipnet::Ipv6Net;

use super::addresses::wanted;
use super::{Parameters, Work};
use crate::state::{Refusal, Wanted};
use crate::xml::{record, set};

pub(super) fn assign(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    let addresses: Vec<Ipv6Addr> = parameters.list("Ipv6Addresses")?;
    let prefixes: Vec<Ipv6Net> = parameters.list("Ipv6Prefix")?;
    let count: Option<u32> = parameters.value("Ipv6AddressCount")?;
    let prefix_count: Option<u32> = parameters.value("Ipv6PrefixCount")?;
    let wanted = wanted(count, addresses, prefix_count, prefixes)?;
    if wanted == Wanted::Nothing {
        let message = "You must specify IPv6 addresses, prefixes, or the number of either";
        return Err(Refusal::new("MissingParameter", message));
    }
    Ok(Box::new(move |context| {
        let assigned = context.state.assign_six(&id, &wanted, context.now)?;
        Ok(context.answer(record!(Assigned {
            network_interface_id: id,
            assigned_ipv6_addresses: set(assigned.addresses),
            assigned_ipv6_prefix_set: set(assigned.prefixes),
        })))
    }))
}

pub(super) fn unassign(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    let addresses: Vec<Ipv6Addr> = parameters.list("Ipv6Addresses")?;
    let prefixes: Vec<Ipv6Net> = parameters.list("Ipv6Prefix")?;
    if addresses.is_empty() && prefixes.is_empty() {
        return Err(Refusal::missing("Ipv6Addresses"));
    }
    Ok(Box::new(move |context| {
        context.state.unassign_six(&id, &addresses, &prefixes, context.now)?;
        Ok(context.answer(record!(Unassigned {
            network_interface_id: id,
            unassigned_ipv6_addresses: set(addresses),
            unassigned_ipv6_prefix_set: set(prefixes),
        })))
    }))
}
