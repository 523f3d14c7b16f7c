//! Releases: which blocks are wanted back, and the operator's half of the handshake.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ipnet::IpNet;
use tenure_cluster::{IPBlock, NodeIPAM};
use tenure_leases::operator::account::{PoolCapacity, capacity};
use tenure_leases::operator::held::is_contested;
use tenure_leases::operator::release::{ReleaseCase, ReleaseStep, release};
use tenure_leases::operator::shrink::{ShrinkCase, wanted_back};
use tenure_leases::{
    BlockHint, BlockMark, BlockPhase, LeaseRules, MarkAnswer, MarkId, MarkReason, NodeIpamSpec, RangeState,
    RangeUse, Uid,
};

use super::FamilyKey;
use super::held::HeldGroups;
use crate::memory::OperatorMemory;
use crate::reports::{EventReason, EventSubject, Notice};
use crate::view::{BlockView, ClusterView, PoolView, SaidView, is_ipv6};
use crate::writes::{BlockChange, OperatorWrite, WriteTime};

/// Facts about all blocks, gathered once in a pass.
struct ReleaseFacts<'a> {
    /// The uids of all leases.
    leases: BTreeSet<Uid>,
    /// The nodes that say they hold a block, by overlap group.
    holders: BTreeMap<(&'a str, IpNet), Vec<&'a NodeIpamSpec>>,
    /// The nodes with blocks of a pool.
    pool_nodes: BTreeMap<Uid, BTreeSet<&'a str>>,
    /// The count of blocks by pool and family.
    capacities: BTreeMap<FamilyKey, PoolCapacity>,
    /// The nodes that drain because a pool's selector no longer matches them.
    draining: BTreeMap<Uid, BTreeSet<String>>,
}

impl<'a> ReleaseFacts<'a> {
    fn gather(view: &'a ClusterView) -> Self {
        let mut facts = Self {
            leases: view.blocks.iter().map(|view| view.block.uid).collect(),
            holders: BTreeMap::new(),
            pool_nodes: BTreeMap::new(),
            capacities: BTreeMap::new(),
            draining: draining(view),
        };
        let place = |of: &'a BlockView| (&*of.group, of.block.cidr);
        let blocks = view.blocks.iter().map(Arc::as_ref);
        let pools: BTreeMap<(&str, IpNet), &PoolView> =
            blocks.filter_map(|of| Some((place(of), view.pool(of.block.pool.uid)?))).collect();
        // The words of a node whose Node is gone, or is attested to be off, say nothing about a block that was leased again.
        for said in view.said.values().filter(|said| view.is_alive(&said.spec)) {
            facts.hear(view, &pools, &said.spec);
        }
        for block in &view.blocks {
            let key = (block.block.pool.uid, is_ipv6(block.block.cidr));
            facts.pool_nodes.entry(key.0).or_default().insert(&block.block.holder.name);
            facts.capacities.entry(key).or_insert_with(|| family_capacity(view, key));
        }
        facts
    }

    /// Takes a node's claims on leased blocks, as many of a pool and family as it could have leases: it may lie.
    fn hear(
        &mut self,
        view: &'a ClusterView,
        pools: &BTreeMap<(&str, IpNet), &PoolView>,
        said: &'a NodeIpamSpec,
    ) {
        let mut counted: BTreeMap<FamilyKey, u32> = BTreeMap::new();
        for block in view.blocks_of(said) {
            *counted.entry((block.block.pool.uid, is_ipv6(block.block.cidr))).or_default() += 1;
        }
        // A lease of equal addresses in another overlap group is another thing.
        for held in said.held.iter().filter(|held| !self.leases.contains(&held.uid)) {
            let Some(group) = HeldGroups::of(view, said, held).clear else { continue };
            let Some(pool) = pools.get(&(group, held.cidr)) else { continue };
            let counted = counted.entry((pool.lease.key.uid, is_ipv6(held.cidr))).or_default();
            if *counted < pool.lease.believed_blocks() {
                *counted += 1;
                self.holders.entry((group, held.cidr)).or_default().push(said);
            }
        }
    }

    /// The node that holds a block although its lease is another's.
    fn contestant(&self, block: &BlockView) -> Option<&'a NodeIpamSpec> {
        let holders = self.holders.get(&(&*block.group, block.block.cidr)).into_iter().flatten().copied();
        holders.into_iter().find(|said| is_contested(LeaseRules::ALL, &block.block, [*said]))
    }
}

/// The releases of a pass.
#[derive(Debug, Default)]
pub(super) struct ReleaseDecisions {
    pub(super) writes: Vec<OperatorWrite>,
    pub(super) notices: Vec<Notice>,
    /// The answers to marks.
    pub(super) answers: Vec<(MarkId, MarkAnswer)>,
}

