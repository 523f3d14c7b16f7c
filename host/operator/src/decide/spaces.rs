//! The ranges in use: what pools want, added where nothing overlaps; what they no longer want, closed and later removed, unless they
//! want it again.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tenure_cluster::convert::PoolRange;
use tenure_leases::space::overlap;
use tenure_leases::{
    AddressSpace as LeaseSpace, IpBlock, LeaseRules, PoolKey, RangeId, RangeState, RangeUse, SpaceError,
    SpaceRange, Uid,
};

use super::held::HeldClaims;
use crate::view::{ClusterView, PoolView};
use crate::writes::OperatorWrite;

/// The changes of spaces.
#[derive(Debug, Default)]
pub(super) struct SpaceDecisions {
    pub(super) writes: Vec<OperatorWrite>,
    pub(super) refused: RefusedRanges,
}

/// The pools of which a space has refused a range, by the reason.
#[derive(Debug, Default)]
pub(super) struct RefusedRanges {
    /// A range overlaps another.
    pub(super) overlapping: BTreeSet<Uid>,
    /// The space has as many ranges as it can have.
    pub(super) without_room: BTreeSet<Uid>,
}

/// Brings each space to what the pools want. The oldest pool has its ranges first. Nothing is removed unless it may be (`may_remove`).
pub(super) fn spaces(view: &ClusterView, held: &HeldClaims, may_remove: bool) -> SpaceDecisions {
    let mut decisions = SpaceDecisions::default();
    let mut groups: BTreeMap<&str, Vec<&PoolView>> =
        view.spaces.keys().map(|group| (&**group, vec![])).collect();
    for pool in &view.pools {
        groups.entry(&pool.group).or_default().push(pool);
    }
    for (group, pools) in groups {
        let read = view.spaces.get(group);
        let is_unreadable =
            view.unreadable.iter().any(|name| name.starts_with(&format!("AddressSpace {group}:")));
        if is_unreadable {
            continue;
        }
        let before = read.map(|read| read.space.clone()).unwrap_or_default();
        let mut space = before.clone();
        let wanted = wanted(&pools);
        for range in before.ranges() {
            let is_wanted = wanted.iter().any(|wanted| wanted.is(range));
            let may_be_wanted = view.unreadable_pools.contains_key(&range.pool.uid);
            if !is_wanted && !may_be_wanted && range.state == RangeState::Open {
                // It is in the space.
                let _ = space.close(range.id);
            }
        }
        for wanted in &wanted {
            let mut known = before.ranges().iter().filter(|range| wanted.is(range));
            let result = match known.clone().find(|range| range.state == RangeState::Open) {
                Some(_) => Ok(()),
                // Somebody took it out of the pool, and has put it back.
                None => match known.next() {
                    Some(closed) => space.reopen(closed.id),
                    None => add(view, &mut space, group, wanted),
                },
            };
            let refused = &mut decisions.refused;
            match result {
                Ok(()) => {}
                Err(SpaceError::Full) => drop(refused.without_room.insert(wanted.pool.uid)),
                Err(_) => drop(refused.overlapping.insert(wanted.pool.uid)),
            }
        }
        let version = read.map(|read| read.version);
        if space != before {
            decisions.writes.push(OperatorWrite::Space { group: group.to_owned(), version, space });
        } else if let Some(version) = version.filter(|_| may_remove) {
            decisions.writes.extend(removal(view, held, group, (version, before)));
        }
    }
    decisions
}

/// A range that a pool wants in its space.
struct WantedRange {
    pool: PoolKey,
    range: PoolRange,
    usage: RangeUse,
}

impl WantedRange {
    fn is(&self, range: &SpaceRange) -> bool {
        let same = range.cidr == self.range.cidr && range.unit == self.range.unit;
        same && range.pool == self.pool && range.usage == self.usage
    }
}

/// The ranges of pools that are not being deleted: blocks first, and then what something else uses of them.
fn wanted(pools: &[&PoolView]) -> Vec<WantedRange> {
    let living = || pools.iter().filter(|pool| !pool.lease.deleting);
    let of = |pool: &PoolView, ranges: &[PoolRange], usage| {
        let wanted = |range: &PoolRange| WantedRange { pool: pool.lease.key.clone(), range: *range, usage };
        ranges.iter().map(wanted).collect::<Vec<_>>()
    };
    let own = living().flat_map(|pool| of(pool, &pool.ranges, pool.usage));
    own.chain(living().flat_map(|pool| of(pool, &pool.taken, RangeUse::Taken))).collect()
}

