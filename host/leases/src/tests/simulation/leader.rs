//! A leader: a cache that lags, decisions by the tables, and writes that are made one after the other, each as late as may be.

mod writing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use super::Planted;
use super::server::{Change, Said, Server, Store, Watch, Write};
use crate::block::{MarkAnswer, MarkReason};
use crate::operator::account::capacity;
use crate::operator::barrier::LeaderBarrier;
use crate::operator::grant::{GrantCandidate, GrantCase, grant, sort_candidates};
use crate::operator::held::{HeldVerdict, is_contested, judge_missing};
use crate::operator::release::{MARK_TIMEOUT_SECONDS, ReleaseCase, ReleaseStep, release};
use crate::operator::shrink::{ShrinkCase, wanted_back};
use crate::operator::signs::RestoreSigns;
use crate::{
    BlockHint, BlockMark, BlockPhase, IpBlock, LeaseRule, LeaseRules, MarkId, NodeIpamSpec, NodeIpamStatus,
    RangeId, RangeState, RangeUse, SpaceRange, Uid,
};

/// Seconds for which a block whose holder refused a mark is not marked again.
const RELEASE_DELAY: u64 = 1800;

/// The longest time between two looks at the store's version, in seconds.
const COMPARE: u64 = 60;

/// A decision that is not carried out yet.
#[derive(Debug, Clone)]
pub(super) enum Planned {
    Write(Write),
    /// GET the Node of a block that looks dead, and decide.
    Judge(IpBlock),
    /// LIST the blocks, and remove a closed range of which there is none.
    Remove(RangeId),
}

/// A leader's memory. A successor begins without it.
#[derive(Debug)]
pub(super) struct Leader {
    rules: LeaseRules,
    planted: Option<Planted>,
    cache: Option<Store>,
    watch: Watch,
    pub(super) barrier: LeaderBarrier,
    signs: RestoreSigns,
    ticked: u64,
    compared: Option<u64>,
    marked: BTreeMap<MarkId, u64>,
    refused: BTreeMap<(Uid, MarkReason), u64>,
    quarantined: BTreeMap<Uid, u64>,
    gone: BTreeMap<Uid, u64>,
    released: BTreeMap<IpNet, u64>,
    pub(super) plans: VecDeque<Planned>,
}

impl Leader {
    pub(super) fn new(rules: LeaseRules, planted: Option<Planted>) -> Self {
        Self {
            rules,
            planted,
            cache: None,
            watch: Watch::default(),
            barrier: LeaderBarrier::default(),
            signs: RestoreSigns::default(),
            ticked: 0,
            compared: None,
            marked: BTreeMap::new(),
            refused: BTreeMap::new(),
            quarantined: BTreeMap::new(),
            gone: BTreeMap::new(),
            released: BTreeMap::new(),
            plans: VecDeque::new(),
        }
    }

