//! The order in which the ranges of a shelf are searched for free addresses.

use std::net::IpAddr;

use tenure_types::Range;

use super::{Shelf, Stock};
use crate::books::runs::{predecessor, successor};
use crate::books::shared_map::SharedSet;

/// The direction in which a pool is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first address to the last.
    Ascending,
    /// From the last address to the first.
    Descending,
}

/// A part of one range, walked from `from` to `to`.
#[derive(Debug)]
pub(crate) struct Stretch<'a> {
    pub(crate) range: &'a Range,
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
}

impl Stock {
    /// The ranges of a shelf that are not full, in walking order. The range that contains `after` is split there.
    pub(crate) fn stretches<'a>(
        &'a self,
        shelf: Shelf<'_>,
        after: Option<IpAddr>,
        direction: Direction,
    ) -> impl Iterator<Item = Stretch<'a>> {
        let ascending = direction == Direction::Ascending;
        let stand = self.stand(shelf);
        let ranges = self.pools.get(shelf.pool).map(|shelves| &shelves.ranges);
        // The walk begins after `after`, if that is in the pool.
        let split = after
            .and_then(|after| Some((after, self.chart.locate(after)?)))
            .filter(|(_, place)| place.pool == shelf.pool)
            .map(|(after, place)| (after, place.number));
        let range_of = move |number: u64| ranges?.get(&number).map(|stocked| &stocked.range);
        let whole = move |range: &'a Range| match ascending {
            true => Stretch { range, from: range.first(), to: range.last() },
            false => Stretch { range, from: range.last(), to: range.first() },
        };
        let open = stand.map(|stand| &stand.open);
        let here = split.filter(|(after, number)| {
            open.is_some_and(|open| open.contains_key(number)) && self.has_further(shelf, *after)
        });
        let begin = here.and_then(|(after, number)| {
            let from = if ascending { successor(after) } else { predecessor(after) };
            let stretch = whole(range_of(number)?);
            // If `after` is the end of the range, this stretch is empty.
            Some(Stretch { from: from?, ..stretch })
        });
        let end = here.and_then(|(after, number)| Some(Stretch { to: after, ..whole(range_of(number)?) }));
        let number = split.map(|(_, number)| number);
        let numbers = open.into_iter().flat_map(move |open| in_order(open, number, ascending));
        let between = numbers.filter_map(range_of).filter(move |range| shelf.has_further(range)).map(whole);
        begin.into_iter().chain(between).chain(end)
    }
}

/// The numbers of a set in walking order: those after `around`, then those before it, without `around` itself.
fn in_order(open: &SharedSet<u64>, around: Option<u64>, ascending: bool) -> impl Iterator<Item = u64> {
    use std::ops::Bound::{Excluded, Unbounded};
    let (behind, before) = match around {
        Some(number) => ((Excluded(number), Unbounded), Some((Unbounded, Excluded(number)))),
        None => ((Unbounded, Unbounded), None),
    };
    let (mut first, mut second) =
        (open.range::<u64, _>(behind), before.map(|before| open.range::<u64, _>(before)));
    if !ascending && let Some(second) = second.as_mut() {
        std::mem::swap(&mut first, second);
    }
    std::iter::from_fn(move || {
        let next = if ascending { first.next() } else { first.next_back() };
        let after = || if ascending { second.as_mut()?.next() } else { second.as_mut()?.next_back() };
        next.or_else(after).map(|(number, ())| *number)
    })
}
