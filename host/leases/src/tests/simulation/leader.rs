//! A leader: a cache that lags, decisions by the tables, and writes that are made one after the other, each as late as may be.

mod granting;
mod releasing;
mod writing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ipnet::IpNet;

use super::Planted;
use super::kinds::{KINDS, key, kind_of, pool_of};
use super::server::{Exclusions, Renewal, Server, Store, Watch, Write};
use crate::block::MarkReason;
use crate::operator::barrier::{LeaderBarrier, LeaderHandover};
use crate::operator::fence::FetchedNode;
use crate::operator::held::ClaimantState;
use crate::operator::signs::RestoreSigns;
use crate::{
    BlockHint, BlockPhase, CallId, IpBlock, LeaseRule, LeaseRules, MarkId, NodeIpamSpec, NodeIpamStatus,
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
    /// The advance of its clock over others, in seconds.
    pub(super) skew: u64,
    /// The renewal of its Lease that it wrote last.
    renewed: Option<Renewal>,
    unmatched: BTreeMap<(usize, Arc<str>), u64>,
    /// Passes in which a mark was its own, refused, and not taken back.
    refusals: BTreeMap<MarkId, u32>,
    marked: BTreeMap<MarkId, u64>,
    refused: BTreeMap<(Uid, MarkReason), u64>,
    quarantined: BTreeMap<Uid, u64>,
    gone: BTreeMap<Uid, u64>,
    released: BTreeMap<IpNet, u64>,
    /// The leases of fenced nodes that it ended.
    ended: BTreeSet<(Arc<str>, IpNet)>,
    /// The last call for the nodes' words, which no other leader made.
    calls: u64,
    pub(super) plans: VecDeque<Planned>,
}

impl Leader {
    pub(super) fn new(rules: LeaseRules, planted: Option<Planted>, skew: u64, calls: u64) -> Self {
        Self {
            rules,
            planted,
            cache: None,
            watch: Watch::default(),
            barrier: LeaderBarrier::default(),
            signs: RestoreSigns::default(),
            ticked: 0,
            compared: None,
            skew,
            renewed: None,
            unmatched: BTreeMap::new(),
            refusals: BTreeMap::new(),
            marked: BTreeMap::new(),
            refused: BTreeMap::new(),
            quarantined: BTreeMap::new(),
            gone: BTreeMap::new(),
            released: BTreeMap::new(),
            ended: BTreeSet::new(),
            calls,
            plans: VecDeque::new(),
        }
    }