    /// Takes in some events. `false` if the watch is interrupted: then everything is listed before the next pass.
    pub(super) fn see(&mut self, server: &Server, most: usize) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        server.deliver(&mut self.watch, cache, most)
    }

    /// Makes a pass: a look at the store, and decisions.
    pub(super) fn pass(&mut self, server: &Server, ids: &mut u64, now: u64) {
        let first = self.cache.is_none();
        let interrupted = !first && !self.see(server, 0);
        self.barrier.elapse(if first { 0 } else { now - self.ticked });
        self.ticked = now;
        if first || interrupted {
            let (store, watch) = server.list();
            (self.cache, self.watch) = (Some(store), watch);
            self.compared = None;
            if interrupted {
                self.barrier.relist();
            }
        }
        self.barrier.listed();
        if !self.rules.has(LeaseRule::Barrier) {
            self.barrier = LeaderBarrier::default();
            self.barrier.listed();
        }
        if self.compared.is_none_or(|at| now - at >= COMPARE) {
            self.compared = Some(now);
            if self.signs.compare_version(server.store.version) {
                self.suspect_restore();
            }
        }
        let Some(cache) = self.cache.clone() else { return };
        let blocks = cache.blocks.values().map(|block| (block.uid.to_string(), block.version));
        let said = cache.said.values().map(|said| (said.uid.to_string(), said.version));
        if self.signs.compare_objects(blocks.chain(said).collect(), interrupted) {
            self.suspect_restore();
        }
        self.signs.saw(Some(cache.version));
        self.forget(&cache);
        self.spaces(&cache, ids);
        self.grants(&cache, now);
        self.releases(&cache, ids, now);
        self.hints(&cache);
        let suspects = cache.blocks.values().filter(|block| is_suspect(&cache, block));
        self.plans.extend(suspects.map(|block| Planned::Judge(block.clone())));
        self.forgotten(&cache, now);
    }

    fn suspect_restore(&mut self) {
        if self.rules.has(LeaseRule::Barrier) {
            self.barrier.suspect_restore();
            self.barrier.listed();
        }
    }

    fn forget(&mut self, cache: &Store) {
        let uids: BTreeSet<Uid> = cache.blocks.values().map(|block| block.uid).collect();
        let marks: BTreeSet<MarkId> =
            cache.blocks.values().filter_map(|block| block.mark).map(|mark| mark.id).collect();
        self.refused.retain(|(uid, _), _| uids.contains(uid));
        self.quarantined.retain(|uid, _| uids.contains(uid));
        for mark in self.marked.keys().copied().filter(|mark| !marks.contains(mark)).collect::<Vec<_>>() {
            self.barrier.settled(mark);
            self.marked.remove(&mark);
        }
    }

    /// Brings the space to what the pool wants.
    fn spaces(&mut self, cache: &Store, ids: &mut u64) {
        let mut space = cache.space.clone();
        for range in cache.space.ranges() {
            if range.state == RangeState::Open && !cache.pool.ranges.contains(&range.cidr) {
                let _ = space.close(range.id);
            }
        }
        for cidr in &cache.pool.ranges {
            let is_there = cache
                .space
                .ranges()
                .iter()
                .any(|range| range.cidr == *cidr && range.state == RangeState::Open);
            if !is_there {
                *ids += 1;
                let _ = space.add(self.rules, range(*ids, *cidr, &cache.pool.lease.key));
            }
        }
        if space != cache.space {
            self.plans.push_back(Planned::Write(Write::Space { version: cache.space_version, space }));
            return;
        }
        let closed = cache.space.ranges().iter().filter(|range| range.state == RangeState::Closed);
        self.plans.extend(closed.map(|range| Planned::Remove(range.id)));
    }

    fn grants(&mut self, cache: &Store, now: u64) {
        let uids: BTreeSet<Uid> = cache.blocks.values().map(|block| block.uid).collect();
        let mut claims: BTreeMap<IpNet, Vec<(Arc<str>, HeldVerdict)>> = BTreeMap::new();
        let mut believed: BTreeMap<Arc<str>, u32> = BTreeMap::new();
        for (name, said) in &cache.said {
            let spec = &said.spec;
            let mut counted = count(cache.blocks.values().filter(|block| spec.counts_for(block)));
            let alive = is_alive(cache, spec);
            for held in spec.held.iter().filter(|held| !uids.contains(&held.uid)) {
                if cache.blocks.contains_key(&held.cidr) {
                    continue;
                }
                let pool = alive.then_some(&cache.pool.lease);
                let verdict = judge_missing(self.rules, &cache.space, held.cidr, spec, pool, alive, counted);
                if !matches!(verdict, HeldVerdict::Free | HeldVerdict::Ignored) {
                    counted += 1;
                    *believed.entry(Arc::clone(name)).or_default() += 1;
                }
                if verdict != HeldVerdict::Free {
                    claims.entry(held.cidr).or_default().push((Arc::clone(name), verdict));
                }
                if verdict == HeldVerdict::Reclaim && self.signs.lost_lease(name, Duration::from_secs(now)) {
                    self.suspect_restore();
                }
            }
        }
        if !self.barrier.may_grant() {
            return;
        }
        let mut taken: BTreeSet<IpNet> = cache.blocks.keys().copied().collect();
        for (cidr, claims) in &claims {
            if let ([(name, HeldVerdict::Reclaim)], Some(range)) =
                (claims.as_slice(), cache.space.cell(*cidr))
            {
                let lease = lease(cache, &cache.said[name].spec, range.id, *cidr);
                self.plans.push_back(Planned::Write(Write::Create(lease)));
            }
            if claims.iter().any(|(_, verdict)| *verdict != HeldVerdict::Ignored) {
                taken.insert(*cidr);
            }
        }
        for (name, said) in &cache.said {
            let stays = |block: &&IpBlock| {
                said.spec.counts_for(block)
                    && !block.deleting
                    && cache.space.admit(block.range, block.cidr).is_ok()
            };
            let mut have = count(cache.blocks.values().filter(stays));
            have += believed.get(name).copied().unwrap_or_default();
            for demand in &said.spec.demand {
                while let Some(lease) = self.candidate(cache, &said.spec, &taken, demand.want, have) {
                    taken.insert(lease.cidr);
                    have += 1;
                    self.plans.push_back(Planned::Write(Write::Create(lease)));
                }
            }
        }
    }

    fn candidate(
        &self,
        cache: &Store,
        spec: &NodeIpamSpec,
        taken: &BTreeSet<IpNet>,
        want: u32,
        have: u32,
    ) -> Option<IpBlock> {
        let open = cache.space.ranges().iter().filter(|range| range.state == RangeState::Open);
        let cells = open.flat_map(|range| range.cidr.subnets(range.unit).into_iter().flatten());
        let mut candidates: Vec<_> = cells
            .filter(|cell| !taken.contains(cell))
            .map(|cidr| GrantCandidate { cidr, released: self.released.get(&cidr).copied() })
            .collect();
        sort_candidates(&spec.identity.name, &mut candidates);
        let cidr = candidates.first()?.cidr;
        let range = cache.space.cell(cidr)?.id;
        let case = GrantCase {
            barrier_passed: self.barrier.may_grant(),
            pool: &cache.pool.lease,
            space: &cache.space,
            range,
            cidr,
            held: HeldVerdict::Free,
            node_admitted: is_alive(cache, spec),
            want,
            node_blocks: have,
            pool_blocks: count(cache.blocks.values()),
        };
        grant(&case).ok().map(|()| lease(cache, spec, range, cidr))
    }

    fn releases(&mut self, cache: &Store, ids: &mut u64, now: u64) {
        let uids: BTreeSet<Uid> = cache.blocks.values().map(|block| block.uid).collect();
        let alive: Vec<&NodeIpamSpec> =
            cache.said.values().map(|said| &said.spec).filter(|spec| is_alive(cache, spec)).collect();
        let inside = |block: &IpBlock| cache.space.admit(block.range, block.cidr).is_ok();
        let cells = cache.space.ranges().iter().filter(|range| range.state == RangeState::Open);
        let cells = cells.map(|range| 1_u64 << (range.unit - range.cidr.prefix_len())).sum();
        let counted = capacity(cells, cache.blocks.values().map(|block| (block, inside(block))));
        for block in cache.blocks.values().filter(|block| block.phase != BlockPhase::Quarantined) {
            let said = cache.said.get(&block.holder.name).filter(|said| said.spec.counts_for(block));
            let Some(said) = said else { continue };
            let others = alive
                .iter()
                .copied()
                .filter(|spec| spec.held_uid(block.cidr).is_some_and(|uid| !uids.contains(&uid)));
            let contested = is_contested(self.rules, block, others);
            let replaces = |other: &&IpBlock| {
                let stays = other.mark.is_none() && !other.deleting && inside(other);
                other.uid != block.uid && stays && said.spec.held_uid(other.cidr) == Some(other.uid)
            };
            let case = ShrinkCase {
                block_deleting: block.deleting,
                cidr_removed: !inside(block),
                given_up: said.spec.returned.contains(&block.uid) && self.rules.has(LeaseRule::AskGivenUp),
                contested,
                pool_nodes: 3,
                replacements: count(cache.blocks.values().filter(replaces)),
                frozen: said.spec.gave_up(block.uid),
                idle: said.spec.idle.contains(&block.uid),
                release_excess: cache.pool.lease.release_excess,
                free_blocks: u32::try_from(counted.free).unwrap_or(u32::MAX),
                total_blocks: u32::try_from(counted.total).unwrap_or(u32::MAX),
                ..ShrinkCase::default()
            };
            let step = self.release(block, said, wanted_back(&case), contested, now);
            let change = match step {
                ReleaseStep::Wait | ReleaseStep::Hint(_) => continue,
                ReleaseStep::Mark(why) => {
                    *ids += 1;
                    Change::Mark(BlockMark { id: MarkId(*ids), why })
                }
                ReleaseStep::Clear(mark) => Change::Clear(mark),
                ReleaseStep::Delete => Change::Delete,
                ReleaseStep::RemoveFinalizer => Change::RemoveFinalizer,
            };
            self.plans.push_back(Planned::Write(Write::Change(block.clone(), change)));
        }
    }

    fn release(
        &mut self,
        block: &IpBlock,
        said: &Said,
        wanted: Option<MarkReason>,
        contested: bool,
        now: u64,
    ) -> ReleaseStep {
        let holds = said.spec.held_uid(block.cidr) == Some(block.uid);
        if holds && block.mark.is_none() && wanted.is_none() && block.deleting {
            return ReleaseStep::Wait;
        }
        let answer = block.mark.and_then(|mark| Some((mark, said.spec.ack(block.uid, mark.id)?.answer)));
        if let Some((mark, MarkAnswer::Refused(_))) = answer {
            let at = self.refused.entry((block.uid, mark.why)).or_insert(now);
            if now - *at >= RELEASE_DELAY {
                *at = now;
            }
        }
        let reason = wanted.or(block.deleting.then_some(MarkReason::Drain));
        let refused = reason.and_then(|why| self.refused.get(&(block.uid, why)));
        let timed_out =
            |mark: BlockMark| self.marked.get(&mark.id).is_some_and(|at| now - at >= MARK_TIMEOUT_SECONDS);
        let mut acks = said.spec.acks.clone();
        if self.planted == Some(Planted::RefusedIsReady) {
            acks.iter_mut().for_each(|ack| ack.answer = MarkAnswer::Ready);
        }
        let case = ReleaseCase {
            block,
            hint: Some(BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark }),
            acks: &acks,
            own: block.mark.is_some_and(|mark| self.barrier.owns(self.rules, mark.id)),
            wanted,
            may_clear: self.barrier.may_grant() && !contested,
            timed_out: block.mark.is_some_and(timed_out),
            refused_lately: refused.is_some_and(|at| now - at < RELEASE_DELAY),
        };
        release(self.rules, &case)
    }

    /// Writes each node's hints from its blocks, where they differ.
    fn hints(&mut self, cache: &Store) {
        for said in cache.said.values() {
            let blocks = cache.blocks.values().filter(|block| said.spec.counts_for(block));
            let known = |block: &IpBlock| said.status.blocks.iter().any(|hint| hint.uid == block.uid);
            let hint = |block: &IpBlock| BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark };
            let follows = self.rules.has(LeaseRule::HintFollows);
            let blocks =
                blocks.map(|block| match said.status.blocks.iter().find(|hint| hint.uid == block.uid) {
                    Some(old) if !follows && known(block) => *old,
                    _ => hint(block),
                });
            let accepted = match is_alive(cache, &said.spec) {
                true => Some(said.spec.identity.clone()),
                false => said.status.accepted.clone(),
            };
            let status = NodeIpamStatus { accepted, blocks: blocks.collect() };
            let exclusions = cache.pool.exclusions.clone();
            if status != said.status || exclusions != said.exclusions {
                let write = Write::Hint { read: Box::new(said.clone()), status, exclusions };
                self.plans.push_back(Planned::Write(write));
            }
        }
    }

    fn forgotten(&mut self, cache: &Store, now: u64) {
        for (name, said) in &cache.said {
            let has_blocks = cache.blocks.values().any(|block| block.holder.name == *name);
            if cache.hosts.contains_key(name) || has_blocks {
                self.gone.remove(&said.uid);
                continue;
            }
            let since = *self.gone.entry(said.uid).or_insert(now);
            if said.spec.held.is_empty() || now - since >= 3600 {
                let write = Write::Forget { name: Arc::clone(name), uid: said.uid, version: said.version };
                self.plans.push_back(Planned::Write(write));
            }
        }
    }
}

