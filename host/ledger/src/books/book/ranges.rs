//! The ranges of a book's pools, and the addresses handed out last.

use std::sync::Arc;

use tenure_types::{Network, Pool, PoolName, Range, RangeName};

use super::Book;
use crate::books::Conflict;
use crate::books::image::{LastAddress, Supplied};
use crate::books::stock::{InUse, Shelf, Stock};

impl Book {
    /// A book with the same ranges and no allocations, to try a change of ranges on.
    #[must_use]
    pub fn without_owners(&self) -> Self {
        let mut draft = Self::new(Arc::clone(&self.network));
        for Supplied { pool, range, draining } in self.supplied() {
            // Ranges that are disjoint in this book are disjoint in the draft, so this cannot fail.
            let _ = draft.add_range(&pool, range, draining);
        }
        draft
    }

    /// A copy without some pools, given by their indices; the others keep their order.
    #[must_use]
    pub fn without_pools(&self, without: &[usize]) -> Self {
        let mut network = Network::clone(&self.network);
        let mut indices = 0..;
        network.pools.retain(|_| indices.next().is_none_or(|index| !without.contains(&index)));
        let mut copy = self.clone();
        copy.define(&Arc::new(network));
        copy
    }

    pub(super) fn supplied(&self) -> Vec<Supplied> {
        let of = |(index, pool): (usize, &Pool)| {
            let pool = pool.name.clone();
            self.stock.ranges_of(index).map(move |view| Supplied {
                pool: pool.clone(),
                range: view.range.clone(),
                draining: view.draining,
            })
        };
        self.network.pools.iter().enumerate().flat_map(of).collect()
    }

    pub(super) fn handed_out_last(&self) -> Vec<LastAddress> {
        let last = self.stock.all_last().filter_map(|(shelf, address)| {
            let label = shelf.label.map(|(name, value)| (name.into(), value.into()));
            Some(LastAddress { pool: self.network.pools.get(shelf.pool)?.name.clone(), label, address })
        });
        last.collect()
    }

    pub(super) fn set_last(&mut self, last: Vec<LastAddress>) {
        for LastAddress { pool, label, address } in last {
            let Some(pool) = self.network.pool_named(&pool) else { continue };
            let label = label.as_ref().map(|(name, value)| (&**name, &**value));
            self.stock.set_last(Shelf { pool, label, further: &[] }, Some(address));
        }
    }

    /// Replaces the network's pools. Pools whose name stays keep their ranges and the address handed out last.
    pub(super) fn define(&mut self, network: &Arc<Network>) {
        self.changes.reset();
        if self.network.pools == network.pools {
            // The stock depends on nothing else. To build it again takes time for each address in use.
            self.network = Arc::clone(network);
            return;
        }
        let (ranges, last) = (self.supplied(), self.handed_out_last());
        self.network = Arc::clone(network);
        self.stock = Stock::new(network.pools.len());
        for Supplied { pool, range, draining } in ranges {
            // Fails only for ranges of a pool that no longer exists; those are dropped with it.
            let _ = self.add_range(&pool, range, draining);
        }
        self.set_last(last);
    }

    pub(super) fn add_range(
        &mut self,
        pool: &PoolName,
        range: Range,
        draining: bool,
    ) -> Result<(), Conflict> {
        let index = self.pool_index(pool)?;
        if self.stock.named(index, range.name()).is_some() || self.stock.overlapping(&range).is_some() {
            return Err(Conflict::Range(pool.clone(), range.name().clone()));
        }
        self.changes.reset();
        let in_use = self.in_use(&range);
        let network = Arc::clone(&self.network);
        if let Some(of) = network.pools.get(index) {
            self.stock.add(index, of, range, draining, &in_use);
        }
        Ok(())
    }

    fn pool_index(&self, pool: &PoolName) -> Result<usize, Conflict> {
        self.network.pool_named(pool).ok_or_else(|| Conflict::Pool(pool.clone()))
    }

    /// Finds a range; returns its pool and its usage.
    pub(super) fn range_in_use(&self, pool: &PoolName, name: &RangeName) -> Result<(usize, InUse), Conflict> {
        let index = self.pool_index(pool)?;
        let (range, _) =
            self.stock.named(index, name).ok_or_else(|| Conflict::Range(pool.clone(), name.clone()))?;
        Ok((index, self.in_use(range)))
    }

    fn in_use(&self, range: &Range) -> InUse {
        let mut in_use =
            InUse { cooling: self.cooling.between(range.first(), range.last()), ..InUse::default() };
        for (address, _) in self.by_address.range(range.first()..=range.last()) {
            in_use.held += 1;
            in_use.reserved += u64::from(range.reserved(*address).is_some());
        }
        for address in self.quarantine.between(range.first(), range.last()) {
            if !self.by_address.contains_key(&address) {
                in_use.held += 1;
                in_use.reserved += u64::from(range.reserved(address).is_some());
            }
        }
        in_use
    }
}
