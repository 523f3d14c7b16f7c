//! Reads the addresses that a pool hands out to nobody, and finds the blocks of which none is left.

use std::net::IpAddr;
use std::ops::Range;

use ipnet::IpNet;

use crate::objects::delivery::BlockIndexRange;
use crate::objects::node::ExclusionEntry;

/// A run of addresses as numbers, or of places in a block; both ends included.
pub type AddressRun = (u128, u128);

/// The addresses that a pool excludes. An entry that cannot be read, which the API server would not have taken, excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolExclusions {
    /// Runs of IPv4, in order; no two of them touch.
    ipv4: Vec<AddressRun>,
    /// The same of IPv6.
    ipv6: Vec<AddressRun>,
    /// Places in each block.
    places: Vec<AddressRun>,
}

impl PoolExclusions {
    /// Reads the addresses that are excluded from the whole pool, and the places that are excluded from each of its blocks.
    #[must_use]
    pub fn of(exclusions: &[ExclusionEntry], places: &[BlockIndexRange]) -> Self {
        let of_family = |is_ipv4| {
            let read = exclusions.iter().filter_map(ends_of_entry);
            let own = read.filter(|(first, _)| first.is_ipv4() == is_ipv4);
            joined(own.map(|(first, last)| (number(first), number(last))).collect())
        };
        let place =
            |entry: &BlockIndexRange| u128::try_from(entry.start).ok().zip(u128::try_from(entry.end).ok());
        let places = joined(places.iter().filter_map(place).collect());
        Self { ipv4: of_family(true), ipv6: of_family(false), places }
    }

    /// The runs of a block's addresses that are left.
    #[must_use]
    pub fn left_of(&self, block: IpNet) -> Vec<AddressRun> {
        let (first, last) = ends(block);
        let at = |place: u128| first.saturating_add(place);
        let in_block = self.places.iter().map(|(start, end)| (at(*start), at(*end)));
        let mut excluded: Vec<AddressRun> = self.of_family(block).iter().copied().chain(in_block).collect();
        excluded.sort_unstable();
        let (mut next, mut runs) = (Some(first), Vec::new());
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

    /// Whether an address is excluded from the whole pool.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let (runs, number) = (self.of_family(address.into()), number(address));
        let after = runs.partition_point(|(from, _)| *from <= number);
        after.checked_sub(1).and_then(|last| runs.get(last)).is_some_and(|(_, to)| number <= *to)
    }

    /// Whether no address of a block is left.
    #[must_use]
    pub fn cover(&self, block: IpNet) -> bool {
        let (first, last) = ends(block);
        // Two runs of a kind do not touch: a block is inside of one of them, or both kinds cover it together.
        let is_whole = |(from, to): &AddressRun| *from <= first && last <= *to;
        let is_everywhere = |(start, end): &AddressRun| *start == 0 && last - first <= *end;
        let touches = |(from, to): &AddressRun| *from <= last && first <= *to;
        let mut here = self.of_family(block).iter().filter(|run| touches(run)).peekable();
        if self.places.iter().any(is_everywhere) || here.peek().is_some_and(|run| is_whole(run)) {
            return true;
        }
        here.peek().is_some() && !self.places.is_empty() && self.left_of(block).is_empty()
    }

    /// The positions of the blocks of a range of which no address is left. A block is a cell of the prefix length `unit`.
    #[must_use]
    pub fn covered_cells(&self, range: IpNet, unit: u8) -> Vec<Range<u128>> {
        let (first, last) = ends(range);
        let bits = range.max_prefix_len().saturating_sub(unit);
        let position = |address: u128| address.saturating_sub(first).checked_shr(bits.into()).unwrap_or(0);
        let cell = |position: u128| {
            let address =
                address(range, first.saturating_add(position.checked_shl(bits.into()).unwrap_or(0)));
            IpNet::new(address, unit).ok()
        };
        let is_covered = |position: u128| cell(position).is_some_and(|cell| self.cover(cell));
        let everywhere = Self { places: self.places.clone(), ..Self::default() };
        if !self.places.is_empty() && cell(0).is_some_and(|cell| everywhere.cover(cell)) {
            return std::iter::once(0..position(last).saturating_add(1)).collect();
        }
        let mut cells = Vec::new();
        for (from, to) in self.of_family(range).iter().filter(|(from, to)| *from <= last && first <= *to) {
            let (one, other) = (position(*from.max(&first)), position(*to.min(&last)));
            // Of the cells between, nothing is left.
            cells.push(one.saturating_add(1)..other);
            cells.extend([one, other].into_iter().filter(|at| is_covered(*at)).map(|at| at..at + 1));
        }
        cells.retain(|cells| !cells.is_empty());
        cells
    }

    fn of_family(&self, cidr: IpNet) -> &[AddressRun] {
        match cidr {
            IpNet::V4(_) => &self.ipv4,
            IpNet::V6(_) => &self.ipv6,
        }
    }
}

/// The first and the last address of an exclusion.
fn ends_of_entry(entry: &ExclusionEntry) -> Option<(IpAddr, IpAddr)> {
    let (first, last): (IpAddr, IpAddr) = match (&entry.cidr, &entry.start, &entry.end) {
        (Some(text), ..) => {
            let net: IpNet = text.parse().ok()?;
            (net.network(), net.broadcast())
        }
        (None, Some(start), Some(end)) => (start.parse().ok()?, end.parse().ok()?),
        _ => return None,
    };
    (first.is_ipv4() == last.is_ipv4()).then_some((first, last))
}

