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

#[cfg(test)]
mod tests {
    use tenure_types::{Cooling, Pool};

    use super::*;

    fn range(subnet: &str, first: &str, last: &str) -> Range {
        Range::new(subnet.parse().unwrap(), first.parse().unwrap(), last.parse().unwrap(), None, 24).unwrap()
    }

    fn v4(number: usize) -> Range {
        let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
        let first = format!("10.{high}.{low}.1");
        range(&format!("10.{high}.{low}.0/24"), &first, &first)
    }

    fn check(pools: Vec<Vec<Range>>) -> Result<(), InvalidDefinition> {
        let pools = pools.into_iter().map(|ranges| Pool { ranges }).collect();
        check_definition(&Definition { pools, cooling: Cooling::Strict })
    }

    #[test]
    fn there_must_be_something_to_hand_out() {
        assert_eq!(check(vec![]), Err(InvalidDefinition::NoPools));
        assert_eq!(check(vec![vec![v4(1)], vec![]]), Err(InvalidDefinition::EmptyPool(1)));
    }

    #[test]
    fn as_many_as_the_host_walks_and_no_more() {
        let pools = |count| (0..count).map(|number| vec![v4(number)]).collect();
        let ranges = |count| vec![(0..count).map(v4).collect()];
        for most in [pools(MOST), ranges(MOST)] {
            assert_eq!(check(most), Ok(()));
        }
        for more in [pools(MOST + 1), ranges(MOST + 1)] {
            assert_eq!(check(more), Err(InvalidDefinition::TooMany));
        }
    }

    #[test]
    fn a_pool_is_of_one_family_and_a_network_may_have_both() {
        let v6 = range("fd00::/64", "fd00::1", "fd00::9");
        assert_eq!(check(vec![vec![v4(1)], vec![v6.clone()]]), Ok(()));
        assert_eq!(check(vec![vec![v6.clone()], vec![v4(1), v6]]), Err(InvalidDefinition::MixedFamilies(1)));
    }

    #[test]
    fn no_address_is_in_two_ranges() {
        let of = |first, last| range("10.0.0.0/24", first, last);
        let (low, high) = (of("10.0.0.1", "10.0.0.9"), of("10.0.0.10", "10.0.0.20"));
        assert_eq!(check(vec![vec![high.clone()], vec![low.clone()]]), Ok(()));
        let shared = of("10.0.0.9", "10.0.0.9");
        let overlap = InvalidDefinition::Overlap(Box::new((low.clone(), shared.clone())));
        assert_eq!(check(vec![vec![high, shared], vec![low]]), Err(overlap));
    }
}
