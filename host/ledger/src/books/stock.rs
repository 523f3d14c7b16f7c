//! The addresses that a network can hand out: its pools' ranges, and their usage.
//!
//! Ranges are added, drained and removed one by one while addresses are held. A policy's query costs the same for one
//! range and for a thousand: each pool has a shelf, and one more for each attribute value of its ranges, which tracks
//! the usage and the ranges that are not full.

mod shelf;
mod shelves;
mod walk;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound;
use std::sync::Arc;

use tenure_types::{Pool, Range, RangeName, Source};

pub use self::shelf::{Shelf, Usage};
pub(super) use self::shelves::{Change, InUse};
use self::shelves::{Shelves, Stand, Stocked, UsageSum};
pub use self::walk::Direction;
pub(super) use self::walk::Stretch;
use super::chart::{Chart, Place};

/// A range and its usage, for readers.
#[derive(Debug, Clone, Copy)]
pub struct RangeView<'a> {
    /// The range.
    pub range: &'a Range,
    /// Whether it is draining, so that it hands out nothing.
    pub draining: bool,
    /// Number of addresses that have an owner or are in quarantine.
    pub held: u64,
    /// Number of addresses that are cooling down.
    pub cooling: u64,
}

/// A network's pools with their ranges.
#[derive(Debug, Clone, Default)]
pub(super) struct Stock {
    pools: Vec<Shelves>,
    chart: Chart,
}

impl Stock {
    /// An empty stock of `pools` pools.
    pub(super) fn new(pools: usize) -> Self {
        Self { pools: vec![Shelves::default(); pools], chart: Chart::default() }
    }

    /// The number of ranges in all pools.
    pub(super) fn ranges(&self) -> usize {
        self.chart.len()
    }

    /// Adds a range after the others of its pool.
    pub(super) fn add(&mut self, pool: usize, of: &Pool, range: Range, draining: bool, in_use: &InUse) {
        let Some(shelves) = self.pools.get_mut(pool) else { return };
        let number = shelves.next;
        shelves.next += 1;
        shelves.names.insert(range.name().clone(), number);
        self.chart.insert(range.first(), range.last(), Place { pool, number });
        let source = Arc::new(Source::of(of, &range));
        let (size, held, cooling) = (range.count(), in_use.held, in_use.cooling.len() as u64);
        let reserved = in_use.cooling.iter().filter(|(_, address)| range.reserved(*address).is_some());
        let filled = u128::from(held + cooling - in_use.reserved) - reserved.count() as u128;
        let stocked = Stocked { number, range, source, draining, size, held, cooling, filled };
        if !draining {
            shelves.each_of(&stocked.range, |stand| stand.enter(&stocked, in_use));
        }
        shelves.ranges.insert(number, stocked);
    }

    /// Removes a range from its pool.
    pub(super) fn remove(&mut self, pool: usize, name: &RangeName, in_use: &InUse) {
        let Some(shelves) = self.pools.get_mut(pool) else { return };
        let number = shelves.names.remove(name);
        let Some(stocked) = number.and_then(|number| shelves.ranges.remove(&number)) else { return };
        self.chart.remove(stocked.range.first());
        if !stocked.draining {
            shelves.leave(&stocked, in_use);
        }
    }

    /// Starts or stops draining a range.
    pub(super) fn drain(&mut self, pool: usize, name: &RangeName, draining: bool, in_use: &InUse) {
        let Some(shelves) = self.pools.get_mut(pool) else { return };
        let number = shelves.names.get(name).copied();
        let Some(mut stocked) = number.and_then(|number| shelves.ranges.remove(&number)) else { return };
        match (stocked.draining, draining) {
            (false, true) => shelves.leave(&stocked, in_use),
            (true, false) => shelves.each_of(&stocked.range, |stand| stand.enter(&stocked, in_use)),
            _ => {}
        }
        stocked.draining = draining;
        shelves.ranges.insert(stocked.number, stocked);
    }

