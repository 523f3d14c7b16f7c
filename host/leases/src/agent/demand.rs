//! How many blocks a node wants, and which it can spare.
//!
//! ```text
//!   free (without those cooling) < max(pre-allocation, ADDs per second x the slowest lease seen) or ADDs wait ──▶ want grows
//!   idle for the delay, and the reserve stays without it, highest address first                               ──▶ idle
//! ```
//!
//! `want` is the number of blocks in all. As an increment, each operator pass on a stale read would grant it once more.

use ipnet::IpNet;

use crate::Uid;

/// A node's need of a pool in one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolNeed {
    /// Blocks held that [stay](crate::agent::ledger::LeaseHold::stays).
    pub blocks: u32,
    /// Addresses that can be handed out now: free and not cooling.
    pub free: u32,
    /// ADDs that wait for an address.
    pub waiting: u32,
    /// Free addresses to keep in advance.
    pub preallocation: u32,
    /// ADDs in the last hour.
    pub adds_per_hour: u32,
    /// The slowest lease seen, from demand to record, in seconds.
    pub slowest_lease_seconds: u32,
    /// Addresses that one block adds.
    pub block_addresses: u32,
}

impl PoolNeed {
    /// Free addresses below which the node asks for more.
    #[must_use]
    pub fn low_water(&self) -> u32 {
        let during = u64::from(self.adds_per_hour) * u64::from(self.slowest_lease_seconds);
        self.preallocation.max(u32::try_from(during.div_ceil(3600)).unwrap_or(u32::MAX))
    }

    /// The number of blocks to hold in all: what is held, and enough more for those that wait and for the low-water mark.
    #[must_use]
    pub fn want(&self) -> u32 {
        let needed = self.low_water().saturating_add(self.waiting);
        let missing = needed.saturating_sub(self.free);
        self.blocks.saturating_add(missing.div_ceil(self.block_addresses.max(1)))
    }
}

/// A block that is empty, as a candidate to be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyBlock {
    /// The addresses.
    pub cidr: IpNet,
    /// The lease.
    pub uid: Uid,
    /// Addresses that it adds to the node's free ones.
    pub addresses: u32,
    /// Seconds for which it has been empty, by the agent's own clock from a durable start.
    pub idle_seconds: u64,
}

/// Lists the blocks beyond the reserve: idle for the delay, the highest address first, while the node keeps `reserve` free addresses and one
/// open block.
///
/// `free` and `open_blocks` count all open blocks of the pool and family, those in `empty` included. Nothing is frozen by it.
#[must_use]
pub fn spare_blocks(
    mut empty: Vec<EmptyBlock>,
    delay_seconds: u64,
    mut free: u32,
    reserve: u32,
    mut open_blocks: u32,
) -> Vec<Uid> {
    empty.retain(|block| block.idle_seconds >= delay_seconds);
    empty.sort_by_key(|block| std::cmp::Reverse(block.cidr));
    let mut spare = Vec::new();
    for block in empty {
        let left = free.saturating_sub(block.addresses);
        if left < reserve || open_blocks <= 1 {
            break;
        }
        free = left;
        open_blocks -= 1;
        spare.push(block.uid);
    }
    spare
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: PoolNeed = PoolNeed {
        blocks: 2,
        free: 20,
        waiting: 0,
        preallocation: 16,
        adds_per_hour: 72,
        slowest_lease_seconds: 2,
        block_addresses: 64,
    };

    #[test]
    fn want_is_absolute_and_grows_with_what_is_missing() {
        assert_eq!(NEED.want(), 2);
        assert_eq!(PoolNeed { free: 15, ..NEED }.want(), 3);
        assert_eq!(PoolNeed { free: 0, waiting: 49, ..NEED }.want(), 4);
        assert_eq!(PoolNeed { adds_per_hour: 36_000, slowest_lease_seconds: 10, ..NEED }.low_water(), 100);
        assert_eq!(PoolNeed { blocks: 0, free: 0, preallocation: 1, block_addresses: 0, ..NEED }.want(), 1);
    }

    #[test]
    fn the_highest_idle_block_goes_first_and_the_reserve_stays() {
        let block = |third: u32, idle_seconds| EmptyBlock {
            cidr: format!("10.0.{third}.0/26").parse().unwrap(),
            uid: Uid(third.into()),
            addresses: 64,
            idle_seconds,
        };
        let empty = vec![block(9, 1800), block(10, 1800), block(11, 1799)];
        assert_eq!(spare_blocks(empty.clone(), 1800, 200, 16, 4), [Uid(10), Uid(9)]);
        assert_eq!(spare_blocks(empty.clone(), 1800, 143, 16, 4), [Uid(10)]);
        assert_eq!(spare_blocks(empty.clone(), 1800, 200, 16, 2), [Uid(10)]);
        assert_eq!(spare_blocks(empty, 1800, 79, 16, 4), []);
    }
}
