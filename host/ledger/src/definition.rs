//! What a network's definition must keep to, whichever policy made it.

use tenure_types::{Definition, Range};

/// The most pools of a network and ranges of a pool; far above any real network, low enough to walk.
const MOST: usize = 256;

/// Why a definition is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDefinition {
    /// There is nothing to hand out.
    #[error("pool {0} has no ranges")]
    EmptyPool(usize),
    /// There are no pools.
    #[error("no pools")]
    NoPools,
    /// There are more pools, or ranges in a pool, than the host walks.
    #[error("more than {MOST} pools, or ranges in a pool")]
    TooMany,
    /// One pool has v4 and v6 ranges.
    #[error("pool {0} mixes address families")]
    MixedFamilies(usize),
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
    if pools.len() > MOST || pools.iter().any(|pool| pool.ranges.len() > MOST) {
        return Err(InvalidDefinition::TooMany);
    }
    for (index, pool) in pools.iter().enumerate() {
        let family = pool.ranges.first().ok_or(InvalidDefinition::EmptyPool(index))?.first().is_ipv4();
        if pool.ranges.iter().any(|range| range.first().is_ipv4() != family) {
            return Err(InvalidDefinition::MixedFamilies(index));
        }
    }
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
