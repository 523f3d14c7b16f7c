//! The ranges in use: what pools want, added where nothing overlaps; what they no longer want, closed and later removed, unless they
//! want it again.

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
            let may_be_wanted = view.unreadable_pools.contains(&range.pool.uid);
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_cluster::convert::BlockLease;
    use tenure_leases::space::MAX_RANGES;
    use tenure_leases::{HolderIdentity, MachineHash};

    use super::*;
    use crate::view::{BlockView, KeptObject, PoolView, ViewSources, view};

    /// A pool; one with a higher number is younger.
    fn pool(number: u128, cidrs: &[&str], prefix: u8) -> KeptObject<PoolView> {
        KeptObject::of(serde_json::from_value(pool_object(number, cidrs, prefix)).unwrap())
    }

    fn pool_object(number: u128, cidrs: &[&str], prefix: u8) -> serde_json::Value {
        json!({
            "apiVersion": "ipam.tenure.dev/v1alpha1",
            "kind": "AddressPool",
            "metadata": {
                "name": format!("p{number}"),
                "uid": Uid(number).to_string(),
                "resourceVersion": "1",
                "creationTimestamp": format!("2026-01-01T00:00:{number:02}Z"),
            },
            "spec": { "ipv4": { "cidrs": cidrs, "blockPrefix": prefix } },
        })
    }

    /// A block of a pool, leased in a range that is not there any more.
    fn block(number: u128, cidr: &str) -> KeptObject<BlockView> {
        let pool = PoolKey { name: format!("p{number}").into(), uid: Uid(number) };
        let holder =
            HolderIdentity { name: "n1".into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) };
        let (group, cidr, range) = ("default".to_owned(), cidr.parse().unwrap(), RangeId(7));
        let mut object = BlockLease { group, cidr, range, pool, holder }.object().unwrap();
        object.metadata.uid = Some(Uid(21).to_string());
        object.metadata.resource_version = Some("1".into());
        KeptObject::of(object)
    }

    /// The ranges that are made when there is no space, and the pools of which one is refused.
    fn made(view: &ClusterView) -> (Vec<String>, Vec<Uid>) {
        let decisions = spaces(view, &HeldClaims::default(), true);
        let ranges = decisions.writes.iter().flat_map(|write| match write {
            OperatorWrite::Space { space, .. } => space.ranges(),
            other => panic!("{other:?}"),
        });
        let ranges = ranges.map(|range| format!("{} {} {}", range.pool.name, range.cidr, range.id));
        (ranges.collect(), decisions.refused.overlapping.into_iter().collect())
    }

    fn without_space(pools: Vec<KeptObject<PoolView>>, blocks: Vec<KeptObject<BlockView>>) -> ClusterView {
        view(ViewSources { pools, blocks, ..ViewSources::default() })
    }

    /// The ranges without their random ids.
    fn names(ranges: &[String]) -> Vec<&str> {
        ranges.iter().map(|range| range.rsplit_once(' ').unwrap().0).collect()
    }

    #[test]
    fn the_addresses_of_a_pool_that_cannot_be_read_go_to_no_other_pool() {
        let mut object = pool_object(1, &["10.0.0.0/24"], 26);
        object["spec"]["usage"] = json!("Loans");
        let later = || KeptObject::of(serde_json::from_value(object.clone()).unwrap());
        let younger = || pool(2, &["10.0.0.0/24"], 26);
        let blocks = || vec![block(1, "10.0.0.64/26")];
        let refused = |pools| made(&without_space(pools, blocks())).1;
        assert_eq!(refused(vec![later(), younger()]), [Uid(2)]);
        assert_eq!(refused(vec![younger()]), [], "it is gone");
    }

    #[test]
    fn a_space_without_room_is_no_overlap() {
        let taken = |number: usize| {
            let cidr = format!("10.0.{}.{}/32", number / 256, number % 256);
            json!({ "cidr": cidr, "source": "calico", "owner": "p" })
        };
        let mut object = pool_object(1, &["10.0.0.0/16"], 26);
        object["spec"]["taken"] = (0..MAX_RANGES).map(taken).collect();
        let first = KeptObject::of(serde_json::from_value(object).unwrap());
        let view = without_space(vec![first, pool(2, &["10.2.0.0/24"], 26)], vec![]);
        let refused = spaces(&view, &HeldClaims::default(), true).refused;
        assert_eq!((refused.overlapping, refused.without_room), ([].into(), [Uid(1)].into()));
    }

    #[test]
    fn a_range_that_is_made_again_keeps_its_blocks() {
        let view = without_space(vec![pool(1, &["10.0.0.0/24"], 26)], vec![block(1, "10.0.0.64/26")]);
        assert_eq!(made(&view), (vec!["p1 10.0.0.0/24 0000000000000007".to_owned()], vec![]));
    }

    #[test]
    fn without_the_space_a_pool_gets_no_range_with_blocks_that_are_not_its_own_cells() {
        // An older pool with smaller blocks wants the younger one's range, which only the space has refused so far.
        let pools = || vec![pool(1, &["10.0.0.0/24", "10.2.0.0/24"], 27), pool(2, &["10.2.0.0/24"], 26)];
        let (ranges, refused) = made(&without_space(pools(), vec![block(2, "10.2.0.64/26")]));
        assert_eq!(names(&ranges), ["p1 10.0.0.0/24", "p2 10.2.0.0/24"]);
        assert_eq!(refused, [Uid(1)]);
        // What is left of a range that was taken out of the one is not yet the other's.
        let pools = || vec![pool(1, &["10.0.0.0/24"], 27), pool(2, &["10.2.0.0/24"], 26)];
        let (ranges, refused) = made(&without_space(pools(), vec![block(1, "10.2.0.32/27")]));
        assert_eq!(names(&ranges), ["p1 10.0.0.0/24"]);
        assert_eq!(refused, [Uid(2)]);
        // The blocks of a pool that was deleted hold up no other one of their size, which is to replace them.
        let of_gone =
            |cidr| made(&without_space(vec![pool(2, &["10.2.0.0/24"], 26)], vec![block(1, cidr)])).1;
        assert_eq!((of_gone("10.2.0.64/26"), of_gone("10.2.0.32/27")), (vec![], vec![Uid(2)]));
        // A block that cannot be read keeps its cell by its name, and no cell of another size.
        let mut view = without_space(pools(), vec![]);
        view.unreadable_blocks = vec![("default".to_owned(), "10.2.0.64/26".parse().unwrap())];
        assert_eq!(made(&view).1, []);
        view.unreadable_blocks = vec![("default".to_owned(), "10.2.0.64/27".parse().unwrap())];
        assert_eq!(made(&view).1, [Uid(2)]);
        view.unreadable_blocks = vec![("other".to_owned(), "10.2.0.64/27".parse().unwrap())];
        assert_eq!(made(&view).1, []);
    }
}
