//! A policy's view of a book: queries, never a copy of a table. Their cost does not grow with the size of a
//! pool or its number of ranges.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Allocation, AssignedAddress, Cooling, Moment, PoolName, Range, Source};

use super::Book;
use super::cooling::CoolingAddress;
use super::runs::{predecessor, successor};
use super::stock::{Direction, RangeView, Shelf, Stretch, Usage};

/// The present state of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// May be proposed.
    Free,
    /// Has an owner.
    Held,
    /// Was freed recently and is cooling down.
    Cooling,
    /// Is the network address, the broadcast address or the gateway.
    Reserved,
    /// Is in quarantine, without an owner.
    Quarantined,
    /// Is in a draining range, which hands out nothing.
    Draining,
    /// Is outside the network's ranges.
    Outside,
}

impl Book {
    /// The ranges of a pool, in the order in which they are used.
    pub fn ranges(&self, pool: usize) -> impl Iterator<Item = RangeView<'_>> {
        self.stock().ranges_of(pool)
    }

    /// The number of ranges in all pools.
    #[must_use]
    pub fn range_count(&self) -> usize {
        self.stock().ranges()
    }

    /// The pool and the range that contain an address.
    #[must_use]
    pub fn locate(&self, address: IpAddr) -> Option<(usize, &Range)> {
        self.stock().locate(address).map(|(pool, range, ..)| (pool, range))
    }

    /// The source of the addresses of the range that contains an address, and whether that range is draining.
    #[must_use]
    pub fn source_of(&self, address: IpAddr) -> Option<(&Arc<Source>, bool)> {
        self.stock().locate(address).map(|(.., source, draining)| (source, draining))
    }

    /// The index of the pool that contains an address.
    #[must_use]
    pub fn pool_of(&self, address: IpAddr) -> Option<usize> {
        Some(self.locate(address)?.0)
    }

    /// Whether an allocation has an address outside the present ranges. Such an address stays with its owner.
    #[must_use]
    pub fn is_outside(&self, allocation: &Allocation) -> bool {
        allocation.addresses.iter().map(AssignedAddress::ip).any(|address| self.pool_of(address).is_none())
    }

    /// The state of an address, as of the last [`expire`](Book::expire).
    #[must_use]
    pub fn standing(&self, address: IpAddr) -> Standing {
        match self.stock().locate(address) {
            _ if self.holder(address).is_some() => Standing::Held,
            None => Standing::Outside,
            Some((_, range, ..)) if range.reserved(address).is_some() => Standing::Reserved,
            Some(_) if self.marks().bars(address) => Standing::Quarantined,
            Some(_) if self.cooling_since(address).is_some() => Standing::Cooling,
            Some((_, range, ..)) if self.is_prefix_taken(range, address) => Standing::Reserved,
            Some((.., true)) => Standing::Draining,
            Some(_) => Standing::Free,
        }
    }

    /// Returns the beginning of an address's cooldown.
    #[must_use]
    pub fn cooling_since(&self, address: IpAddr) -> Option<Moment> {
        self.cooling_queue().get(address).map(|cooling| cooling.since)
    }

    /// The cooling addresses, least recently freed first.
    pub fn cooling_entries(&self) -> impl ExactSizeIterator<Item = CoolingAddress> {
        self.cooling_queue().iter().copied()
    }

    /// The cooling addresses with the time of their release, least recently freed first.
    pub fn cooling_addresses(&self) -> impl ExactSizeIterator<Item = (IpAddr, Moment)> {
        self.cooling_queue().iter().map(|cooling| (cooling.address, cooling.since))
    }

    /// Returns up to `limit` free addresses of a shelf, starting after `after` and going around the pool once.
    ///
    /// `after` itself comes last. Without it, or if it is not in the pool, the walk begins at the pool's start, or at
    /// its end when descending. Full ranges cost nothing.
    #[must_use]
    pub fn free(
        &self,
        shelf: Shelf<'_>,
        after: Option<IpAddr>,
        direction: Direction,
        limit: usize,
    ) -> Vec<IpAddr> {
        let stretches = self.stock().stretches(shelf, after, direction);
        stretches.flat_map(|stretch| self.walk(&stretch, direction)).take(limit).collect()
    }

    /// The free addresses of a stretch. Each is found in one step, however many taken addresses are in between. Of prefixes, a step
    /// also skips one of which only a part is taken.
    fn walk<'a>(
        &'a self,
        stretch: &Stretch<'a>,
        direction: Direction,
    ) -> impl Iterator<Item = IpAddr> + use<'a> {
        let (range, to, mut next) = (stretch.range, stretch.to, Some(stretch.from));
        std::iter::from_fn(move || {
            loop {
                let found = match direction {
                    Direction::Ascending => self.taken().next_outside(next?).filter(|found| *found <= to)?,
                    Direction::Descending => {
                        self.taken().previous_outside(next?).filter(|found| *found >= to)?
                    }
                };
                let (first, last) = range.span(found);
                let is_whole = match direction {
                    Direction::Ascending => found == first,
                    Direction::Descending => found == last,
                };
                next = match direction {
                    Direction::Ascending => successor(last),
                    Direction::Descending => predecessor(first),
                };
                if is_whole && range.reserved(first).is_none() && !self.is_prefix_taken(range, first) {
                    return Some(first);
                }
            }
        })
    }

    /// Up to `limit` cooling addresses of a shelf, least recently freed first.
    #[must_use]
    pub fn cooling(&self, shelf: Shelf<'_>, limit: usize) -> Vec<IpAddr> {
        // This filters out only addresses that a newer definition has reserved, at most three in a range.
        let cooling = self.stock().cooling(shelf);
        cooling.filter(|address| self.standing(*address) == Standing::Cooling).take(limit).collect()
    }

    /// The last address handed out from a shelf.
    #[must_use]
    pub fn last(&self, shelf: Shelf<'_>) -> Option<IpAddr> {
        self.stock().last(shelf)
    }

    /// The usage of a shelf.
    #[must_use]
    pub fn usage(&self, shelf: Shelf<'_>) -> Usage {
        self.stock().usage(shelf)
    }

    /// The usage of a shelf by the values of a label, in order, beginning after the value `after`.
    pub fn usage_by<'a>(
        &'a self,
        shelf: Shelf<'_>,
        label: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, Usage)> + use<'a> {
        self.stock().usage_by(shelf, label, after)
    }

    /// The number of addresses that a pool can hand out, capped at `u128::MAX`.
    #[must_use]
    pub fn total(&self, pool: usize) -> u128 {
        self.stock().total(pool)
    }

    /// Whether a pool has no address to hand out now.
    #[must_use]
    pub fn is_exhausted(&self, pool: usize) -> bool {
        let shelf = Shelf::whole(pool);
        let mut cooling = self.stock().cooling(shelf);
        let yields = self.network().cooling == Cooling::Preferred && cooling.next().is_some();
        !(yields || self.stock().has_free(shelf))
    }

    /// The number of live allocations with this value of `pod.namespace`, `owner.kind`, `owner.agent` or a tag.
    #[must_use]
    pub fn count(&self, name: &str, value: &str) -> u32 {
        self.counts().of(name, value)
    }

    /// The last addresses of an owner that is gone, by its lasting name: `namespace/name` of a pod, or `agent/name`
    /// of a claim.
    #[must_use]
    pub fn last_of(&self, name: &str) -> &[(PoolName, IpAddr)] {
        self.remembered().of(name).map_or(&[], |remembrance| &remembrance.addresses)
    }
}
