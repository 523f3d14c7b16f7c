//! An index of a network's ranges by address, with logarithmic look-up.

use std::net::IpAddr;

use super::shared_map::SharedMap;

/// The location of a range: its pool's index, and its number in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pool: usize,
    pub(super) number: u64,
}

/// Ranges by their first address. They do not overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Chart(SharedMap<IpAddr, (IpAddr, Place)>);

impl Chart {
    pub(super) fn insert(&mut self, first: IpAddr, last: IpAddr, place: Place) {
        self.0.insert(first, (last, place));
    }

    pub(super) fn remove(&mut self, first: IpAddr) {
        self.0.remove(&first);
    }

    /// The number of ranges.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Locates the range that contains an address.
    pub(super) fn locate(&self, address: IpAddr) -> Option<Place> {
        let (_, (last, place)) = self.0.range(..=address).next_back()?;
        (address <= *last).then_some(*place)
    }

    /// Locates a range that overlaps this one.
    pub(super) fn overlapping(&self, first: IpAddr, last: IpAddr) -> Option<Place> {
        let (_, (end, place)) = self.0.range(..=last).next_back()?;
        (first <= *end).then_some(*place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ip(third: u8, fourth: u8) -> IpAddr {
        IpAddr::from([10, 0, third, fourth])
    }

    proptest! {
        #[test]
        fn it_says_what_a_look_at_each_range_says(
            lengths in prop::collection::vec(0u8..9, 0..12),
            address in (0u8..13, 0u8..20),
            length in 0u8..40,
            removed in prop::collection::vec(0u8..12, 0..4),
        ) {
            let mut chart = Chart::default();
            let mut ranges = Vec::new();
            for (number, length) in (0u8..).zip(lengths) {
                let place = Place { pool: usize::from(number % 3), number: u64::from(number) };
                chart.insert(ip(number, 7), ip(number, 7 + length), place);
                ranges.push((ip(number, 7), ip(number, 7 + length), place));
            }
            for number in removed {
                chart.remove(ip(number, 7));
                ranges.retain(|(first, ..)| *first != ip(number, 7));
            }
            prop_assert_eq!(chart.len(), ranges.len());
            let (first, last) = (ip(address.0, address.1), ip(address.0, address.1 + length));
            let found = ranges.iter().find(|(from, to, _)| *from <= first && first <= *to);
            prop_assert_eq!(chart.locate(first), found.map(|(.., place)| *place));
            let shares = ranges.iter().any(|(from, to, _)| *from <= last && first <= *to);
            prop_assert_eq!(chart.overlapping(first, last).is_some(), shares);
        }
    }

    #[test]
    fn no_address_of_the_other_family_is_in_it() {
        let mut chart = Chart::default();
        chart.insert(ip(0, 7), ip(0, 9), Place { pool: 0, number: 0 });
        assert!(chart.locate(ip(0, 9)).is_some());
        for other in ["::", "::ffff:10.0.0.9", "fd00::1"] {
            assert_eq!(chart.locate(other.parse().unwrap()), None);
        }
    }
}
