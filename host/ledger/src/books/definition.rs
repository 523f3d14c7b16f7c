//! What a network's definition must keep to, whichever policy made it, and the facts that bring a network to it.

use std::sync::Arc;

use tenure_types::{
    Attributes, Cooling, DefinedPool, Definer, Definition, Moment, Network, NetworkConfig, NetworkName, Pool,
    PoolName, Range, RangeName, Supply,
};

use super::{Book, LedgerFact};

/// The most pools of a network.
const MOST_POOLS: usize = 256;

/// The most ranges of a network, in all its pools.
const MOST_RANGES: usize = 16_384;

/// Why a definition, or a range that is supplied, is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDefinition {
    /// There are no pools.
    #[error("no pools")]
    NoPools,
    /// There are more pools than the host keeps.
    #[error("{0} pools, and {MOST_POOLS} is the most")]
    TooManyPools(usize),
    /// There are more ranges than the host keeps.
    #[error("{0} ranges, and {MOST_RANGES} is the most of a network")]
    TooManyRanges(usize),
    /// Two pools have one name.
    #[error("two pools are called {0}")]
    PoolTwice(PoolName),
    /// Two ranges of a pool have one name.
    #[error("two ranges of pool {0} are called {1}")]
    RangeTwice(PoolName, RangeName),
    /// The host supplies the pool, so a definition has no ranges for it.
    #[error("pool {0} has ranges, but its supply is the host's")]
    HostSupplied(PoolName),
    /// The configuration supplies the pool, so the host has no ranges for it; or there is no such pool.
    #[error("there is no pool {0} that the host supplies")]
    NotHostSupplied(PoolName),
    /// One pool has v4 and v6 ranges.
    #[error("pool {0} mixes address families")]
    MixedFamilies(PoolName),
    /// Two ranges share an address, so who owns it would depend on the pool.
    #[error("ranges {} and {} overlap", .0.0, .0.1)]
    Overlap(Box<(Range, Range)>),
}

/// Checks a definition before it takes effect.
///
/// # Errors
/// [`InvalidDefinition`] with the first fault found.
pub fn check_definition(definition: &Definition) -> Result<(), InvalidDefinition> {
    let pools = &definition.pools;
    if pools.is_empty() {
        return Err(InvalidDefinition::NoPools);
    }
    if pools.len() > MOST_POOLS {
        return Err(InvalidDefinition::TooManyPools(pools.len()));
    }
    let count = pools.iter().map(|pool| pool.ranges.len()).sum();
    if count > MOST_RANGES {
        return Err(InvalidDefinition::TooManyRanges(count));
    }
    if let Some(twice) = repeated(pools.iter().map(|pool| &pool.pool.name)) {
        return Err(InvalidDefinition::PoolTwice(twice.clone()));
    }
    pools.iter().try_for_each(check_pool)?;
    let mut ranges: Vec<&Range> = pools.iter().flat_map(|pool| &pool.ranges).collect();
    ranges.sort_unstable_by_key(|range| range.first());
    match ranges.windows(2).find_map(|pair| match pair {
        [left, right] if left.overlaps(right) => Some(((*left).clone(), (*right).clone())),
        _ => None,
    }) {
        Some(pair) => Err(InvalidDefinition::Overlap(Box::new(pair))),
        None => Ok(()),
    }
}

fn check_pool(DefinedPool { pool, ranges }: &DefinedPool) -> Result<(), InvalidDefinition> {
    let Some(first) = ranges.first() else { return Ok(()) };
    if pool.supply == Supply::Host {
        return Err(InvalidDefinition::HostSupplied(pool.name.clone()));
    }
    if ranges.iter().any(|range| range.first().is_ipv4() != first.first().is_ipv4()) {
        return Err(InvalidDefinition::MixedFamilies(pool.name.clone()));
    }
    match repeated(ranges.iter().map(Range::name)) {
        Some(twice) => Err(InvalidDefinition::RangeTwice(pool.name.clone(), twice.clone())),
        None => Ok(()),
    }
}

/// A name that is there more than once.
fn repeated<'a, T: Ord>(names: impl Iterator<Item = &'a T>) -> Option<&'a T> {
    let mut names: Vec<&T> = names.collect();
    names.sort_unstable();
    names.windows(2).find_map(|pair| match pair {
        [left, right] if left == right => Some(*left),
        _ => None,
    })
}

/// What a network is made of.
#[derive(Debug, Clone, Copy)]
pub struct Defined<'a> {
    /// Its configuration.
    pub config: &'a Arc<NetworkConfig>,
    /// What a policy made of it; it was checked.
    pub definition: &'a Definition,
    /// By whose word.
    pub by: Definer,
}

/// The network that a definition makes.
fn network(name: &NetworkName, Defined { config, definition, by }: Defined<'_>, at: Moment) -> Network {
    Network {
        name: name.clone(),
        config: Arc::clone(config),
        pools: definition.pools.iter().map(|pool| pool.pool.clone()).collect(),
        cooling: definition.cooling,
        attributes: definition.attributes.clone(),
        defined_by: by,
        changed_at: at,
    }
}

