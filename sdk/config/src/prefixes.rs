//! The key `delegatedPrefixLength` of a range: it assigns prefixes of that length, not single addresses.
//!
//! The reference host-local ignores the key. Prefixes fill such a range, so that by default it is the whole subnet, without a gateway.

use std::net::IpAddr;

use crate::{ConfigError, Node, Range, Subnet};

/// The length of the prefixes that a range assigns, with the key's node; `None` if it assigns single addresses.
pub(crate) fn delegated_length(node: &Node, subnet: Subnet) -> Result<Option<u8>, ConfigError> {
    let Some(length) = node.get_count("delegatedPrefixLength")? else { return Ok(None) };
    let (shortest, longest) = (subnet.prefix_length(), subnet.bits() - 1);
    let valid = u8::try_from(length).ok().filter(|length| (shortest..=longest).contains(length));
    let wrong = || {
        let message =
            format!("network {subnet} has prefixes of length {shortest} to {longest}, but not {length}");
        wrong_at(node, "delegatedPrefixLength", message)
    };
    valid.map(Some).ok_or_else(wrong)
}

/// Checks that prefixes fill a range, and that none contains the gateway.
pub(crate) fn check(node: &Node, range: &Range) -> Result<(), ConfigError> {
    if !range.assigns_prefixes() {
        return Ok(());
    }
    let length = range.prefix_length;
    let prefix = |address: IpAddr| format!("{address}/{length}").parse::<Subnet>().ok();
    if prefix(range.first).is_some_and(|prefix| prefix.network() != range.first) {
        let message = format!("RangeStart {} is not the first address of a /{length}", range.first);
        return Err(wrong_at(node, "rangeStart", message));
    }
    if prefix(range.last).is_some_and(|prefix| prefix.broadcast() != range.last) {
        let message = format!("RangeEnd {} is not the last address of a /{length}", range.last);
        return Err(wrong_at(node, "rangeEnd", message));
    }
    match range.gateway.filter(|gateway| range.contains(*gateway)) {
        Some(gateway) => Err(wrong_at(
            node,
            "gateway",
            format!("gateway {gateway} is inside a prefix that can be assigned"),
        )),
        None => Ok(()),
    }
}

fn wrong_at(node: &Node, key: &str, message: String) -> ConfigError {
    ConfigError::new(format!("{}.{key}", node.path()), message)
}
