//! The ranges of a block: its addresses without the pool's exclusions. All of them carry the block's label.

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_types::{Attributes, Range, agreed};

use crate::objects::node::ExclusionEntry;

/// The definition's attribute for the gateway of a block.
const GATEWAY: &str = "cluster.gateway";

/// A run of addresses, both ends included.
type Run = (u128, u128);

/// The ranges of a block, in order.
#[must_use]
pub(crate) fn block_ranges(
    cidr: IpNet,
    exclusions: &[ExclusionEntry],
    definition: &Attributes,
) -> Vec<Range> {
    let has_gateway =
        definition.get(GATEWAY) != Some("none") && cidr.prefix_len() + 1 < cidr.max_prefix_len();
    let gateway = has_gateway.then(|| address(cidr, number(cidr.network()).saturating_add(1)));
    let length = if has_gateway { cidr.prefix_len() } else { cidr.max_prefix_len() };
    let Ok(label) = Attributes::new([(agreed::BLOCK, cidr.to_string())]) else { return Vec::new() };
    let ranges = runs(cidr, exclusions).into_iter().filter_map(|(first, last)| {
        let range = Range::new(cidr, address(cidr, first), address(cidr, last), gateway, length);
        range.inspect_err(|error| tracing::error!(%cidr, %error, "a block cannot be a range")).ok()
    });
    ranges.map(|range| range.with(label.clone())).collect()
}

/// The runs of a block's addresses between the exclusions.
fn runs(cidr: IpNet, exclusions: &[ExclusionEntry]) -> Vec<Run> {
    let mut excluded: Vec<Run> = exclusions.iter().filter_map(|entry| run(cidr, entry)).collect();
    excluded.sort_unstable();
    let (mut next, last) = (Some(number(cidr.network())), number(cidr.broadcast()));
    let mut runs = Vec::new();
    for (from, to) in excluded {
        let Some(first) = next.filter(|first| *first <= last) else { break };
        if from > first {
            runs.push((first, last.min(from - 1)));
        }
        next = if to >= first { to.checked_add(1) } else { Some(first) };
    }
    runs.extend(next.filter(|first| *first <= last).map(|first| (first, last)));
    runs
}

/// The addresses of an exclusion that are of the block's family.
fn run(cidr: IpNet, entry: &ExclusionEntry) -> Option<Run> {
    let (first, last): (IpAddr, IpAddr) = match (&entry.cidr, &entry.start, &entry.end) {
        (Some(text), ..) => {
            let net: IpNet = text.parse().ok()?;
            (net.network(), net.broadcast())
        }
        (None, Some(start), Some(end)) => (start.parse().ok()?, end.parse().ok()?),
        _ => return None,
    };
    let touches =
        first.is_ipv4() == cidr.addr().is_ipv4() && first <= cidr.broadcast() && cidr.network() <= last;
    touches.then(|| (number(first), number(last)))
}

/// Whether an address is excluded.
#[must_use]
pub(crate) fn is_excluded(address: IpAddr, exclusions: &[ExclusionEntry]) -> bool {
    let alone = IpNet::from(address);
    exclusions.iter().any(|entry| run(alone, entry).is_some())
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn address(cidr: IpNet, number: u128) -> IpAddr {
    match cidr {
        IpNet::V4(_) => IpAddr::V4(u32::try_from(number).unwrap_or(u32::MAX).into()),
        IpNet::V6(_) => IpAddr::V6(number.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(cidr: &str, exclusions: &[&str]) -> Vec<String> {
        let entry = |text: &&str| match text.split_once('-') {
            Some((start, end)) => {
                ExclusionEntry { cidr: None, start: Some(start.into()), end: Some(end.into()) }
            }
            None => ExclusionEntry { cidr: Some((*text).into()), start: None, end: None },
        };
        let exclusions: Vec<_> = exclusions.iter().map(entry).collect();
        block_ranges(cidr.parse().unwrap(), &exclusions, &Attributes::default())
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn exclusions_split_a_block() {
        assert_eq!(ranges("10.0.0.0/26", &[]), ["10.0.0.0-10.0.0.63"]);
        assert_eq!(
            ranges("10.0.0.0/26", &["10.0.0.60-10.0.0.200", "10.0.0.8/30", "10.0.0.10-10.0.0.20"]),
            ["10.0.0.0-10.0.0.7", "10.0.0.21-10.0.0.59"]
        );
        assert_eq!(ranges("10.0.0.64/26", &["10.0.0.0/25", "fd00::/64"]), [""; 0]);
        assert_eq!(ranges("255.255.255.192/26", &[]), [""; 0], "broadcast is no range");
        assert_eq!(ranges("fd00::/122", &["fd00::10-fd00::1f"]), ["fd00::-fd00::f", "fd00::20-fd00::3f"]);
    }

    #[test]
    fn the_first_address_is_the_gateway_unless_there_is_none() {
        let cidr = "10.0.0.64/26".parse().unwrap();
        let first = &block_ranges(cidr, &[], &Attributes::default())[0];
        assert_eq!((first.gateway(), first.prefix_length()), (Some("10.0.0.65".parse().unwrap()), 26));
        let none = Attributes::new([(GATEWAY, "none")]).unwrap();
        let routed = &block_ranges(cidr, &[], &none)[0];
        assert_eq!((routed.gateway(), routed.prefix_length()), (None, 32));
        let tiny = &block_ranges("10.0.0.8/31".parse().unwrap(), &[], &Attributes::default())[0];
        assert_eq!((tiny.gateway(), tiny.size()), (None, 2));
    }
}
