//! Releases: which blocks are wanted back, and the operator's half of the handshake.

use std::collections::{BTreeMap, BTreeSet};

use tenure_leases::operator::account::{PoolCapacity, capacity};
use tenure_leases::operator::held::is_contested;
use tenure_leases::operator::release::{ReleaseCase, ReleaseStep, release};
use tenure_leases::operator::shrink::{ShrinkCase, wanted_back};
use tenure_leases::{
    BlockHint, BlockMark, BlockPhase, LeaseRules, MarkAnswer, MarkId, NodeIpamSpec, RangeState, RangeUse, Uid,
};

use super::FamilyKey;
use crate::memory::OperatorMemory;
use crate::view::{BlockView, ClusterView, PoolView, SaidView, is_ipv6};
use crate::writes::{BlockChange, OperatorWrite, WriteTime};

/// Decides about every block that is not in quarantine.
pub(super) fn releases(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    now: WriteTime,
) -> Vec<OperatorWrite> {
    let leases: BTreeSet<Uid> = view.blocks.iter().map(|view| view.block.uid).collect();
    let mut writes = Vec::new();
    let mut draining = draining(view);
    for block in view.blocks.iter().filter(|view| view.block.phase != BlockPhase::Quarantined) {
        let pool = view.pool(block.block.pool.uid);
        if pool.is_none() && block.block.phase == BlockPhase::Leased {
            writes.push(OperatorWrite::block(block, BlockChange::Orphan));
            continue;
        }
        let Some(said) =
            view.said.get(&*block.block.holder.name).filter(|said| said.spec.counts_for(&block.block))
        else {
            continue;
        };
        let contested = contested(view, block, &leases);
        let others = draining.entry(block.block.pool.uid).or_default();
        let case = shrink_case(view, memory, (block, pool, said), contested, others, now);
        let write = step(memory, (block, said), wanted_back(&case), contested, now);
        if case.unmatched_seconds.is_some() && write.is_some() {
            others.insert(block.block.holder.name.to_string());
        }
        writes.extend(write);
    }
    writes
}

/// The next step of the handshake about one block.
fn step(
    memory: &mut OperatorMemory,
    (view, said): (&BlockView, &SaidView),
    wanted: Option<tenure_leases::MarkReason>,
    contested: bool,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let block = &view.block;
    // Its deletion alone would mark the node's last open block, which the agent refuses: a mark comes after a replacement.
    let holds = said.spec.held_uid(block.cidr) == Some(block.uid);
    if holds && block.mark.is_none() && wanted.is_none() && block.deleting {
        return None;
    }
    let refuses = block.mark.is_some_and(|mark| {
        said.spec.ack(block.uid, mark.id).is_some_and(|ack| matches!(ack.answer, MarkAnswer::Refused(_)))
    });
    let refused_lately = memory.refused_lately(block.uid, now.elapsed);
    if refuses && !refused_lately {
        memory.refused(block.uid, now.elapsed);
    }
    let case = ReleaseCase {
        block,
        // The hints of a node are written together, from its blocks: here they are as they will be.
        hint: Some(BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark }),
        acks: &said.spec.acks,
        own: block.mark.is_some_and(|mark| memory.barrier.owns(LeaseRules::ALL, mark.id)),
        wanted,
        may_clear: memory.barrier.may_grant() && !contested,
        timed_out: block.mark.is_some_and(|mark| memory.is_timed_out(mark.id, now.elapsed)),
        refused_lately,
    };
    let change = match release(LeaseRules::ALL, &case) {
        ReleaseStep::Wait | ReleaseStep::Hint(_) => return None,
        ReleaseStep::Mark(why) => BlockChange::Mark(BlockMark { id: MarkId(crate::memory::random()), why }),
        ReleaseStep::Clear(mark) => BlockChange::Clear(mark),
        ReleaseStep::Delete => BlockChange::Delete,
        ReleaseStep::RemoveFinalizer => BlockChange::RemoveFinalizer,
    };
    Some(OperatorWrite::block(view, change))
}

