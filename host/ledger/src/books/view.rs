//! What a policy may see of a book: answers to questions, never a copied table. None costs more in a larger pool, or in one of
//! more ranges.

use std::net::IpAddr;

use tenure_types::{Allocation, AssignedAddress, Cooling, Moment, PoolName, Range};

use super::Book;
use super::runs::{predecessor, successor};
use super::stock::{RangeView, Shelf, Stretch, Usage};

/// Which way a pool is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first address to the last.
    Ascending,
    /// From the last address to the first.
    Descending,
}

/// What an address is right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// May be proposed.
    Free,
    /// Has an owner.
    Held,
    /// Was freed a moment ago.
    Cooling,
    /// Is the network address, the broadcast address or the gateway.
    Reserved,
    /// Is in a range that hands nothing more out.
    Draining,
    /// Is in no range of the network.
    Outside,
}

impl Book {
    /// The ranges of a pool, in the order in which they are used.
    pub fn ranges(&self, pool: usize) -> impl Iterator<Item = RangeView<'_>> {
        self.stock().ranges_of(pool)
    }

    /// The pool and the range that an address lies in.
    #[must_use]
    pub fn locate(&self, address: IpAddr) -> Option<(usize, &Range)> {
        self.stock().locate(address).map(|(pool, range, ..)| (pool, range))
    }

    /// The index of the pool that an address lies in.
    #[must_use]
    pub fn pool_of(&self, address: IpAddr) -> Option<usize> {
        Some(self.locate(address)?.0)
    }

    /// Whether an allocation has an address outside the present ranges. It stays its owner's.
    #[must_use]
    pub fn is_outside(&self, allocation: &Allocation) -> bool {
        allocation.addresses.iter().map(AssignedAddress::ip).any(|address| self.pool_of(address).is_none())
    }

    /// What an address is, as of the last [`expire`](Book::expire).
    #[must_use]
    pub fn standing(&self, address: IpAddr) -> Standing {
        match self.stock().locate(address) {
            _ if self.holder(address).is_some() => Standing::Held,
            None => Standing::Outside,
            Some((_, range, ..)) if range.reserved(address).is_some() => Standing::Reserved,
            Some(_) if self.cooling_since(address).is_some() => Standing::Cooling,
            Some((.., true)) => Standing::Draining,
            Some(_) => Standing::Free,
        }
    }

    /// Since when an address cools.
    #[must_use]
    pub fn cooling_since(&self, address: IpAddr) -> Option<Moment> {
        self.cooling_queue().since(address)
    }

    /// The cooling addresses and since when, least recently freed first.
    pub fn cooling_addresses(&self) -> impl ExactSizeIterator<Item = (IpAddr, Moment)> {
        self.cooling_queue().iter()
    }

    /// Up to `limit` free addresses of a shelf, starting behind `after` and going around its pool once.
    ///
    /// `after` itself comes last. Without it, or where it is not in the pool, the walk begins at the pool's start,
    /// or at its end when descending. Ranges that are full cost nothing.
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

    /// The free addresses of a stretch, each found in one step however many are taken between them.
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
                next = match direction {
                    Direction::Ascending => successor(found),
                    Direction::Descending => predecessor(found),
                };
                if range.reserved(found).is_none() {
                    return Some(found);
                }
            }
        })
    }

    /// Up to `limit` cooling addresses of a shelf, least recently freed first.
    #[must_use]
    pub fn cooling(&self, shelf: Shelf<'_>, limit: usize) -> Vec<IpAddr> {
        // What cools in its pool is skipped only where a new definition has reserved it, three addresses of a range at most.
        let cooling = self.stock().cooling(shelf);
        cooling.filter(|address| self.standing(*address) == Standing::Cooling).take(limit).collect()
    }

    /// The address of a shelf that was handed out last.
    #[must_use]
    pub fn last(&self, shelf: Shelf<'_>) -> Option<IpAddr> {
        self.stock().last(shelf)
    }

    /// How much of a shelf is in use.
    #[must_use]
    pub fn usage(&self, shelf: Shelf<'_>) -> Usage {
        self.stock().usage(shelf)
    }

    /// How much of a pool's ranges is in use by the values of a label, in the order of the values, from the one behind `after` on.
    pub fn usage_by<'a>(
        &'a self,
        pool: usize,
        label: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, Usage)> + use<'a> {
        self.stock().usage_by(pool, label, after)
    }

    /// How many addresses an owner could get of a pool at all, capped at `u128::MAX`.
    #[must_use]
    pub fn total(&self, pool: usize) -> u128 {
        self.stock().total(pool)
    }

    /// Whether no owner could get an address of a pool now.
    #[must_use]
    pub fn is_exhausted(&self, pool: usize) -> bool {
        let shelf = Shelf::whole(pool);
        let mut cooling = self.stock().cooling(shelf);
        let yields = self.network().cooling == Cooling::Preferred && cooling.next().is_some();
        !(yields || self.stock().has_free(shelf))
    }

    /// How many live allocations carry a value: under `pod.namespace`, `owner.kind`, `owner.agent` or the name of a tag.
    #[must_use]
    pub fn count(&self, name: &str, value: &str) -> u32 {
        self.counts().of(name, value)
    }

    /// The addresses that a name had last, of owners that are gone: `namespace/name` of a pod, `agent/name` of a claim.
    #[must_use]
    pub fn last_of(&self, name: &str) -> &[(PoolName, IpAddr)] {
        self.remembered().of(name).map_or(&[], |remembrance| &remembrance.addresses)
    }
}
