//! The operator's half of each AddressPool, and its finalizer.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_cluster::POOL_FINALIZER;
use tenure_cluster::objects::pool::{AddressPool, AddressPoolStatus, PoolCapacityEntry};
use tenure_leases::operator::account::{PoolCapacity, PoolSituation, conditions};
use tenure_leases::space::MAX_RANGES;
use tenure_leases::{MarkReason, RangeUse, Uid};

use super::conditions::{WantedCondition, condition};
use super::releases::family_capacity;
use super::spaces::RefusedRanges;
use super::{EXHAUSTED, WaitingNodes};
use crate::reports::{EventReason, EventSubject, Notice};
use crate::view::{ClusterView, PoolView};
use crate::writes::{ObjectTarget, OperatorWrite, WriteTime};

/// Adds the finalizer to each pool, and removes it once a pool that is being deleted has no block and no range.
///
/// While a definition is being deleted, or that is not known (`unsure`), none goes: the pools would be lost, and with them who holds what.
pub(super) fn finalizers(view: &ClusterView, unsure: bool) -> Vec<OperatorWrite> {
    view.pools.iter().filter_map(|pool| finalizer(view, pool, unsure)).collect()
}

fn finalizer(view: &ClusterView, pool: &PoolView, unsure: bool) -> Option<OperatorWrite> {
    let mut finalizers = pool.object.metadata.finalizers.clone().unwrap_or_default();
    let has = finalizers.iter().any(|name| name == POOL_FINALIZER);
    let uid = pool.lease.key.uid;
    let in_use = view.all_blocks().any(|view| view.block.pool.uid == uid)
        || view.spaces.values().any(|space| space.space.ranges().iter().any(|range| range.pool.uid == uid))
        || !view.unreadable.is_empty();
    match (pool.lease.deleting, has) {
        (false, false) => finalizers.push(POOL_FINALIZER.to_owned()),
        (true, true) if !in_use && !unsure => finalizers.retain(|name| name != POOL_FINALIZER),
        _ => return None,
    }
    Some(OperatorWrite::PoolFinalizer(ObjectTarget::from(&pool.object.metadata), finalizers))
}

/// Writes the status of each pool where it differs.
pub(super) fn statuses(
    view: &ClusterView,
    waiting: &WaitingNodes,
    refused: &RefusedRanges,
    now: WriteTime,
) -> Vec<OperatorWrite> {
    let write = |pool: &Arc<PoolView>| {
        let status = status(view, pool, waiting, refused, now);
        (pool.object.status.as_ref() != Some(&status)).then(|| {
            let object = AddressPool { status: Some(status), ..pool.object.clone() };
            OperatorWrite::PoolStatus(Box::new(object))
        })
    };
    view.pools.iter().filter_map(write).collect()
}

/// Reports pools without a free block that somebody wants, and overlaps.
pub(super) fn notices(view: &ClusterView, waiting: &WaitingNodes, refused: &RefusedRanges) -> Vec<Notice> {
    let mut notices = Vec::new();
    for pool in &view.pools {
        let (name, uid) = (&pool.lease.key.name, pool.lease.key.uid);
        let subject = || EventSubject::of(&pool.object, "AddressPool");
        for (ipv6, family) in [(false, "IPv4"), (true, "IPv6")] {
            let nodes = waiting.get(&(uid, ipv6)).into_iter().flatten();
            let nodes: Vec<&str> =
                nodes.filter(|(_, wait)| wait.reason == EXHAUSTED).map(|(node, _)| node.as_str()).collect();
            if let [first, ..] = nodes.as_slice() {
                let count = nodes.len();
                let note = format!(
                    "no {family} block of pool {name} is free, and {count} nodes want one, {first} among them"
                );
                notices.push(Notice::new(EventReason::PoolExhausted, subject(), note));
            }
        }
        if refused.overlapping.contains(&uid) {
            let note = format!(
                "addresses of pool {name} are also those of another pool of group {}, or of a range that drains",
                pool.group
            );
            notices.push(Notice::new(EventReason::PoolOverlap, subject(), note));
        }
    }
    notices
}