    /// A range by name, and whether it is draining.
    pub(super) fn named(&self, pool: usize, name: &RangeName) -> Option<(&Range, bool)> {
        let shelves = self.pools.get(pool)?;
        let stocked = shelves.ranges.get(shelves.names.get(name)?)?;
        Some((&stocked.range, stocked.draining))
    }

    /// A range that overlaps this one.
    pub(super) fn overlapping(&self, range: &Range) -> Option<&Range> {
        let place = self.chart.overlapping(range.first(), range.last())?;
        Some(&self.stocked(place)?.range)
    }

    /// The ranges of a pool, in the order in which they are used.
    pub(super) fn ranges_of(&self, pool: usize) -> impl Iterator<Item = RangeView<'_>> {
        self.pools.get(pool).into_iter().flat_map(|shelves| shelves.ranges.values()).map(|stocked| {
            let Stocked { range, draining, held, cooling, .. } = stocked;
            RangeView { range, draining: *draining, held: *held, cooling: *cooling }
        })
    }

    /// The pool and the range that contain an address, the source of the range's addresses, and whether the range is
    /// draining.
    pub(super) fn locate(&self, address: IpAddr) -> Option<(usize, &Range, &Arc<Source>, bool)> {
        let place = self.chart.locate(address)?;
        let stocked = self.stocked(place)?;
        Some((place.pool, &stocked.range, &stocked.source, stocked.draining))
    }

    fn stocked(&self, place: Place) -> Option<&Stocked> {
        self.pools.get(place.pool)?.ranges.get(&place.number)
    }

    /// Updates the counts for an address's change of state. Ignores addresses outside the ranges.
    pub(super) fn change(&mut self, address: IpAddr, change: Change) {
        let Some(Place { pool, number }) = self.chart.locate(address) else { return };
        let Some(shelves) = self.pools.get_mut(pool) else { return };
        let Some(stocked) = shelves.ranges.get_mut(&number) else { return };
        let counts = u128::from(stocked.range.reserved(address).is_none());
        match change {
            Change::Hold | Change::Bar => stocked.held += 1,
            Change::LetGo => stocked.held = stocked.held.saturating_sub(1),
            Change::Cool(_) => stocked.cooling += 1,
            Change::Warm(_) => stocked.cooling = stocked.cooling.saturating_sub(1),
        }
        stocked.filled = match change {
            Change::Hold | Change::Bar | Change::Cool(_) => stocked.filled + counts,
            Change::LetGo | Change::Warm(_) => stocked.filled.saturating_sub(counts),
        };
        if stocked.draining {
            return;
        }
        let is_open = stocked.filled < stocked.size;
        let on = |stand: &mut Stand| stand.change(address, change, number, is_open);
        on(&mut shelves.whole);
        if stocked.range.attributes().is_empty() {
            return;
        }
        for (name, value) in stocked.range.attributes().iter() {
            if let Some(stand) = shelves.labelled.get_mut(name).and_then(|values| values.get_mut(value)) {
                on(stand);
            }
        }
    }

    fn stand(&self, shelf: Shelf<'_>) -> Option<&Stand> {
        let shelves = self.pools.get(shelf.pool)?;
        match shelf.label {
            None => Some(&shelves.whole),
            Some((name, value)) => shelves.labelled.get(name)?.get(value),
        }
    }

    pub(super) fn usage(&self, shelf: Shelf<'_>) -> Usage {
        if shelf.further.is_empty() {
            return self.stand(shelf).map_or_else(Usage::default, Stand::usage);
        }
        let mut sum = UsageSum::default();
        self.open_to(shelf).for_each(|stocked| sum.add(stocked));
        sum.usage()
    }

    /// The usage of a shelf by the values of a label, beginning after the value `after`.
    pub(super) fn usage_by<'a>(
        &'a self,
        shelf: Shelf<'_>,
        label: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, Usage)> + use<'a> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut indexed, mut summed) = (None, BTreeMap::<&str, UsageSum>::new());
        if shelf.label.is_none() {
            let values = self.pools.get(shelf.pool).and_then(|shelves| shelves.labelled.get(label));
            indexed = values.map(|values| values.range::<str, _>((from, Bound::Unbounded)));
        } else {
            for stocked in self.open_to(shelf) {
                let value = stocked.range.attributes().get(label);
                if let Some(value) = value.filter(|value| after.is_none_or(|after| *value > after)) {
                    summed.entry(value).or_default().add(stocked);
                }
            }
        }
        let indexed = indexed.into_iter().flatten().map(|(value, stand)| (&**value, stand.usage()));
        indexed.chain(summed.into_iter().map(|(value, sum)| (value, sum.usage())))
    }

    /// The ranges of a shelf that are not draining.
    fn open_to<'a>(&'a self, shelf: Shelf<'_>) -> impl Iterator<Item = &'a Stocked> {
        let ranges = self.pools.get(shelf.pool).into_iter().flat_map(|shelves| shelves.ranges.values());
        ranges.filter(move |stocked| !stocked.draining && shelf.has(&stocked.range))
    }

    /// The number of addresses that a pool can hand out, capped at `u128::MAX`.
    pub(super) fn total(&self, pool: usize) -> u128 {
        self.pools.get(pool).map_or(0, |shelves| shelves.whole.total)
    }

    /// Whether some range has an address that is neither held nor cooling.
    pub(super) fn has_free(&self, shelf: Shelf<'_>) -> bool {
        self.stretches(shelf, None, Direction::Ascending).next().is_some()
    }

    /// The cooling addresses, least recently freed first.
    pub(super) fn cooling(&self, shelf: Shelf<'_>) -> impl Iterator<Item = IpAddr> {
        let cooling = self.stand(shelf).into_iter().flat_map(|stand| stand.cooling.values().copied());
        cooling.filter(move |address| self.has_further(shelf, *address))
    }

    /// The address handed out last. Of several labels, it is the last of one of them that lies in a range with all; there may be none.
    pub(super) fn last(&self, shelf: Shelf<'_>) -> Option<IpAddr> {
        if shelf.further.is_empty() {
            return self.stand(shelf)?.last;
        }
        let of = |label: &(&str, &str)| self.stand(Shelf::labelled(shelf.pool, label.0, label.1))?.last;
        let is_within =
            |address: &IpAddr| self.locate(*address).is_some_and(|(_, range, ..)| shelf.has(range));
        shelf.label.iter().chain(shelf.further).filter_map(of).find(is_within)
    }

    /// Whether the range of an address has the further attributes of a shelf.
    fn has_further(&self, shelf: Shelf<'_>, address: IpAddr) -> bool {
        shelf.further.is_empty()
            || self.locate(address).is_some_and(|(_, range, ..)| shelf.has_further(range))
    }

    /// The last address handed out from each shelf.
    pub(super) fn all_last(&self) -> impl Iterator<Item = (Shelf<'_>, IpAddr)> {
        self.pools.iter().enumerate().flat_map(|(pool, shelves)| {
            let whole = [(Shelf::whole(pool), &shelves.whole)];
            let labelled = shelves.labelled.iter().flat_map(move |(name, values)| {
                values.iter().map(move |(value, stand)| (Shelf::labelled(pool, name, value), stand))
            });
            let all = whole.into_iter().chain(labelled);
            all.filter_map(|(shelf, stand)| Some((shelf, stand.last?)))
        })
    }

    /// Forgets the last address of every shelf.
    pub(super) fn forget_last(&mut self) {
        for shelves in &mut self.pools {
            shelves.whole.last = None;
            shelves.labelled.values_mut().flat_map(BTreeMap::values_mut).for_each(|stand| stand.last = None);
        }
    }

    pub(super) fn set_last(&mut self, shelf: Shelf<'_>, address: Option<IpAddr>) {
        let Some(shelves) = self.pools.get_mut(shelf.pool) else { return };
        let stand = match shelf.label {
            None => Some(&mut shelves.whole),
            Some((name, value)) => shelves.labelled.get_mut(name).and_then(|values| values.get_mut(value)),
        };
        if let Some(stand) = stand {
            stand.last = address;
        }
    }
}
