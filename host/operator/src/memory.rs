//! A leader's memory: its barrier, its marks, its counts of time, and its own last writes. A successor begins without it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use ipnet::IpNet;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_leases::operator::barrier::LeaderBarrier;
use tenure_leases::operator::release::MARK_TIMEOUT_SECONDS;
use tenure_leases::{MarkId, ObjectVersion, Uid};

use crate::view::{ClusterView, ViewSources, WrittenObjects};

/// Seconds for which a block whose holder refused a mark is not marked again.
pub const RELEASE_DELAY_SECONDS: u64 = 1800;

/// The memory of one leader.
#[derive(Debug, Default)]
pub struct OperatorMemory {
    /// Whether the leader may grant, and which marks it wrote itself.
    pub barrier: LeaderBarrier,
    /// The leader's writes of pools.
    pub pools: WrittenObjects<AddressPool>,
    /// The leader's writes of spaces.
    pub spaces: WrittenObjects<AddressSpace>,
    /// The leader's writes of blocks.
    pub blocks: WrittenObjects<IPBlock>,
    /// The leader's writes of nodes' hints.
    pub said: WrittenObjects<NodeIPAM>,
    marked: BTreeMap<MarkId, Duration>,
    refused: BTreeMap<Uid, Duration>,
    quarantined: BTreeMap<Uid, Duration>,
    unmatched: BTreeMap<(Uid, String), Duration>,
    released: BTreeMap<(String, IpNet), u64>,
    lost: BTreeSet<(String, Uid)>,
    highest: Option<ObjectVersion>,
    listings: u64,
    ticked: Option<Duration>,
}

impl OperatorMemory {
    /// Counts the time of a pause, in whole seconds.
    pub fn tick(&mut self, now: Duration) {
        let since = now.saturating_sub(*self.ticked.get_or_insert(now)).as_secs();
        if since > 0 {
            self.barrier.elapse(since);
            self.ticked = Some(now);
        }
    }

    /// Notes how often everything was listed. Returns whether a watch was interrupted since the last pass: the store may be another one.
    pub fn listed(&mut self, listings: u64) -> bool {
        let interrupted = self.listings != 0 && self.listings != listings;
        if interrupted {
            self.barrier.relist();
        }
        self.listings = listings;
        self.barrier.listed();
        interrupted
    }

    /// Notes the highest resourceVersion seen.
    pub fn saw(&mut self, version: Option<ObjectVersion>) {
        self.highest = self.highest.max(version);
    }

    /// Compares the store's present version with what was seen: a lower one is a store that was restored.
    pub fn compare_version(&mut self, version: ObjectVersion) {
        if self.highest.is_some_and(|highest| version < highest) {
            tracing::warn!(
                "the API server's store is older than what was read from it: nothing is granted for a while"
            );
            self.highest = Some(version);
            self.suspect_restore();
        }
    }

    /// Notes a lease that is lost although its holder says that it holds it: a sign of a restored store, once for each.
    pub fn lost_lease(&mut self, node: &str, uid: Uid) {
        if self.lost.insert((node.to_owned(), uid)) {
            tracing::warn!(
                "node {node} holds a block whose IPBlock {uid} is gone: nothing is granted for a while"
            );
            self.suspect_restore();
        }
    }

    fn suspect_restore(&mut self) {
        self.barrier.suspect_restore();
        self.barrier.listed();
    }

    /// Notes a mark that the API server confirmed.
    pub fn wrote_mark(&mut self, mark: MarkId, now: Duration) {
        self.barrier.wrote(mark);
        self.marked.insert(mark, now);
    }

    /// Notes that a mark was taken back.
    pub fn cleared(&mut self, mark: MarkId) {
        self.barrier.settled(mark);
        self.marked.remove(&mark);
    }

    /// Whether a mark has been unanswered for too long.
    #[must_use]
    pub fn is_timed_out(&self, mark: MarkId, now: Duration) -> bool {
        self.marked.get(&mark).is_some_and(|at| now.saturating_sub(*at).as_secs() >= MARK_TIMEOUT_SECONDS)
    }

    /// Notes that the holder of a block refuses.
    pub fn refused(&mut self, block: Uid, now: Duration) {
        self.refused.insert(block, now);
    }

    /// Whether the holder of a block refused lately.
    #[must_use]
    pub fn refused_lately(&self, block: Uid, now: Duration) -> bool {
        self.refused.get(&block).is_some_and(|at| now.saturating_sub(*at).as_secs() < RELEASE_DELAY_SECONDS)
    }

    /// Seconds for which a block has been in quarantine since this leader saw it or wrote its time.
    pub fn quarantine_seconds(&mut self, block: Uid, now: Duration) -> u64 {
        now.saturating_sub(*self.quarantined.entry(block).or_insert(now)).as_secs()
    }

    /// Notes that a block's time in quarantine was written, and counts from zero again.
    pub fn wrote_quarantine(&mut self, block: Uid, now: Duration) {
        self.quarantined.insert(block, now);
    }

    /// Seconds for which a pool's selector has not matched a node; `None` while it matches.
    pub fn unmatched_seconds(&mut self, pool: Uid, node: &str, matches: bool, now: Duration) -> Option<u64> {
        let key = (pool, node.to_owned());
        if matches {
            self.unmatched.remove(&key);
            return None;
        }
        Some(now.saturating_sub(*self.unmatched.entry(key).or_insert(now)).as_secs())
    }

    /// Notes the end of a lease, so that its addresses are granted again as late as possible.
    pub fn released(&mut self, group: &str, cidr: IpNet) {
        let next = self.released.values().max().map_or(1, |last| last + 1);
        self.released.insert((group.to_owned(), cidr), next);
    }

    /// The count at which a lease of a block ended.
    #[must_use]
    pub fn release_of(&self, group: &str, cidr: IpNet) -> Option<u64> {
        self.released.get(&(group.to_owned(), cidr)).copied()
    }

    /// Lays this leader's writes over what the watches show.
    #[must_use]
    pub fn over(&mut self, sources: ViewSources, now: Duration) -> ViewSources {
        ViewSources {
            pools: self.pools.over(sources.pools, now),
            spaces: self.spaces.over(sources.spaces, now),
            blocks: self.blocks.over(sources.blocks, now),
            said: self.said.over(sources.said, now),
            hosts: sources.hosts,
        }
    }

    /// Forgets what is about blocks and pools that are gone.
    pub fn forget(&mut self, view: &ClusterView) {
        let blocks: BTreeSet<Uid> = view.blocks.iter().map(|view| view.block.uid).collect();
        self.refused.retain(|uid, _| blocks.contains(uid));
        self.quarantined.retain(|uid, _| blocks.contains(uid));
        self.unmatched.retain(|(pool, _), _| view.pool(*pool).is_some());
        let marks: BTreeSet<MarkId> =
            view.blocks.iter().filter_map(|view| view.block.mark).map(|mark| mark.id).collect();
        for mark in self.marked.keys().copied().filter(|mark| !marks.contains(mark)).collect::<Vec<_>>() {
            self.cleared(mark);
        }
    }
}

/// A random number: the id of a mark or a range. No two are equal, and no other leader draws the same ones.
#[must_use]
pub fn random() -> u64 {
    // Each of these has keys of its own, which come from the kernel's random numbers.
    RandomState::new().hash_one(std::process::id())
}