fn status(
    view: &ClusterView,
    pool: &PoolView,
    waiting: &WaitingNodes,
    refused: &RefusedRanges,
    now: WriteTime,
) -> AddressPoolStatus {
    let uid = pool.lease.key.uid;
    let spec = &pool.object.spec;
    let of = |has: bool, ipv6: bool| has.then(|| family_capacity(view, (uid, ipv6)));
    let (ipv4, ipv6) = (of(spec.ipv4.is_some(), false), of(spec.ipv6.is_some(), true));
    // A claim without an address says so itself: a node that waits for one is no sign of a pool that is used up. Nor is one that the pool is not for.
    let has_blocks = pool.usage == RangeUse::Blocks;
    let waits = |ipv6: bool| {
        let nodes = waiting.get(&(uid, ipv6)).filter(|_| has_blocks).into_iter().flat_map(BTreeMap::values);
        nodes.filter(|wait| wait.reason == EXHAUSTED).count()
    };
    let families = [(ipv4, waits(false)), (ipv6, waits(true))];
    // The conditions speak of the family that is worse off.
    let present = families.iter().filter_map(|(capacity, waits)| Some(((*capacity)?, *waits)));
    let (worst, waits) = present
        .max_by_key(|(capacity, waits)| (*waits > 0 && capacity.free == 0, std::cmp::Reverse(capacity.free)))
        .unwrap_or_default();
    let generation = pool.object.metadata.generation.unwrap_or_default();
    let situation = PoolSituation {
        overlaps: refused.overlapping.contains(&uid),
        is_space_full: refused.without_room.contains(&uid),
        selects_nobody: pool.selector.is_none(),
        nodes_waiting: number(waits),
        draining: number(draining(view, uid)),
        echoes_missing: number(echoes_missing(view, pool, generation)),
    };
    let old = pool.object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let conditions = conditions(&pool.lease, &worst, &situation).map(|wanted| {
        let message = message(wanted.reason, &situation);
        let wanted =
            WantedCondition { name: wanted.name, is_true: wanted.is_true, reason: wanted.reason, message };
        condition(old, wanted, generation, now)
    });
    AddressPoolStatus {
        observed_generation: generation,
        ipv4: ipv4.map(entry),
        ipv6: ipv6.map(entry),
        conditions: conditions.to_vec(),
    }
}

fn entry(capacity: PoolCapacity) -> PoolCapacityEntry {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    PoolCapacityEntry {
        total: count(capacity.total),
        leased: count(capacity.leased),
        quarantined: count(capacity.quarantined),
        free: count(capacity.free),
    }
}

/// Blocks that are wanted back although their nodes use them, and addresses of claims that go to no further node.
fn draining(view: &ClusterView, pool: Uid) -> usize {
    let claimed = view.claim_blocks.iter().filter(|view| view.block.pool.uid == pool);
    let closed = claimed.filter(|block| view.closed(block).is_some()).count();
    let marks =
        view.blocks.iter().filter(|view| view.block.pool.uid == pool).filter_map(|view| view.block.mark);
    marks.filter(|mark| mark.why != MarkReason::Excess).count().saturating_add(closed)
}

/// Nodes that hold blocks of a pool and do not yet have its exclusions, its gateway and its routes in force.
fn echoes_missing(view: &ClusterView, pool: &PoolView, generation: i64) -> usize {
    let spec = &pool.object.spec;
    let says_nothing =
        spec.exclusions.is_empty() && spec.per_block_exclusions.is_empty() && spec.taken.is_empty();
    if says_nothing && spec.gateway.is_none() && spec.routes.is_empty() {
        return 0;
    }
    let uid = pool.lease.key.uid;
    let holders =
        view.said.values().filter(|said| view.blocks_of(&said.spec).any(|view| view.block.pool.uid == uid));
    // A node that follows a higher generation ignores this one: the store was restored, and has forgotten the other.
    let apart = holders.filter(|said| {
        let echo = said.spec.pools.iter().find(|echo| echo.uid == uid);
        echo.is_none_or(|echo| i64::try_from(echo.generation).is_ok_and(|echo| echo != generation))
    });
    apart.count()
}

/// The message of a condition.
fn message(reason: &str, now: &PoolSituation) -> String {
    match reason {
        "NoBlockFree" => format!("no block is free, and {} nodes wait for one", now.nodes_waiting),
        "RangeOverlap" => {
            "a range overlaps one that another pool of the overlap group has, or that is not empty yet"
                .to_owned()
        }
        "SpaceFull" => format!("the AddressSpace of the overlap group has {MAX_RANGES} ranges, which is the most, taken ones included"),
        "BlocksInUse" => format!("{} blocks are wanted back from nodes that use them, or are addresses of claims that go to no further node", now.draining),
        "WaitingForNodes" => format!("{} nodes do not yet have the exclusions, the gateway and the routes in force", now.echoes_missing),
        "InvalidSelector" => {
            "a selector is not valid, so no node gets a block; an operator is In, NotIn, Exists or DoesNotExist, and the first two need values".to_owned()
        }
        "Disabled" => "the pool is disabled".to_owned(),
        "Deleting" => "the pool is being deleted".to_owned(),
        _ => String::new(),
    }
}

fn number(count: usize) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}
