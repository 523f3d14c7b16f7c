//! From addresses in use to taken ranges on a pool's grid; pure.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_cluster::convert::PoolRange;
use tenure_cluster::objects::pool::{MAX_TAKEN, TakenEntry};
use tenure_cluster::{AddressPool, ConversionError};
use tenure_leases::space::overlap;

/// The longest owner of an entry, in bytes.
const LONGEST_OWNER: usize = 253;

/// Users of a block that are named; the others are counted.
const NAMED_OWNERS: usize = 3;

/// Addresses that another IPAM says are in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundUse {
    /// The addresses.
    pub cidr: IpNet,
    /// The user of the addresses, for people.
    pub owner: String,
}

/// The entries of a pool that follow from the addresses in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPlan {
    /// The entries, by address.
    pub entries: Vec<TakenEntry>,
    /// Addresses in use that are none of the pool's.
    pub outside: Vec<FoundUse>,
}

/// The reason for which there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportPlanError {
    /// The pool cannot be understood.
    #[error(transparent)]
    Pool(#[from] ConversionError),
    /// The pool has no room for the entries.
    #[error(
        "{0} ranges are in use, and a pool can have {MAX_TAKEN}: use a shorter blockPrefix, or divide the addresses between several pools"
    )]
    TooMany(usize),
}

impl ImportPlan {
    /// Puts addresses in use on the grid of a pool. A block is taken as a whole.
    ///
    /// # Errors
    /// If the pool cannot be understood, or has no room for the entries.
    pub fn new(pool: &AddressPool, source: &str, found: Vec<FoundUse>) -> Result<Self, ImportPlanError> {
        let ranges = pool.ranges()?;
        let (mut owners, mut outside) = (BTreeMap::<IpNet, Vec<String>>::new(), Vec::new());
        for used in found {
            let cells: Vec<IpNet> = ranges.iter().filter_map(|range| cell(*range, used.cidr)).collect();
            if cells.is_empty() {
                outside.push(used);
                continue;
            }
            for cell in cells {
                owners.entry(cell).or_default().push(used.owner.clone());
            }
        }
        let mut cells: Vec<IpNet> = owners.keys().copied().collect();
        // A cell that lies in a larger one is said by that.
        cells.retain(|cell| !owners.keys().any(|other| other != cell && other.contains(cell)));
        if cells.len() > MAX_TAKEN {
            // Each entry lies in one of the pool's CIDRs, also where two of these are neighbours.
            let of = |range: &PoolRange| {
                let inside = cells.iter().copied().filter(|cell| range.cidr.contains(cell));
                IpNet::aggregate(&inside.collect::<Vec<_>>())
            };
            cells = ranges.iter().flat_map(of).collect();
            cells.sort_unstable();
        }
        if cells.len() > MAX_TAKEN {
            return Err(ImportPlanError::TooMany(cells.len()));
        }
        let entry = |cidr: IpNet| {
            let inside =
                owners.iter().filter(|(cell, _)| cidr.contains(*cell)).flat_map(|(_, owners)| owners);
            let owner = summary(inside.map(String::as_str));
            TakenEntry { cidr: cidr.to_string(), source: source.to_owned(), owner }
        };
        outside.sort();
        Ok(Self { entries: cells.into_iter().map(entry).collect(), outside })
    }
}

/// The part of a range's grid that addresses touch; `None` if none of them is the range's.
fn cell(range: PoolRange, used: IpNet) -> Option<IpNet> {
    if !overlap(range.cidr, used) {
        return None;
    }
    if used.prefix_len() <= range.cidr.prefix_len() {
        return Some(range.cidr);
    }
    let length = used.prefix_len().min(range.unit);
    IpNet::new(used.network(), length).ok().map(|cell| cell.trunc())
}