/// Adds a range, unless it overlaps another one, or a block that is not one of its own cells: the range of that block is gone with the space that
/// somebody deleted, and the block is in use all the same.
fn add(
    view: &ClusterView,
    space: &mut LeaseSpace,
    group: &str,
    wanted: &WantedRange,
) -> Result<(), SpaceError> {
    if let Some(block) = foreign_block(view, group, wanted) {
        return Err(SpaceError::Overlap(wanted.range.cidr, block));
    }
    let known = match wanted.usage {
        RangeUse::Blocks | RangeUse::Claims => known_id(view, (group, &wanted.pool), wanted.range),
        RangeUse::Taken => None,
    };
    let known = known.filter(|id| space.ranges().iter().all(|range| range.id != *id));
    let range = SpaceRange {
        id: known.unwrap_or_else(|| RangeId(crate::memory::random())),
        cidr: wanted.range.cidr,
        unit: wanted.range.unit,
        usage: wanted.usage,
        pool: wanted.pool.clone(),
        state: RangeState::Open,
    };
    space.add(LeaseRules::ALL, range)
}

/// A block in a range that is not a cell of it, or is another pool's. A cell of a pool that is gone does not count: its name keeps it taken, and
/// its node may wait for a replacement from this very range.
fn foreign_block(view: &ClusterView, group: &str, wanted: &WantedRange) -> Option<IpNet> {
    let range = wanted.range;
    let is_cell = |cidr: &IpNet| cidr.prefix_len() == range.unit && range.cidr.contains(cidr);
    let is_own = |block: &IpBlock| match wanted.usage {
        // What something else uses may have been leased before.
        RangeUse::Taken => block.pool == wanted.pool,
        RangeUse::Blocks | RangeUse::Claims => {
            is_cell(&block.cidr) && (block.pool == wanted.pool || !view.has_pool(block.pool.uid))
        }
    };
    let blocks = view.all_blocks().filter(|view| view.group == group).map(|view| &view.block);
    let foreign = blocks.filter(|block| !is_own(block)).map(|block| block.cidr);
    // The name of a block that cannot be read keeps its cell, and no other one.
    let unreadable = view.unreadable_blocks.iter().filter(|(of, cidr)| of == group && !is_cell(cidr));
    let mut blocks = foreign.chain(unreadable.map(|(_, cidr)| *cidr));
    blocks.find(|cidr| overlap(*cidr, range.cidr))
}

/// The id that most blocks of a range name: somebody deleted the space, and its blocks need not move.
fn known_id(view: &ClusterView, (group, pool): (&str, &PoolKey), range: PoolRange) -> Option<RangeId> {
    let cells = view.all_blocks().filter(|view| {
        let block = &view.block;
        let cell = block.cidr.prefix_len() == range.unit && range.cidr.contains(&block.cidr);
        view.group == group && block.pool == *pool && cell
    });
    let mut counts: BTreeMap<RangeId, usize> = BTreeMap::new();
    for block in cells {
        *counts.entry(block.block.range).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(id, count)| (*count, *id)).map(|(id, _)| id)
}

/// The removal of closed ranges of which no block is seen, and no node says that it has one; a quorum LIST has the last word.
///
/// A node's block keeps no range whose pool is gone: no lease can be made again there. Where another pool has its cells, its
/// lease is made again as that one's; otherwise nothing that overlaps it is granted.
fn removal(
    view: &ClusterView,
    held: &HeldClaims,
    group: &str,
    (version, space): (tenure_leases::ObjectVersion, LeaseSpace),
) -> Option<OperatorWrite> {
    let has_blocks =
        |id: RangeId| view.all_blocks().any(|view| view.group == group && view.block.range == id);
    let is_held = |range: &SpaceRange| view.has_pool(range.pool.uid) && held.has(group, range.cidr);
    let is_empty = |range: &SpaceRange| !has_blocks(range.id) && !is_held(range);
    let closed = space.ranges().iter().filter(|range| range.state == RangeState::Closed);
    let ranges: Vec<RangeId> = closed.filter(|range| is_empty(range)).map(|range| range.id).collect();
    (!ranges.is_empty()).then(|| OperatorWrite::RemoveRanges {
        group: group.to_owned(),
        version,
        space,
        ranges,
    })
}
