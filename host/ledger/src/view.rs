//! What a policy may see of a book: answers to questions, never a copied table.

use std::net::IpAddr;

use tenure_types::{Pool, Range};

use crate::Book;
use crate::runs::{predecessor, successor};

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
    /// Is in no range of the network.
    Outside,
}

/// How much of a pool is in use; counts stop at `u32::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Addresses that an owner could get at all.
    pub total: u32,
    /// Addresses that have an owner.
    pub held: u32,
    /// Addresses that were freed a moment ago.
    pub cooling: u32,
}

/// A stretch of one range, walked from `from` to `to`.
struct Stretch<'pool> {
    range: &'pool Range,
    from: IpAddr,
    to: IpAddr,
}

impl Book {
    fn pool(&self, pool: usize) -> Option<&Pool> {
        self.network().definition.pools.get(pool)
    }

    /// The index of the pool that an address lies in.
    #[must_use]
    pub fn pool_of(&self, address: IpAddr) -> Option<usize> {
        Some(self.locate(address)?.0)
    }

    /// What an address is, as of the last [`expire`](Book::expire).
    #[must_use]
    pub fn standing(&self, address: IpAddr) -> Standing {
        match self.locate(address) {
            _ if self.holder(address).is_some() => Standing::Held,
            None => Standing::Outside,
            Some((_, range)) if range.reserved(address).is_some() => Standing::Reserved,
            Some(_) if self.cooling_since(address).is_some() => Standing::Cooling,
            Some(_) => Standing::Free,
        }
    }

    /// Up to `limit` free addresses of a pool, starting behind `after` and going around once.
    ///
    /// `after` itself comes last. Without it, or where it is not in the pool, the walk begins at the pool's start,
    /// or at its end when descending.
    #[must_use]
    pub fn free(
        &self,
        pool: usize,
        after: Option<IpAddr>,
        direction: Direction,
        limit: usize,
    ) -> Vec<IpAddr> {
        let Some(pool) = self.pool(pool) else { return Vec::new() };
        stretches(pool, after, direction)
            .iter()
            .flat_map(|stretch| self.walk(stretch, direction))
            .take(limit)
            .collect()
    }

    /// The free addresses of a stretch, each found in one step however many are taken between them.
    fn walk<'a>(
        &'a self,
        stretch: &'a Stretch<'a>,
        direction: Direction,
    ) -> impl Iterator<Item = IpAddr> + use<'a> {
        let mut next = Some(stretch.from);
        std::iter::from_fn(move || {
            loop {
                let found = match direction {
                    Direction::Ascending => {
                        self.taken().next_outside(next?).filter(|found| *found <= stretch.to)?
                    }
                    Direction::Descending => {
                        self.taken().previous_outside(next?).filter(|found| *found >= stretch.to)?
                    }
                };
                next = match direction {
                    Direction::Ascending => successor(found),
                    Direction::Descending => predecessor(found),
                };
                if stretch.range.reserved(found).is_none() {
                    return Some(found);
                }
            }
        })
    }

    /// Up to `limit` cooling addresses of a pool, least recently freed first.
    #[must_use]
    pub fn cooling(&self, pool: usize, limit: usize) -> Vec<IpAddr> {
        // What cools in its pool is skipped only where a new definition has reserved it, three addresses of a range at most.
        self.cooling_in(pool)
            .filter(|address| self.standing(*address) == Standing::Cooling)
            .take(limit)
            .collect()
    }

    /// The address of a pool that was handed out last.
    #[must_use]
    pub fn last(&self, pool: usize) -> Option<IpAddr> {
        self.last_of().get(pool).copied().flatten()
    }
}

/// A pool's ranges in walking order, the one that holds `after` split around it.
fn stretches(pool: &Pool, after: Option<IpAddr>, direction: Direction) -> Vec<Stretch<'_>> {
    let ascending = direction == Direction::Ascending;
    let whole = |range| match direction {
        Direction::Ascending => Stretch { range, from: range.first(), to: range.last() },
        Direction::Descending => Stretch { range, from: range.last(), to: range.first() },
    };
    let mut order: Vec<&Range> = pool.ranges.iter().collect();
    if !ascending {
        order.reverse();
    }
    let split = after.and_then(|after| Some((after, order.iter().position(|range| range.contains(after))?)));
    let Some((after, position)) = split else {
        return order.into_iter().map(whole).collect();
    };
    order.rotate_left(position);
    let mut stretches: Vec<_> = order.into_iter().map(whole).collect();
    if let Some(mut rest) = stretches.first().map(|stretch| whole(stretch.range)) {
        rest.to = after;
        stretches.push(rest);
    }
    let behind = if ascending { successor(after) } else { predecessor(after) };
    match (stretches.first_mut(), behind) {
        // Where `after` is the range's end this begins behind it, and is walked in no step.
        (Some(first), Some(behind)) => first.from = behind,
        // `after` is the family's end: nothing lies behind it.
        _ => drop(stretches.remove(0)),
    }
    stretches
}