/// The users of a block: some by name, the others by their number.
fn summary<'a>(owners: impl Iterator<Item = &'a str>) -> String {
    let mut owners: Vec<&str> = owners.collect();
    owners.sort_unstable();
    owners.dedup();
    let named = owners.len().min(NAMED_OWNERS);
    let mut words = owners.get(..named).unwrap_or_default().join(", ");
    if owners.len() > named {
        words = format!("{words} and {} more", owners.len() - named);
    }
    words.truncate(words.floor_char_boundary(LONGEST_OWNER));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> AddressPool {
        let spec = r#"{"ipv4": {"cidrs": ["10.0.0.0/16", "10.9.0.0/24"], "blockPrefix": 26}, "ipv6": {"cidrs": ["fd00::/112"]}}"#;
        AddressPool::new("pods", serde_json::from_str(spec).unwrap())
    }

    fn found(cidr: &str, owner: &str) -> FoundUse {
        FoundUse { cidr: cidr.parse().unwrap(), owner: owner.into() }
    }

    fn entries(found: Vec<FoundUse>) -> Vec<(String, String)> {
        let plan = ImportPlan::new(&pool(), "test", found).unwrap();
        plan.entries.into_iter().map(|entry| (entry.cidr, entry.owner)).collect()
    }

    fn entry(cidr: &str, owner: &str) -> (String, String) {
        (cidr.to_owned(), owner.to_owned())
    }

    #[test]
    fn addresses_take_whole_blocks_and_larger_ranges_stay_as_they_are() {
        let many = ["a", "b", "c", "d", "b"].map(|owner| found("10.0.0.70/32", owner)).to_vec();
        assert_eq!(entries(many), [entry("10.0.0.64/26", "a, b, c and 1 more")]);
        assert_eq!(entries(vec![found("10.0.4.0/24", "n1")]), [entry("10.0.4.0/24", "n1")]);
        let nested = vec![found("10.0.4.0/24", "n1"), found("10.0.4.9/32", "a")];
        assert_eq!(entries(nested), [entry("10.0.4.0/24", "a, n1")]);
        assert_eq!(entries(vec![found("fd00::43/128", "a")]), [entry("fd00::40/122", "a")]);
        let around = vec![found("10.0.0.0/8", "n1")];
        assert_eq!(entries(around), [entry("10.0.0.0/16", "n1"), entry("10.9.0.0/24", "n1")]);
    }

    #[test]
    fn addresses_of_no_range_are_left_out_and_said() {
        let plan = ImportPlan::new(&pool(), "test", vec![found("10.8.0.1/32", "a")]).unwrap();
        assert_eq!(plan, ImportPlan { entries: vec![], outside: vec![found("10.8.0.1/32", "a")] });
    }

    #[test]
    fn more_blocks_than_a_pool_can_name_are_joined_or_refused() {
        let every = |step: usize| {
            let blocks = (0..1024_u32).step_by(step).map(|block| {
                let address = std::net::Ipv4Addr::from(0x0a00_0000 + block * 64);
                FoundUse { cidr: IpNet::from(std::net::IpAddr::from(address)), owner: format!("p{block}") }
            });
            ImportPlan::new(&pool(), "test", blocks.collect())
        };
        let joined = every(1).unwrap().entries;
        assert_eq!(joined.len(), 1);
        assert_eq!(
            (joined[0].cidr.as_str(), joined[0].owner.as_str()),
            ("10.0.0.0/16", "p0, p1, p10 and 1021 more")
        );
        assert_eq!(every(2), Err(ImportPlanError::TooMany(512)));
        // Two CIDRs that touch stay two.
        let halves = r#"{"ipv4": {"cidrs": ["10.0.128.0/17", "10.0.0.0/17"], "blockPrefix": 26}}"#;
        let halves = AddressPool::new("pods", serde_json::from_str(halves).unwrap());
        let blocks =
            (0..1024_u32).map(|block| found(&format!("10.0.{}.{}/26", block / 4, block % 4 * 64), "p"));
        let joined = ImportPlan::new(&halves, "test", blocks.collect()).unwrap().entries;
        let cidrs: Vec<&str> = joined.iter().map(|entry| entry.cidr.as_str()).collect();
        assert_eq!(cidrs, ["10.0.0.0/17", "10.0.128.0/17"]);
    }
}