/// The same runs in order, those that overlap or touch as one.
fn joined(mut runs: Vec<AddressRun>) -> Vec<AddressRun> {
    runs.retain(|(from, to)| from <= to);
    runs.sort_unstable();
    let mut joined: Vec<AddressRun> = Vec::new();
    for (from, to) in runs {
        match joined.last_mut() {
            Some((_, last)) if from <= last.saturating_add(1) => *last = to.max(*last),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// The first and the last address of a CIDR as numbers.
fn ends(cidr: IpNet) -> AddressRun {
    (number(cidr.network()), number(cidr.broadcast()))
}

/// An address as a number.
pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// The address with a number, of the family of a CIDR.
pub(crate) fn address(family: IpNet, number: u128) -> IpAddr {
    match family {
        IpNet::V4(_) => IpAddr::V4(u32::try_from(number).unwrap_or(u32::MAX).into()),
        IpNet::V6(_) => IpAddr::V6(number.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluding(entries: &[&str], places: &[(i64, i64)]) -> PoolExclusions {
        let entry = |text: &&str| match text.split_once('-') {
            Some((start, end)) => {
                ExclusionEntry { cidr: None, start: Some(start.into()), end: Some(end.into()) }
            }
            None => ExclusionEntry { cidr: Some((*text).into()), start: None, end: None },
        };
        let places: Vec<_> =
            places.iter().map(|(start, end)| BlockIndexRange { start: *start, end: *end }).collect();
        PoolExclusions::of(&entries.iter().map(entry).collect::<Vec<_>>(), &places)
    }

    /// The blocks of a range that are covered, by asking each, which are the cells that are counted, too.
    fn covered(exclusions: &PoolExclusions, range: &str, unit: u8) -> Vec<usize> {
        let range: IpNet = range.parse().unwrap();
        let cells = range.subnets(unit).unwrap().enumerate();
        let asked: Vec<usize> = cells.filter(|(_, cell)| exclusions.cover(*cell)).map(|(at, _)| at).collect();
        let mut counted: Vec<u128> = exclusions.covered_cells(range, unit).into_iter().flatten().collect();
        counted.sort_unstable();
        counted.dedup();
        assert_eq!(counted, asked.iter().map(|at| *at as u128).collect::<Vec<_>>(), "{exclusions:?}");
        asked
    }

    #[test]
    fn a_block_without_an_address_that_is_left_is_covered() {
        let of =
            |entries: &[&str], places: &[(i64, i64)]| covered(&excluding(entries, places), "10.0.0.0/24", 26);
        assert_eq!(of(&[], &[]), [0; 0]);
        assert_eq!(of(&["10.0.0.0/26"], &[]), [0]);
        assert_eq!(of(&["10.0.0.0-10.0.0.62"], &[]), [0; 0], "one address is left");
        assert_eq!(of(&["10.0.0.10-10.0.0.200"], &[]), [1, 2]);
        assert_eq!(of(&["10.0.0.64/27", "10.0.0.96/27"], &[]), [1], "two that touch");
        assert_eq!(of(&["10.0.0.100-10.0.0.140", "10.0.0.60-10.0.0.110"], &[]), [1], "two that overlap");
        assert_eq!(of(&["0.0.0.0/0"], &[]), [0, 1, 2, 3]);
        assert_eq!(of(&["fd00::/64", "10.0.1.0/24"], &[]), [0; 0]);
        // What is excluded from each block counts, too.
        assert_eq!(of(&[], &[(0, 31), (32, 63)]), [0, 1, 2, 3]);
        assert_eq!(of(&[], &[(1, 63)]), [0; 0]);
        assert_eq!(of(&["10.0.0.128-10.0.0.159"], &[(30, 65_535)]), [2]);
    }

    #[test]
    fn an_address_is_excluded_by_an_entry_that_contains_it() {
        let exclusions =
            excluding(&["10.0.0.10-10.0.0.19", "10.0.0.64/26", "fd00::/120", "0.0.0.0/32"], &[(1, 3)]);
        for (address, expected) in [
            ("10.0.0.9", false),
            ("10.0.0.10", true),
            ("10.0.0.19", true),
            ("10.0.0.20", false),
            ("10.0.0.127", true),
            ("10.0.0.128", false),
            ("0.0.0.0", true),
            ("0.0.0.1", false),
            ("fd00::ff", true),
            ("fd00::100", false),
            ("::a00:a", false),
        ] {
            assert_eq!(exclusions.has(address.parse().unwrap()), expected, "{address}");
        }
        assert!(!PoolExclusions::default().has("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn ipv6_and_the_ends_of_a_family_are_covered_alike() {
        assert_eq!(covered(&excluding(&["fd00::40-fd00::bf"], &[]), "fd00::/120", 122), [1, 2]);
        assert_eq!(covered(&excluding(&["255.255.255.128/25"], &[]), "255.255.255.0/24", 26), [2, 3]);
        let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:0/112";
        assert_eq!(covered(&excluding(&[last], &[]), last, 114), [0, 1, 2, 3]);
    }
}
