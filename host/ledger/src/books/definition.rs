//! The rules for a network's definition, whichever policy made it, and the facts that bring a network in line with it.

use std::sync::Arc;

use tenure_types::{
    Attributes, Cooling, DefinedPool, Definer, Definition, Moment, Network, NetworkConfig, NetworkName, Pool,
    PoolName, Range, RangeName, Supply,
};

use super::{Book, LedgerFact};

/// The maximum number of pools in a network.
const MOST_POOLS: usize = 256;

/// The maximum number of ranges in a network, across all its pools.
const MOST_RANGES: usize = 16_384;

/// Why a definition, or a range supplied by the host, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDefinition {
    /// There are no pools.
    #[error("no pools")]
    NoPools,
    /// The definition has more pools than allowed.
    #[error("{0} pools, but at most {MOST_POOLS} are allowed")]
    TooManyPools(usize),
    /// The network would have more ranges than allowed.
    #[error("{0} ranges, but at most {MOST_RANGES} are allowed in a network")]
    TooManyRanges(usize),
    /// Two pools have the same name.
    #[error("two pools have the name {0}")]
    PoolTwice(PoolName),
    /// Two ranges of a pool have the same name.
    #[error("two ranges of pool {0} have the name {1}")]
    RangeTwice(PoolName, RangeName),
    /// The definition has ranges for a pool that the host supplies.
    #[error("pool {0} has ranges, but the host supplies it")]
    HostSupplied(PoolName),
    /// The pool does not exist, or its ranges come from the configuration and not from the host.
    #[error("no pool {0} is supplied by the host")]
    NotHostSupplied(PoolName),
    /// A pool has both IPv4 and IPv6 ranges.
    #[error("pool {0} mixes address families")]
    MixedFamilies(PoolName),
    /// Two ranges share an address, so its pool would be ambiguous.
    #[error("ranges {} and {} overlap", .0.0, .0.1)]
    Overlap(Box<(Range, Range)>),
}

/// Checks a definition before it takes effect.
///
/// # Errors
/// [`InvalidDefinition`] with the first error found.
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

/// Finds a name that occurs more than once.
fn repeated<'a, T: Ord>(names: impl Iterator<Item = &'a T>) -> Option<&'a T> {
    let mut names: Vec<&T> = names.collect();
    names.sort_unstable();
    names.windows(2).find_map(|pair| match pair {
        [left, right] if left == right => Some(*left),
        _ => None,
    })
}

/// The parts of a network's definition.
#[derive(Debug, Clone, Copy)]
pub struct Defined<'a> {
    /// Its configuration.
    pub config: &'a Arc<NetworkConfig>,
    /// The definition that a policy derived from it, already checked.
    pub definition: &'a Definition,
    /// Who defines the network.
    pub by: Definer,
}

/// Builds a network from its definition.
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
    /// The facts that bring the network in line with a checked definition; empty if it matches already.
    ///
    /// Unchanged ranges are not touched. Addresses held in a removed range stay with their owners. Ranges supplied by
    /// the host stay until the host withdraws them, unless their pool goes or changes its supply.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when a range overlaps one supplied by the host, or when there are too many ranges
    /// together with those.
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

    /// Checks a definition against the host-supplied ranges that stay.
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

    /// The number of leading ranges that a pool has in common before and after. The ranges after those are removed
    /// and added again, to get the new order.
    fn staying(&self, pool: &Pool, ranges: &[Range]) -> usize {
        match self.network().pool_named(&pool.name) {
            Some(index) if self.is_configured(pool) => {
                self.ranges(index).zip(ranges).take_while(|(before, after)| before.range == *after).count()
            }
            _ => 0,
        }
    }

    /// Whether a redefinition manages a pool's present ranges: the configuration supplies them, or the pool's supply
    /// changes.
    fn is_configured(&self, pool: &Pool) -> bool {
        let index = self.network().pool_named(&pool.name);
        let before = index.and_then(|index| self.pools().get(index));
        before.is_some_and(|before| before.supply == Supply::Configuration || pool.supply != before.supply)
    }

    /// The empty book of a network that does not exist yet; [`redefine`](Self::redefine) makes the facts that create
    /// it.
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

    /// The book of a newly defined network, without staging its facts.
    ///
    /// # Errors
    /// As [`redefine`](Self::redefine).
    pub fn defined(name: &NetworkName, defined: Defined<'_>, at: Moment) -> Result<Self, InvalidDefinition> {
        let mut book = Self::empty(name);
        for fact in book.redefine(defined, at)? {
            let place = book.through() + 1;
            // The book's own facts, in order, cannot conflict with it.
            let _ = book.apply(place, &fact);
        }
        Ok(book)
    }

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

#[cfg(test)]
mod tests;
