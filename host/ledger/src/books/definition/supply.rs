//! The facts by which ranges that the host supplies come, drain and go.

use tenure_types::{Moment, PoolName, Range, RangeName, Supply};

use super::{InvalidDefinition, MOST_RANGES, check_prefixes};
use crate::books::{Book, LedgerFact};

impl Book {
    /// Makes the fact that adds a range supplied by the host.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when the pool cannot take the range.
    pub fn supply(&self, pool: &PoolName, range: Range, at: Moment) -> Result<LedgerFact, InvalidDefinition> {
        let index = self.supplied_by_host(pool)?;
        let family = self.ranges(index).next().map(|view| view.range.first().is_ipv4());
        if family.is_some_and(|is_ipv4| is_ipv4 != range.first().is_ipv4()) {
            return Err(InvalidDefinition::MixedFamilies(pool.clone()));
        }
        if self.stock().ranges() >= MOST_RANGES {
            return Err(InvalidDefinition::TooManyRanges(MOST_RANGES + 1));
        }
        if self.stock().named(index, range.name()).is_some() {
            return Err(InvalidDefinition::RangeTwice(pool.clone(), range.name().clone()));
        }
        if let Some(other) = self.stock().overlapping(&range) {
            return Err(InvalidDefinition::Overlap(Box::new((other.clone(), range))));
        }
        check_prefixes(&range)?;
        self.check_owned(&range)?;
        let (network, pool) = (self.name().clone(), pool.clone());
        Ok(LedgerFact::RangeAdded { network, pool, range: Box::new(range), at })
    }

    /// Makes the fact that starts or stops draining a range supplied by the host; `None` if nothing changes.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when the host does not supply the pool.
    pub fn drain(
        &self,
        pool: &PoolName,
        range: &RangeName,
        draining: bool,
        at: Moment,
    ) -> Result<Option<LedgerFact>, InvalidDefinition> {
        let index = self.supplied_by_host(pool)?;
        let changes = self.stock().named(index, range).is_some_and(|(_, drains)| drains != draining);
        let (network, pool, range) = (self.name().clone(), pool.clone(), range.clone());
        Ok(changes.then_some(LedgerFact::RangeDraining { network, pool, range, draining, at }))
    }

    /// Makes the fact that removes a range supplied by the host; `None` if there is no such range.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when the host does not supply the pool.
    pub fn withdraw(
        &self,
        pool: &PoolName,
        range: &RangeName,
        at: Moment,
    ) -> Result<Option<LedgerFact>, InvalidDefinition> {
        let index = self.supplied_by_host(pool)?;
        let is_there = self.stock().named(index, range).is_some();
        let (network, pool, range) = (self.name().clone(), pool.clone(), range.clone());
        Ok(is_there.then_some(LedgerFact::RangeRemoved { network, pool, range, at }))
    }

    fn supplied_by_host(&self, pool: &PoolName) -> Result<usize, InvalidDefinition> {
        let index = self.network().pool_named(pool);
        index
            .filter(|index| self.pools().get(*index).is_some_and(|pool| pool.supply == Supply::Host))
            .ok_or_else(|| InvalidDefinition::NotHostSupplied(pool.clone()))
    }
}
