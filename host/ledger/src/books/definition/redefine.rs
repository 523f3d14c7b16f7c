//! The facts that bring a network in line with its definition.

use std::sync::Arc;

use tenure_types::{
    Attributes, Cooling, DefinedPool, Definer, Definition, Moment, Network, NetworkConfig, NetworkName, Pool,
    Range, Supply,
};

use super::{InvalidDefinition, MOST_RANGES};
use crate::books::{Book, LedgerFact};

/// The parts of a network's definition.
#[derive(Debug, Clone, Copy)]
pub struct Defined<'a> {
    /// Configuration of the network.
    pub config: &'a Arc<NetworkConfig>,
    /// The definition that a policy derived from it, already checked.
    pub definition: &'a Definition,
    /// Origin of the definition.
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
    /// The definition that the network has; [`redefine`](Self::redefine) returns to it.
    #[must_use]
    pub fn definition(&self) -> Definition {
        let network = self.network();
        let pools = network.pools.iter().enumerate().map(|(index, pool)| {
            let supplied = pool.supply == Supply::Host;
            let ranges = self.ranges(index).filter(|_| !supplied).map(|view| view.range.clone()).collect();
            DefinedPool { pool: pool.clone(), ranges }
        });
        Definition {
            pools: pools.collect(),
            cooling: network.cooling,
            attributes: network.attributes.clone(),
        }
    }

    /// The facts that bring the network in line with a checked definition; empty if it matches already.
    ///
    /// Unchanged ranges are not touched. Addresses held in a removed range stay with their owners. Ranges supplied by
    /// the host stay until the host withdraws them, unless their pool goes or changes its supply.
    ///
    /// # Errors
    /// [`InvalidDefinition`] when a range overlaps one supplied by the host, or would assign parts of a prefix that has an owner, or
    /// when there are too many ranges together with those of the host.
    pub fn redefine(&self, defined: Defined<'_>, at: Moment) -> Result<Vec<LedgerFact>, InvalidDefinition> {
        let definition = defined.definition;
        self.check_beside_supplied(definition)?;
        definition
            .pools
            .iter()
            .flat_map(|pool| &pool.ranges)
            .try_for_each(|range| self.check_owned(range))?;
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

    /// Checks a range against the prefixes that have an owner.
    pub(super) fn check_owned(&self, range: &Range) -> Result<(), InvalidDefinition> {
        match self.prefix_in_the_way(range) {
            Some((prefix, held)) => {
                Err(InvalidDefinition::PrefixHeld(range.name().clone(), prefix, held.owner.clone()))
            }
            None => Ok(()),
        }
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
        let index = self.network().pool_named(&pool.name);
        let before = index.into_iter().flat_map(|index| self.ranges(index));
        before.zip(ranges).take_while(|(before, after)| before.range == *after).count()
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
}
