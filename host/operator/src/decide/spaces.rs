//! The ranges in use: what pools want, added where nothing overlaps; what they no longer want, closed and later removed.

use std::collections::{BTreeMap, BTreeSet};

use tenure_cluster::convert::PoolRange;
use tenure_leases::{
    AddressSpace as LeaseSpace, LeaseRules, PoolKey, RangeId, RangeState, RangeUse, SpaceError, SpaceRange,
    Uid,
};

use crate::view::{ClusterView, PoolView};
use crate::writes::OperatorWrite;

/// The changes of spaces.
#[derive(Debug, Default)]
pub(super) struct SpaceDecisions {
    pub(super) writes: Vec<OperatorWrite>,
    /// The pools of which a range overlaps another.
    pub(super) overlapping: BTreeSet<Uid>,
}

/// Brings each space to what the pools want. The oldest pool has its ranges first.
pub(super) fn spaces(view: &ClusterView) -> SpaceDecisions {
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
            if !is_wanted && range.state == RangeState::Open {
                // It is in the space.
                let _ = space.close(range.id);
            }
        }
        for wanted in &wanted {
            let is_open =
                before.ranges().iter().any(|range| wanted.is(range) && range.state == RangeState::Open);
            if !is_open && add(view, &mut space, group, wanted).is_err() {
                decisions.overlapping.insert(wanted.pool.uid);
            }
        }
        let version = read.map(|read| read.version);
        if space != before {
            decisions.writes.push(OperatorWrite::Space { group: group.to_owned(), version, space });
        } else if let Some(version) = version {
            decisions.writes.extend(removal(view, group, version, before));
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
    let own = living().flat_map(|pool| of(pool, &pool.ranges, pool.usage()));
    own.chain(living().flat_map(|pool| of(pool, &pool.taken, RangeUse::Taken))).collect()
}

fn add(
    view: &ClusterView,
    space: &mut LeaseSpace,
    group: &str,
    wanted: &WantedRange,
) -> Result<(), SpaceError> {
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

/// The removal of closed ranges of which no block is seen; a quorum LIST has the last word.
fn removal(
    view: &ClusterView,
    group: &str,
    version: tenure_leases::ObjectVersion,
    space: LeaseSpace,
) -> Option<OperatorWrite> {
    let is_empty = |id: RangeId| !view.all_blocks().any(|view| view.group == group && view.block.range == id);
    let closed = space.ranges().iter().filter(|range| range.state == RangeState::Closed);
    let ranges: Vec<RangeId> = closed.map(|range| range.id).filter(|id| is_empty(*id)).collect();
    (!ranges.is_empty()).then(|| OperatorWrite::RemoveRanges {
        group: group.to_owned(),
        version,
        space,
        ranges,
    })
}
