//! Everything that people wish: exclusions, ranges, selectors, deletions and backups; and time that passes.

use std::sync::Arc;

use super::{World, parsed};
use crate::tests::simulation::kinds::{KINDS, POOLS, addresses};

impl World {
    /// Wishes: exclusions, shrinking, deletions, and time that passes.
    pub(super) fn people(&mut self) {
        let is_range = self.focus.ranges && self.random.below(4) > 0;
        match if is_range { 1 } else { self.random.below(7) } {
            0 => {
                let index = self.pick(POOLS);
                let mut pool = self.server.store.pools[index].clone();
                let all: Vec<_> = pool.ranges.iter().flat_map(|range| addresses(*range)).collect();
                if all.is_empty() {
                    return;
                }
                let address = all[self.pick(all.len())];
                pool.exclusions.generation += 1;
                if !pool.exclusions.addresses.remove(&address) && pool.exclusions.addresses.len() < 4 {
                    pool.exclusions.addresses.insert(address);
                }
                self.server.set_pool(index, pool);
            }
            1 => {
                let position = self.pick(self.kinds.len());
                let kind = &KINDS[self.kinds[position]];
                let mut pool = self.server.store.pools[kind.pool].clone();
                let second = parsed(kind.ranges[1]);
                let before = pool.ranges.len();
                pool.ranges.retain(|range| *range != second);
                if pool.ranges.len() == before {
                    pool.ranges.push(second);
                }
                self.server.set_pool(kind.pool, pool);
            }
            6 => {
                let (index, node) = (self.pick(POOLS), self.pick(self.machines.len()));
                let mut pool = self.server.store.pools[index].clone();
                let name = Arc::clone(&self.machines[node].me.name);
                if !pool.unmatched.remove(&name) {
                    pool.unmatched.insert(name);
                }
                self.server.set_pool(index, pool);
            }
            2 => {
                let blocks: Vec<_> = self.server.store.blocks.keys().copied().collect();
                if !blocks.is_empty() {
                    let cidr = blocks[self.pick(blocks.len())];
                    self.server.order_deletion(cidr);
                }
            }
            3 => self.now += self.random.below(2000),
            4 => self.now += self.random.below(200),
            _ => {
                if self.snapshot.is_none() {
                    self.snapshot = Some(self.server.store.clone());
                }
            }
        }
    }
}
