//! Networks whose ranges overlap. Overlaps are harmless if the networks are isolated from each other, which the daemon cannot know.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::Range;

/// Two networks, as indices into the list of books, and their first two ranges that share an address.
#[derive(Debug)]
pub(super) struct Overlap<'b> {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) ranges: (&'b Range, &'b Range),
}

/// The most pairs of a network to find, unless it overlaps one that has fewer: where all overlap, nobody reads them all.
pub(super) const MOST_OF_ONE: usize = 64;

/// The pairs of networks that overlap, each once, in order. Ranges within a network never overlap.
pub(super) fn overlaps(books: &[Arc<Book>]) -> Vec<Overlap<'_>> {
    let mut all: Vec<(usize, &Range)> = Vec::new();
    for (index, book) in books.iter().enumerate() {
        all.extend(
            (0..book.pools().len()).flat_map(|pool| book.ranges(pool)).map(|view| (index, view.range)),
        );
    }
    all.sort_unstable_by_key(|(index, range)| (range.first(), *index));
    let mut found = BTreeMap::new();
    let mut counts = vec![0; books.len()];
    // Ranges that began earlier and may reach this one; ranges of the other family have ended.
    let mut open: Vec<(usize, &Range)> = Vec::new();
    for (index, range) in all {
        open.retain(|(_, before)| before.last() >= range.first());
        for (other, before) in open.iter().filter(|(other, before)| *other != index && before.overlaps(range))
        {
            let (pair, ranges) = match *other < index {
                true => ((*other, index), (*before, range)),
                false => ((index, *other), (range, *before)),
            };
            let is_full = |index: usize| counts.get(index).is_some_and(|count| *count >= MOST_OF_ONE);
            if found.contains_key(&pair) || is_full(pair.0) && is_full(pair.1) {
                continue;
            }
            found.insert(pair, ranges);
            for index in [pair.0, pair.1] {
                if let Some(count) = counts.get_mut(index) {
                    *count += 1;
                }
            }
        }
        open.push((index, range));
    }
    found.into_iter().map(|((one, other), ranges)| Overlap { one, other, ranges }).collect()
}

#[cfg(test)]
mod tests {
    use tenure_ledger::Defined;
    use tenure_types::{DefinedPool, Definer, Definition, Moment, NetworkConfig, NetworkName, Pool};

    use super::*;

    /// A network with a pool for each range.
    fn network(name: &str, ranges: &[(&str, &str)]) -> Arc<Book> {
        let range = |(first, last): &(&str, &str)| {
            let (first, last): (std::net::IpAddr, std::net::IpAddr) =
                (first.parse().unwrap(), last.parse().unwrap());
            let subnet = if first.is_ipv4() { "10.0.0.0/8" } else { "fd00::/64" };
            Range::new(subnet.parse().unwrap(), first, last, None, 8).unwrap()
        };
        let pool = |(index, ends)| DefinedPool { pool: Pool::numbered(index), ranges: vec![range(ends)] };
        let definition =
            Definition { pools: ranges.iter().enumerate().map(pool).collect(), ..Definition::default() };
        let config = Arc::new(NetworkConfig::default());
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        Arc::new(Book::defined(&NetworkName::new(name).unwrap(), defined, Moment::default()).unwrap())
    }

    #[test]
    fn of_many_networks_that_all_overlap_a_part_is_found() {
        let books: Vec<_> =
            (0..500).map(|number| network(&format!("n{number}"), &[("10.0.0.1", "10.0.0.9")])).collect();
        let found = overlaps(&books);
        let of = |index: usize| found.iter().filter(|pair| pair.one == index || pair.other == index).count();
        assert!(found.len() <= 500 * MOST_OF_ONE, "{} pairs", found.len());
        assert!((0..500).all(|index| of(index) >= MOST_OF_ONE));
    }

    #[test]
    fn each_pair_of_networks_that_share_an_address_is_named_once() {
        let books = [
            network("wide", &[("10.0.0.0", "10.255.255.255"), ("fd00::1", "fd00::9")]),
            network("left", &[("10.1.0.1", "10.1.0.9"), ("10.3.0.1", "10.3.0.9")]),
            network("right", &[("10.1.0.9", "10.1.0.20")]),
            network("apart", &[("fd00::a", "fd00::f")]),
            network("empty", &[]),
        ];
        let found: Vec<_> = overlaps(&books)
            .into_iter()
            .map(|found| (found.one, found.other, format!("{} {}", found.ranges.0, found.ranges.1)))
            .collect();
        let wide = "10.0.0.0-10.255.255.255";
        assert_eq!(
            found,
            [
                (0, 1, format!("{wide} 10.1.0.1-10.1.0.9")),
                (0, 2, format!("{wide} 10.1.0.9-10.1.0.20")),
                (1, 2, "10.1.0.1-10.1.0.9 10.1.0.9-10.1.0.20".to_owned()),
            ]
        );
    }
}