/// Decides about every block that is not in quarantine.
pub(super) fn releases(view: &ClusterView, memory: &mut OperatorMemory, now: WriteTime) -> ReleaseDecisions {
    let mut facts = ReleaseFacts::gather(view);
    let mut decisions = ReleaseDecisions::default();
    for block in in_order(view, memory) {
        if block.block.phase == BlockPhase::Quarantined {
            continue;
        }
        if view.unreadable_pools.contains_key(&block.block.pool.uid) {
            continue;
        }
        let pool = view.pool(block.block.pool.uid);
        if pool.is_none() && block.block.phase == BlockPhase::Leased {
            decisions.writes.push(OperatorWrite::block(block, BlockChange::Orphan));
            continue;
        }
        let said = view.said.get(&*block.block.holder.name).map(Arc::as_ref);
        let Some(said) = said.filter(|said| said.spec.counts_for(&block.block)) else { continue };
        decisions.hear(block, said);
        let contestant = facts.contestant(block);
        if let Some(contestant) = contestant {
            decisions.notices.extend(conflict(view, block, contestant));
        }
        let contested = contestant.is_some();
        let case = shrink_case(view, memory, (block, pool, said), (&facts, contested), now);
        if case.unmatched_seconds.is_some() && is_unanswered(memory, block, said, now) {
            // It makes room for a node that answers, and is asked again after the others.
            memory.wait_for_selector(block.block.pool.uid, &block.block.holder.name, now.elapsed);
        }
        let write = step(memory, (block, said), wanted_back(&case), contested, now);
        if case.unmatched_seconds.is_some() && write.is_some() {
            let draining = facts.draining.entry(block.block.pool.uid).or_default();
            draining.insert(block.block.holder.name.to_string());
        }
        decisions.writes.extend(write);
    }
    decisions
}

/// The blocks by name, those of nodes that pools' selectors do not match after the others: the longer one has waited for its turn to drain, the
/// earlier it comes.
fn in_order<'a>(view: &'a ClusterView, memory: &OperatorMemory) -> Vec<&'a BlockView> {
    let mut blocks: Vec<&BlockView> = view.blocks.iter().map(Arc::as_ref).collect();
    if memory.has_unmatched() {
        blocks
            .sort_by_cached_key(|view| memory.unmatched_since(view.block.pool.uid, &view.block.holder.name));
    }
    blocks
}

/// Whether a block's holder has left a mark of this leader's without an answer for too long.
fn is_unanswered(memory: &OperatorMemory, block: &BlockView, said: &SaidView, now: WriteTime) -> bool {
    let late = block.block.mark.filter(|mark| memory.is_timed_out(mark.id, now.elapsed));
    late.is_some_and(|mark| said.spec.ack(block.block.uid, mark.id).is_none())
}

impl ReleaseDecisions {
    /// Notes a holder's answer to the mark on its block.
    fn hear(&mut self, view: &BlockView, said: &SaidView) {
        let Some(mark) = view.block.mark else { return };
        let Some(ack) = said.spec.ack(view.block.uid, mark.id) else { return };
        self.answers.push((mark.id, ack.answer));
        if let MarkAnswer::Refused(_) = ack.answer {
            let (cidr, node, answer) = (view.block.cidr, &view.block.holder.name, ack.answer.as_str());
            let note = format!("node {node} does not give {cidr} back: {answer}");
            self.notices.push(Notice::new(EventReason::BlockRefused, subject(view), note));
        }
    }
}

/// Tells both sides of a conflict.
fn conflict(view: &ClusterView, block: &BlockView, other: &NodeIpamSpec) -> [Notice; 2] {
    let (cidr, holder, other) = (block.block.cidr, &block.block.holder.name, &*other.identity.name);
    let uid = view.said.get(other).map(|said| said.uid.to_string()).unwrap_or_default();
    let claimant = EventSubject::named::<NodeIPAM>("NodeIPAM", other, uid);
    let note = format!(
        "{cidr} is leased to node {holder}, and node {other} says that it holds it; the lease is asked back"
    );
    let reason = EventReason::LeaseConflict;
    [
        Notice::new(reason, subject(block), note.clone()).with(claimant.clone()),
        Notice::new(reason, claimant, note).with(subject(block)),
    ]
}

fn subject(view: &BlockView) -> EventSubject {
    EventSubject::named::<IPBlock>("IPBlock", &view.name, view.block.uid.to_string())
}

/// The next step of the handshake about one block.
fn step(
    memory: &mut OperatorMemory,
    (view, said): (&BlockView, &SaidView),
    wanted: Option<MarkReason>,
    contested: bool,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let block = &view.block;
    // Its deletion alone would mark the node's last open block, which the agent refuses: a mark comes after a replacement.
    let holds = said.spec.held_uid(block.cidr) == Some(block.uid);
    if holds && block.mark.is_none() && wanted.is_none() && block.deleting {
        return None;
    }
    let refuses = |mark: &BlockMark| {
        said.spec.ack(block.uid, mark.id).is_some_and(|ack| matches!(ack.answer, MarkAnswer::Refused(_)))
    };
    if let Some(mark) = block.mark.filter(refuses) {
        memory.refused(block.uid, mark.why, now.elapsed);
    }
    // A block that is in use is refused as excess, and drains all the same once somebody wants it to.
    let reason = wanted.or(block.deleting.then_some(MarkReason::Drain));
    let held = || said.spec.held.iter().map(|held| held.uid);
    let refused_lately = reason.is_some_and(|why| memory.refused_lately(block.uid, why, held(), now.elapsed));
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
        ReleaseStep::Mark(why) => {
            memory.asks(block.uid, why, held().collect());
            BlockChange::Mark(BlockMark { id: MarkId(crate::memory::random()), why })
        }
        ReleaseStep::Clear(mark) => BlockChange::Clear(mark),
        ReleaseStep::Delete => BlockChange::Delete,
        ReleaseStep::RemoveFinalizer => BlockChange::RemoveFinalizer,
    };
    Some(OperatorWrite::block(view, change))
}

