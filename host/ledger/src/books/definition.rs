//! The rules for a network's definition, whichever policy made it.

mod redefine;
mod supply;

use ipnet::IpNet;
use tenure_types::{
    COOLDOWN_SECONDS, DefinedPool, Definition, Owner, PoolName, Range, RangeError, RangeName, Supply,
};

pub use self::redefine::Defined;

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
    /// The cooldown of the definition is not a number of seconds.
    #[error("attribute {COOLDOWN_SECONDS} is {0:?}, but must be a number of seconds below 2^32")]
    Cooldown(String),
    /// A range that assigns prefixes is not made of them.
    #[error("range {0} assigns prefixes: {1}")]
    Prefixes(RangeName, RangeError),
    /// A range would assign addresses of a prefix that has an owner.
    #[error("range {0} would assign addresses of {1}, a prefix that {2} has")]
    PrefixHeld(RangeName, IpNet, Owner),
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
    let cooldown = definition.attributes.get(COOLDOWN_SECONDS);
    if let Some(wrong) = cooldown.filter(|seconds| seconds.parse::<u32>().is_err()) {
        return Err(InvalidDefinition::Cooldown(wrong.to_owned()));
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
    ranges.iter().try_for_each(check_prefixes)?;
    match repeated(ranges.iter().map(Range::name)) {
        Some(twice) => Err(InvalidDefinition::RangeTwice(pool.name.clone(), twice.clone())),
        None => Ok(()),
    }
}

fn check_prefixes(range: &Range) -> Result<(), InvalidDefinition> {
    range.check_prefixes().map_err(|error| InvalidDefinition::Prefixes(range.name().clone(), error))
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

#[cfg(test)]
mod tests;
