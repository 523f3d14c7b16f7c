//! Where each address lies: a network's ranges in order, found by halving however many there are.

use std::net::IpAddr;

use tenure_types::{Definition, Range};

/// The ranges of a definition by their first address; they share none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chart(Vec<Place>);

#[derive(Debug, Clone, Copy)]
struct Place {
    first: IpAddr,
    last: IpAddr,
    pool: usize,
    range: usize,
}

impl Chart {
    pub(crate) fn of(definition: &Definition) -> Self {
        let ranges = definition.pools.iter().enumerate().flat_map(|(pool, of)| {
            let place =
                move |(range, of): (usize, &Range)| Place { first: of.first(), last: of.last(), pool, range };
            of.ranges.iter().enumerate().map(place)
        });
        let mut places: Vec<_> = ranges.collect();
        places.sort_unstable_by_key(|place| place.first);
        Self(places)
    }

    /// The pool and the range that an address lies in, by their places in the definition.
    pub(crate) fn locate(&self, address: IpAddr) -> Option<(usize, usize)> {
        let behind = self.0.partition_point(|place| place.first <= address);
        let place = self.0.get(behind.checked_sub(1)?)?;
        (address <= place.last).then_some((place.pool, place.range))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenure_types::{Cooling, Pool};

    use super::*;

    /// Every second of these is a range of so many addresses; the pools take turns.
    fn definition(lengths: &[u8], pools: usize) -> Definition {
        let mut ranges = vec![Vec::new(); pools];
        for (number, length) in lengths.iter().enumerate() {
            let number = u8::try_from(number).unwrap();
            let (first, last) = (IpAddr::from([10, 0, number, 7]), IpAddr::from([10, 0, number, 7 + length]));
            let subnet = format!("10.0.{number}.0/24").parse().unwrap();
            ranges[usize::from(number) % pools].push(Range::new(subnet, first, last, None, 24).unwrap());
        }
        ranges.iter_mut().for_each(|ranges| ranges.reverse());
        Definition {
            pools: ranges.into_iter().map(|ranges| Pool { ranges }).collect(),
            cooling: Cooling::Strict,
        }
    }

    proptest! {
        #[test]
        fn it_says_what_a_look_at_each_range_says(
            lengths in prop::collection::vec(0u8..9, 0..12),
            pools in 1usize..4,
            address in (0u8..13, 0u8..20),
        ) {
            let definition = definition(&lengths, pools);
            let address = IpAddr::from([10, 0, address.0, address.1]);
            let found = Chart::of(&definition).locate(address);
            let range = found.map(|(pool, range)| (pool, &definition.pools[pool].ranges[range]));
            prop_assert_eq!(range, definition.locate(address));
        }
    }

    #[test]
    fn no_address_of_the_other_family_is_in_it() {
        let chart = Chart::of(&definition(&[8], 1));
        assert_eq!(chart.locate("10.0.0.9".parse().unwrap()), Some((0, 0)));
        for other in ["::", "::ffff:10.0.0.9", "fd00::1"] {
            assert_eq!(chart.locate(other.parse().unwrap()), None);
        }
    }
}