/// Everything that decides whether a block is wanted back.
fn shrink_case(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    (block, pool, said): (&BlockView, Option<&PoolView>, &SaidView),
    (facts, contested): (&ReleaseFacts<'_>, bool),
    now: WriteTime,
) -> ShrinkCase {
    let (lease, node) = (&block.block, &said.spec.identity.name);
    let ipv6 = is_ipv6(lease.cidr);
    let unmatched_seconds = pool.and_then(|pool| {
        // A Node that is not there says nothing about labels.
        let matches = view.hosts.get(&**node).is_none_or(|host| pool.keeps(&host.labels));
        memory.unmatched_seconds(lease.pool.uid, node, matches, now.elapsed)
    });
    let draining = facts.draining.get(&lease.pool.uid).into_iter().flatten();
    let draining_nodes = draining.filter(|other| other.as_str() != &**node).count();
    let counted = facts.capacities.get(&(lease.pool.uid, ipv6)).copied().unwrap_or_default();
    // Blocks of other pools may be another network's, and are the only ones where the pool has none for the node.
    let is_granting = pool.is_some_and(|pool| !pool.lease.disabled && unmatched_seconds.is_none());
    let has_own = is_granting && counted.total > 0;
    let replaces = |other: &&BlockView| {
        let is_replacement = other.block.pool.uid == lease.pool.uid || !has_own;
        let open = is_replacement && other.block.uid != lease.uid && is_ipv6(other.block.cidr) == ipv6;
        let stays = other.block.mark.is_none() && !other.block.deleting && view.serves(other);
        open && stays && said.spec.held_uid(other.block.cidr) == Some(other.block.uid)
    };
    // By the mark of now, or by the one in whose place another leader's successor has put it.
    let mut answers = said.spec.acks.iter().filter(|ack| ack.uid == lease.uid);
    let is_cordoned = answers.any(|ack| ack.answer == MarkAnswer::Cordoned);
    ShrinkCase {
        crd_deleting: memory.definitions_unsure,
        pool_deleting: pool.is_some_and(|pool| pool.lease.deleting),
        orphaned: pool.is_none(),
        block_deleting: lease.deleting,
        cidr_removed: !view.is_in_open_range(block),
        excluded: view.is_excluded(block),
        given_up: said.spec.returned.contains(&lease.uid),
        contested,
        unmatched_seconds,
        draining_nodes: number(draining_nodes),
        pool_nodes: number(facts.pool_nodes.get(&lease.pool.uid).map_or(0, BTreeSet::len)),
        replacements: number(view.blocks_of(&said.spec).filter(replaces).count()),
        // As its last open block, an agent refuses to give up what it has accepted and not said yet.
        not_open: said.spec.gave_up(lease.uid)
            || said.spec.held_uid(lease.cidr) != Some(lease.uid)
            || (lease.mark.is_some() && is_cordoned),
        drains: lease.mark.is_some_and(|mark| mark.why == MarkReason::Drain),
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
            && !pool.keeps(labels)
        {
            draining.entry(pool.lease.key.uid).or_default().insert(node.to_owned());
        }
    }
    draining
}

/// Counts the blocks of a pool in one family.
pub(super) fn family_capacity(view: &ClusterView, (pool, ipv6): FamilyKey) -> PoolCapacity {
    let ranges =
        view.spaces.values().flat_map(|space| space.space.ranges().iter().map(|range| (&space.space, range)));
    let open = ranges.filter(|(_, range)| {
        let usable = range.state == RangeState::Open && range.usage != RangeUse::Taken;
        usable && range.pool.uid == pool && is_ipv6(range.cidr) == ipv6
    });
    let exclusions = view.pool(pool).map(|pool| &pool.excluded);
    let cells = open.map(|(space, range)| {
        let all = 1_u64 << (range.unit - range.cidr.prefix_len());
        let of_blocks = exclusions.filter(|_| range.usage == RangeUse::Blocks);
        let excluded = of_blocks.map(|excluded| excluded.covered_cells(range.cidr, range.unit));
        all.saturating_sub(space.closed_cells(range, excluded.unwrap_or_default()))
    });
    let cells = cells.sum();
    let blocks =
        view.all_blocks().filter(|view| view.block.pool.uid == pool && is_ipv6(view.block.cidr) == ipv6);
    capacity(cells, blocks.map(|block| (&block.block, view.serves(block))))
}

fn number(count: usize) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}