/// Whether another node holds the block. A lease of equal addresses in another overlap group is another thing.
fn contested(view: &ClusterView, block: &BlockView, leases: &BTreeSet<Uid>) -> bool {
    let elsewhere = |said: &NodeIpamSpec| {
        said.held_uid(block.block.cidr).is_some_and(|uid| uid != block.block.uid && leases.contains(&uid))
    };
    let others = view.said.values().map(|said| &said.spec).filter(|said| !elsewhere(said));
    is_contested(LeaseRules::ALL, &block.block, others)
}

/// Everything that decides whether a block is wanted back.
fn shrink_case(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    (block, pool, said): (&BlockView, Option<&PoolView>, &SaidView),
    contested: bool,
    draining: &BTreeSet<String>,
    now: WriteTime,
) -> ShrinkCase {
    let (lease, node) = (&block.block, &said.spec.identity.name);
    let ipv6 = is_ipv6(lease.cidr);
    let unmatched_seconds = pool.and_then(|pool| {
        // A Node that is not there says nothing about labels.
        let matches = view.hosts.get(&**node).is_none_or(|host| pool.selects(&host.labels));
        memory.unmatched_seconds(lease.pool.uid, node, matches, now.elapsed)
    });
    let draining_nodes = draining.iter().filter(|other| other.as_str() != &**node).count();
    let counted = family_capacity(view, (lease.pool.uid, ipv6));
    let replaces = |other: &&BlockView| {
        let open = other.block.uid != lease.uid && is_ipv6(other.block.cidr) == ipv6;
        let stays = other.block.mark.is_none() && !other.block.deleting && view.is_in_open_range(other);
        open && stays && said.spec.held_uid(other.block.cidr) == Some(other.block.uid)
    };
    ShrinkCase {
        crd_deleting: false,
        pool_deleting: pool.is_some_and(|pool| pool.lease.deleting),
        orphaned: pool.is_none(),
        block_deleting: lease.deleting,
        cidr_removed: !view.is_in_open_range(block),
        given_up: said.spec.returned.contains(&lease.uid),
        contested,
        unmatched_seconds,
        draining_nodes: number(draining_nodes),
        pool_nodes: number(pool_nodes(view, lease.pool.uid)),
        replacements: number(view.blocks_of(&said.spec).filter(replaces).count()),
        idle: said.spec.idle.contains(&lease.uid),
        release_excess: pool.is_some_and(|pool| pool.lease.release_excess),
        free_blocks: counted.free.try_into().unwrap_or(u32::MAX),
        total_blocks: counted.total.try_into().unwrap_or(u32::MAX),
    }
}

/// The nodes that drain because a pool's selector no longer matches them, by pool.
fn draining(view: &ClusterView) -> BTreeMap<Uid, BTreeSet<String>> {
    let mut draining: BTreeMap<Uid, BTreeSet<String>> = BTreeMap::new();
    for block in view.blocks.iter().filter(|view| view.block.mark.is_some()) {
        let (pool, node) = (block.block.pool.uid, &*block.block.holder.name);
        let labels = view.hosts.get(node).map(|host| &host.labels);
        if let (Some(pool), Some(labels)) = (view.pool(pool), labels)
            && !pool.selects(labels)
        {
            draining.entry(pool.lease.key.uid).or_default().insert(node.to_owned());
        }
    }
    draining
}

/// Nodes that hold blocks of a pool.
fn pool_nodes(view: &ClusterView, pool: Uid) -> usize {
    let blocks = view.blocks.iter().filter(|view| view.block.pool.uid == pool);
    blocks.map(|view| &view.block.holder.name).collect::<BTreeSet<_>>().len()
}

/// Counts the blocks of a pool in one family.
pub(super) fn family_capacity(view: &ClusterView, (pool, ipv6): FamilyKey) -> PoolCapacity {
    let ranges = view.spaces.values().flat_map(|space| space.space.ranges());
    let open = ranges.filter(|range| {
        let usable = range.state == RangeState::Open && range.usage == RangeUse::Blocks;
        usable && range.pool.uid == pool && is_ipv6(range.cidr) == ipv6
    });
    let cells = open.map(|range| 1_u64 << (range.unit - range.cidr.prefix_len())).sum();
    let blocks =
        view.blocks.iter().filter(|view| view.block.pool.uid == pool && is_ipv6(view.block.cidr) == ipv6);
    capacity(cells, blocks.map(|block| (&block.block, view.is_in_open_range(block))))
}

fn number(count: usize) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}