impl Book {
    /// The facts that bring the network to a definition that was checked; none where that is what it is.
    ///
    /// Ranges that stay are not touched. What is held in a range that goes stays its owner's. Ranges that the host supplied are
    /// the host's to take away, unless their pool goes.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when it gives away an address of a range that the host supplies, or has too many ranges beside these.
    pub fn redefine(&self, defined: Defined<'_>, at: Moment) -> Result<Vec<LedgerFact>, InvalidDefinition> {
        let definition = defined.definition;
        self.check_beside_supplied(definition)?;
        let name = self.name();
        let (mut facts, mut added) = (Vec::new(), Vec::new());
        for DefinedPool { pool, ranges } in &definition.pools {
            let stays = self.staying(pool, ranges);
            let index = self.network().pool_named(&pool.name);
            let before = index.into_iter().flat_map(|index| self.ranges(index));
            facts.extend(before.skip(stays).filter(|_| self.is_configured(pool)).map(|view| {
                let (network, pool, range) = (name.clone(), pool.name.clone(), view.range.name().clone());
                LedgerFact::RangeRemoved { network, pool, range, at }
            }));
            added.extend(ranges.iter().skip(stays).map(|range| {
                let (network, pool, range) = (name.clone(), pool.name.clone(), Box::new(range.clone()));
                LedgerFact::RangeAdded { network, pool, range, at }
            }));
        }
        let after = network(name, defined, at);
        let same = Network { changed_at: self.network().changed_at, ..after.clone() } == **self.network();
        if !same {
            facts.push(LedgerFact::Defined(Arc::new(after)));
        }
        facts.extend(added);
        Ok(facts)
    }

    /// Checks a definition against the ranges that the host supplies, and goes on supplying.
    fn check_beside_supplied(&self, definition: &Definition) -> Result<(), InvalidDefinition> {
        let stays = |pool: &Pool| {
            definition
                .pools
                .iter()
                .any(|after| after.pool.name == pool.name && after.pool.supply == pool.supply)
        };
        let supplied = |(_, pool): &(usize, &Pool)| pool.supply == Supply::Host && stays(pool);
        let staying = self.pools().iter().enumerate().filter(supplied);
        let staying: Vec<&Range> =
            staying.flat_map(|(index, _)| self.ranges(index)).map(|view| view.range).collect();
        let defined = definition.pools.iter().flat_map(|pool| &pool.ranges);
        let count = staying.len() + defined.clone().count();
        if count > MOST_RANGES {
            return Err(InvalidDefinition::TooManyRanges(count));
        }
        for range in defined {
            if let Some(other) = staying.iter().find(|other| other.overlaps(range)) {
                return Err(InvalidDefinition::Overlap(Box::new(((*other).clone(), range.clone()))));
            }
        }
        Ok(())
    }

    /// How many ranges a pool begins with before and after alike. Those behind are of another order, so they are put in anew.
    fn staying(&self, pool: &Pool, ranges: &[Range]) -> usize {
        match self.network().pool_named(&pool.name) {
            Some(index) if self.is_configured(pool) => {
                self.ranges(index).zip(ranges).take_while(|(before, after)| before.range == *after).count()
            }
            _ => 0,
        }
    }

    /// Whether the configuration supplies what a pool has now, so that its ranges go with it.
    fn is_configured(&self, pool: &Pool) -> bool {
        let index = self.network().pool_named(&pool.name);
        let before = index.and_then(|index| self.pools().get(index));
        before.is_some_and(|before| before.supply == Supply::Configuration || pool.supply != before.supply)
    }

    /// The book of a network that is not there yet: [`redefine`](Self::redefine) makes the facts that bring it about.
    #[must_use]
    pub fn empty(name: &NetworkName) -> Self {
        let empty = Network {
            name: name.clone(),
            config: Arc::default(),
            pools: Vec::new(),
            cooling: Cooling::default(),
            attributes: Attributes::default(),
            defined_by: Definer::default(),
            changed_at: Moment::default(),
        };
        Self::new(Arc::new(empty))
    }

    /// The book of a network as it is defined, before anything is staged.
    ///
    /// # Errors
    /// As [`redefine`](Self::redefine).
    pub fn defined(name: &NetworkName, defined: Defined<'_>, at: Moment) -> Result<Self, InvalidDefinition> {
        let mut book = Self::empty(name);
        for fact in book.redefine(defined, at)? {
            let place = book.through() + 1;
            // The book's own facts, in their order.
            let _ = book.apply(place, &fact);
        }
        Ok(book)
    }

    /// Makes the fact that a range which the host supplies is there.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when the pool cannot have it.
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
        let (network, pool) = (self.name().clone(), pool.clone());
        Ok(LedgerFact::RangeAdded { network, pool, range: Box::new(range), at })
    }

    /// Makes the fact that a range which the host supplies hands nothing more out, or does so again; `None` where it is so.
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

    /// Makes the fact that a range which the host supplied is gone; `None` where it is not there.
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

#[cfg(test)]
mod tests;
