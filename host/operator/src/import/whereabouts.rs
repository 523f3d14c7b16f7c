//! Reads IPPools and OverlappingRangeIPReservations of whereabouts.
//!
//! An IPPool has its allocations by their distance from the address in its range. A reservation's name is its address, with `-` for `:` and after
//! the name of its network, if it has one. Neither says whether the pod is still there: what is recorded is taken.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context as _, bail};
use ipnet::IpNet;
use kube::Client;
use serde::Deserialize;
use tenure_cluster::convert::PoolRange;

use super::plan::FoundUse;
use super::records::{kind, list};

const GROUP: &str = "whereabouts.cni.cncf.io";
const VERSION: &str = "v1alpha1";

#[derive(Debug, Deserialize)]
struct IpPoolSpec {
    range: String,
    /// `null` if there are none.
    allocations: Option<BTreeMap<String, PodAllocation>>,
}

#[derive(Debug, Default, Deserialize)]
struct PodAllocation {
    #[serde(default, alias = "containerid")]
    id: String,
    #[serde(default)]
    podref: String,
}

/// Reads both kinds, for a pool with these ranges. An address that both name counts once.
///
/// # Errors
/// If there are no such kinds, or an object cannot be understood.
pub(super) async fn read(
    client: &Client,
    namespace: Option<&str>,
    ranges: &[PoolRange],
) -> anyhow::Result<Vec<FoundUse>> {
    let pools = list::<IpPoolSpec>(client, &kind(GROUP, VERSION, "IPPool", "ippools"), namespace).await?;
    let Some(pools) = pools else { bail!("the API server has no IPPools of {GROUP}/{VERSION}") };
    let reservation = kind(GROUP, VERSION, "OverlappingRangeIPReservation", "overlappingrangeipreservations");
    let reservations = list::<PodAllocation>(client, &reservation, namespace).await?.unwrap_or_default();
    let mut found = Vec::new();
    for pool in pools {
        for (offset, allocation) in pool.spec.allocations.iter().flatten() {
            let address = address_at(&pool.spec.range, offset)
                .with_context(|| format!("IPPool {}: allocation {offset}", pool.name))?;
            found.push(FoundUse { cidr: address.into(), owner: owner(allocation) });
        }
    }
    for reservation in reservations {
        let name = reservation.name.rsplit('/').next().unwrap_or_default();
        let addresses = reserved_addresses(name, ranges);
        if addresses.is_empty() {
            bail!("OverlappingRangeIPReservation {}: its name is not an address", reservation.name)
        }
        let used = |address: IpAddr| FoundUse { cidr: address.into(), owner: owner(&reservation.spec) };
        found.extend(addresses.into_iter().map(used));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn owner(allocation: &PodAllocation) -> String {
    match allocation.podref.as_str() {
        "" => format!("container {}", allocation.id),
        pod => format!("pod {pod}"),
    }
}

/// The address at a distance from that of a range.
fn address_at(range: &str, offset: &str) -> anyhow::Result<IpAddr> {
    let range: IpNet = range.parse().with_context(|| format!("{range:?} is not a range"))?;
    let offset: u64 = offset.parse().context("is not a number")?;
    let address = match range.addr() {
        IpAddr::V4(first) => {
            let number = u32::try_from(offset).ok().and_then(|offset| u32::from(first).checked_add(offset));
            number.map(|number| IpAddr::V4(number.into()))
        }
        IpAddr::V6(first) => {
            u128::from(first).checked_add(offset.into()).map(|number| IpAddr::V6(number.into()))
        }
    };
    match address.filter(|address| range.contains(address)) {
        Some(address) => Ok(address),
        None => bail!("is outside of {range}"),
    }
}

/// The address in a reservation's name: an end of it that is one. The name of a network before it may end like the beginning of an address, such as
/// `db` in `db-fd00--5`. So it is each end in one of the pool's ranges, of which one may be too many, or else the longest.
fn reserved_addresses(name: &str, ranges: &[PoolRange]) -> Vec<IpAddr> {
    let starts = std::iter::once(0).chain(name.match_indices('-').map(|(index, _)| index + 1));
    let ends = starts.filter_map(|start| name.get(start..));
    let ends = ends.filter_map(|end| end.parse().or_else(|_| end.replace('-', ":").parse()).ok());
    let ends: Vec<IpAddr> = ends.collect();
    let is_inside = |address: &&IpAddr| ranges.iter().any(|range| range.cidr.contains(*address));
    let inside: Vec<IpAddr> = ends.iter().filter(is_inside).copied().collect();
    if inside.is_empty() { ends.into_iter().take(1).collect() } else { inside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_count_from_the_address_of_their_range() {
        let at =
            |range: &str, offset: &str| address_at(range, offset).ok().map(|address| address.to_string());
        assert_eq!(at("10.0.0.0/24", "5").as_deref(), Some("10.0.0.5"));
        assert_eq!(at("10.0.0.225/28", "1").as_deref(), Some("10.0.0.226"));
        assert_eq!(at("fd00::/64", "65536").as_deref(), Some("fd00::1:0"));
        for (range, offset) in
            [("10.0.0.0/24", "256"), ("10.0.0.0/24", "x"), ("10.0.0/24", "1"), ("10.0.0.0/24", "-1")]
        {
            assert_eq!(at(range, offset), None, "{range} {offset}");
        }
    }

    #[test]
    fn a_reservations_name_contains_its_address() {
        let range = |cidr: &str| PoolRange { cidr: cidr.parse().unwrap(), unit: 128 };
        let read_for = |ranges: &[PoolRange], name: &str| {
            let addresses = reserved_addresses(name, ranges);
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let read = |name: &str| read_for(&[], name);
        assert_eq!(read("10.0.0.5"), ["10.0.0.5"]);
        assert_eq!(read("storage-net-10.0.0.5"), ["10.0.0.5"]);
        assert_eq!(read("fd00--5"), ["fd00::5"]);
        assert_eq!(read("net-fd00-0-0-1--0"), ["fd00:0:0:1::"]);
        assert_eq!(read("net"), [""; 0]);
        // The name of the network ends in hexadecimal digits.
        let pool = [range("fd00::/64")];
        for name in ["db-fd00--5", "lab-a-fd00--5", "net-1-fd00--5", "cafe-fd00--5", "fd00--5"] {
            assert_eq!(read_for(&pool, name), ["fd00::5"], "{name}");
        }
        assert_eq!(read_for(&pool, "db-fd01--5"), ["db:fd01::5"], "none of the pool's");
    }
}
