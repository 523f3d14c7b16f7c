//! Pools and ranges, with parsed addresses.

use std::fmt;
use std::net::IpAddr;

use crate::Subnet;
use crate::bindings::tenure::ipam::types;

/// A run of addresses inside one subnet; both ends belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The subnet, whose prefix length is handed out with each address.
    pub subnet: Subnet,
    /// The first address.
    pub first: IpAddr,
    /// The last address.
    pub last: IpAddr,
    /// Handed out with each address of the range, never itself handed out.
    pub gateway: Option<IpAddr>,
}

impl Range {
    /// Whether an address lies between the ends.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }

    /// Whether two ranges share an address.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4() && self.first <= other.last && other.first <= self.last
    }
}

/// As host-local writes it: `10.1.2.2-10.1.2.254`.
impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

/// Ranges that serve the same need: each grant has one address from each pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The ranges, in the order in which they are used.
    pub ranges: Vec<Range>,
}

impl Pool {
    /// The range that an address lies in.
    #[must_use]
    pub fn range_of(&self, address: IpAddr) -> Option<&Range> {
        self.ranges.iter().find(|range| range.contains(address))
    }
}

/// As host-local writes it: the ranges, parted by commas.
impl fmt::Display for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.ranges.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            range.fmt(formatter)?;
        }
        Ok(())
    }
}

impl From<Pool> for types::Pool {
    fn from(pool: Pool) -> Self {
        Self { ranges: pool.ranges.iter().map(types::AddressRange::from).collect() }
    }
}

impl From<&Range> for types::AddressRange {
    fn from(range: &Range) -> Self {
        Self {
            subnet: range.subnet.to_string(),
            first: range.first.to_string(),
            last: range.last.to_string(),
            gateway: range.gateway.map(|gateway| gateway.to_string()),
            prefix_length: range.subnet.prefix_length(),
        }
    }
}

impl From<types::Pool> for Pool {
    /// The host writes addresses that parse; a range of one that did not would be left out.
    fn from(pool: types::Pool) -> Self {
        Self { ranges: pool.ranges.iter().filter_map(parsed).collect() }
    }
}

fn parsed(range: &types::AddressRange) -> Option<Range> {
    Some(Range {
        subnet: range.subnet.parse().ok()?,
        first: range.first.parse().ok()?,
        last: range.last.parse().ok()?,
        gateway: match &range.gateway {
            Some(gateway) => Some(gateway.parse().ok()?),
            None => None,
        },
    })
}