    /// Takes in some events. `false` if the watch is interrupted: then everything is listed before the next pass.
    pub(super) fn see(&mut self, server: &Server, most: usize) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        server.deliver(&mut self.watch, cache, most)
    }

    /// Takes or renews its Lease, which tells how fresh the store is.
    pub(super) fn elect(&mut self, lease: &mut Option<Renewal>, process: u64, now: u64) {
        match (self.renewed, *lease) {
            (Some(mine), Some(found)) if found.at == mine.at => {}
            _ if self.planted == Some(Planted::NoHandover) => {}
            (Some(_), _) => self.suspect_restore(),
            (None, None) => {}
            (None, Some(found)) => {
                let handover = LeaderHandover {
                    age_seconds: now as i64 - found.at as i64,
                    is_doubted: found.is_doubted,
                    is_same_server: found.process == process,
                };
                if handover.is_suspect(self.rules) {
                    self.suspect_restore();
                }
            }
        }
        self.renewed = Some(Renewal { at: now, process, is_doubted: self.barrier.is_doubtful() });
        *lease = self.renewed;
    }

    /// Whether a refused mark of its own stays.
    pub(super) fn keeps_refused_mark(&self) -> bool {
        self.refusals.values().any(|passes| *passes > 40)
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
        let blocks = cache.blocks.values().map(|block| (block.uid, block.version));
        let said = cache.said.values().map(|said| (said.uid, said.version));
        if self.signs.compare_objects(blocks.chain(said).collect(), interrupted) {
            self.suspect_restore();
        }
        self.signs.saw(Some(cache.version));
        let heard = |name: &Arc<str>| cache.said.get(name).and_then(|said| said.spec.heard);
        self.barrier.heard(self.rules, cache.hosts.keys().map(heard));
        self.forget(&cache);
        self.spaces(&cache, ids);
        self.grants(&cache, now);
        self.selectors(&cache, now);
        self.releases(&cache, ids, now);
        self.hints(&cache);
        let suspects = cache.blocks.values().filter(|block| is_suspect(&cache, block));
        self.plans.extend(suspects.map(|block| Planned::Judge(block.clone())));
        self.forgotten(&cache, now);
    }

    fn suspect_restore(&mut self) {
        if self.rules.has(LeaseRule::Barrier) {
            self.calls += 1;
            self.barrier.suspect_restore(CallId(self.calls));
            self.barrier.listed();
            self.ended.clear();
        }
    }

    fn forget(&mut self, cache: &Store) {
        let uids: BTreeSet<Uid> = cache.blocks.values().map(|block| block.uid).collect();
        let marks: BTreeSet<MarkId> =
            cache.blocks.values().filter_map(|block| block.mark).map(|mark| mark.id).collect();
        self.refused.retain(|(uid, _), _| uids.contains(uid));
        self.refusals.retain(|mark, _| marks.contains(mark));
        self.quarantined.retain(|uid, _| uids.contains(uid));
        self.ended.retain(|(name, _)| {
            let node = cache.hosts.get(name).map_or(FetchedNode::Missing, |node| FetchedNode::Found(*node));
            let said = cache.said.get(name);
            said.is_some_and(|said| ClaimantState::of(&said.spec, node) == ClaimantState::Fenced)
        });
        for mark in self.marked.keys().copied().filter(|mark| !marks.contains(mark)).collect::<Vec<_>>() {
            self.barrier.settled(mark);
            self.marked.remove(&mark);
        }
    }

    /// Brings the space to what the pool wants.
    fn spaces(&mut self, cache: &Store, ids: &mut u64) {
        let mut space = cache.space.clone();
        let wanted: Vec<IpNet> = cache.pools.iter().flat_map(|pool| pool.ranges.iter().copied()).collect();
        for range in cache.space.ranges() {
            if range.state == RangeState::Open && !wanted.contains(&range.cidr) {
                let _ = space.close(range.id);
            }
        }
        for cidr in &wanted {
            let mut known = cache.space.ranges().iter().filter(|range| range.cidr == *cidr);
            match known.clone().find(|range| range.state == RangeState::Open).or_else(|| known.next()) {
                Some(found) if found.state == RangeState::Open => {}
                // Somebody took it out of the pool, and has put it back.
                Some(closed) => {
                    let _ = space.reopen(closed.id);
                }
                None => {
                    *ids += 1;
                    let _ = space.add(self.rules, range(*ids, *cidr));
                }
            }
        }
        if space != cache.space {
            self.plans.push_back(Planned::Write(Write::Space { version: cache.space_version, space }));
            return;
        }
        let closed = cache.space.ranges().iter().filter(|range| range.state == RangeState::Closed);
        self.plans.extend(closed.map(|range| Planned::Remove(range.id)));
    }

    /// Counts for how long a pool's selector has not matched a node.
    fn selectors(&mut self, cache: &Store, now: u64) {
        for (index, pool) in cache.pools.iter().enumerate() {
            self.unmatched.retain(|(of, name), _| *of != index || pool.unmatched.contains(name));
            for name in &pool.unmatched {
                self.unmatched.entry((index, Arc::clone(name))).or_insert(now);
            }
        }
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
            let call = self.barrier.call().or(said.status.call);
            let status = NodeIpamStatus { accepted, blocks: blocks.collect(), call };
            let exclusions: Vec<Exclusions> =
                cache.pools.iter().map(|pool| pool.exclusions.clone()).collect();
            if status != said.status || exclusions != said.exclusions {
                let write = Write::Hint { read: Box::new(said.clone()), status, exclusions };
                self.plans.push_back(Planned::Write(write));
            }
        }
    }

    fn forgotten(&mut self, cache: &Store, now: u64) {
        let claims = self.claims(cache);
        for (name, said) in &cache.said {
            let has_blocks = cache.blocks.values().any(|block| block.holder.name == *name);
            if cache.hosts.contains_key(name) || has_blocks {
                self.gone.remove(&said.uid);
                continue;
            }
            let is_claimant = |claims: &Vec<granting::Claim>| {
                claims.iter().any(|claim| claim.name == *name && claim.verdict.is_believed())
            };
            if claims.values().any(is_claimant) {
                continue;
            }
            let is_ended =
                said.spec.held.iter().all(|held| self.ended.contains(&(Arc::clone(name), held.cidr)));
            let since = *self.gone.entry(said.uid).or_insert(now);
            if is_ended || now - since >= 3600 {
                let write = Write::Forget { name: Arc::clone(name), uid: said.uid, version: said.version };
                self.plans.push_back(Planned::Write(write));
            }
        }
    }
}

/// A range of blocks.
pub(super) fn range(id: u64, cidr: IpNet) -> SpaceRange {
    let (usage, state, unit) = (RangeUse::Blocks, RangeState::Open, KINDS[kind_of(cidr)].unit);
    SpaceRange { id: RangeId(id), cidr, unit, usage, pool: key(pool_of(cidr)), state }
}

fn lease(cache: &Store, spec: &NodeIpamSpec, range: RangeId, cidr: IpNet) -> IpBlock {
    IpBlock {
        uid: Uid(0),
        version: cache.version,
        cidr,
        range,
        pool: key(pool_of(cidr)),
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