/// A range of blocks of four addresses.
pub(super) fn range(id: u64, cidr: IpNet, pool: &crate::PoolKey) -> SpaceRange {
    let (usage, state) = (RangeUse::Blocks, RangeState::Open);
    SpaceRange { id: RangeId(id), cidr, unit: 30, usage, pool: pool.clone(), state }
}

fn lease(cache: &Store, spec: &NodeIpamSpec, range: RangeId, cidr: IpNet) -> IpBlock {
    IpBlock {
        uid: Uid(0),
        version: cache.version,
        cidr,
        range,
        pool: cache.pool.lease.key.clone(),
        holder: spec.identity.clone(),
        adopted_node_uid: None,
        phase: BlockPhase::Leased,
        mark: None,
        cleared: None,
        deleting: false,
        elapsed_seconds: 0,
    }
}

fn is_alive(cache: &Store, spec: &NodeIpamSpec) -> bool {
    cache.hosts.get(&spec.identity.name).is_some_and(|node| {
        let same = node.uid == spec.identity.uid && node.machine == spec.identity.machine;
        same && !node.out_of_service && node.fenced != Some(node.uid)
    })
}

/// Whether a block's Node is to be looked at.
fn is_suspect(cache: &Store, block: &IpBlock) -> bool {
    let lives = cache.hosts.get(&block.holder.name).is_some_and(|node| {
        let known = block.names_node(node.uid) && node.machine == block.holder.machine;
        known && !node.out_of_service && node.fenced != Some(node.uid) && node.ready
    });
    !lives || block.phase == BlockPhase::Quarantined
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
