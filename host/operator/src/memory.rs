//! A leader's memory: its barrier, its marks, its counts of time, and its own last writes. A successor begins without it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_cluster::{IPAMClaim, OwnerPodShape};
use tenure_leases::operator::barrier::LeaderBarrier;
use tenure_leases::operator::held::ClaimantState;
use tenure_leases::operator::release::MARK_TIMEOUT_SECONDS;
use tenure_leases::operator::signs::RestoreSigns;
use tenure_leases::{
    BlockPhase, CallId, LeaseRules, MarkAnswer, MarkId, MarkReason, ObjectVersion, TurnId, Uid,
};

use crate::view::{
    BlockView, ClaimView, ClusterView, HostView, ObjectAge, PoolView, SaidView, SpaceView, ViewSources,
    WrittenObjects,
};

/// Seconds for which a block whose holder refused a mark is not marked again. A node that holds a further block is asked at once whether another one may
/// drain now.
pub const RELEASE_DELAY_SECONDS: u64 = 1800;

/// The longest time between two looks at the store's version.
const COMPARE: Duration = Duration::from_secs(60);

/// A node that wants a block, and the pool's uid and family.
pub type WaitingNode = (String, (Uid, bool));

/// The count of a block's quarantine.
#[derive(Debug, Clone, Copy)]
struct QuarantineCount {
    /// The seconds in the block's status from which the count goes on.
    written: u64,
    since: Duration,
}

/// The first claims, and the first block of a claim, of which a pass left a write out; the next pass begins with them.
#[derive(Debug, Default)]
pub struct ClaimsLeft {
    /// The AddressClaim.
    pub address: Option<ObjectAge>,
    /// The IPAMClaim.
    pub ipam: Option<ObjectAge>,
    /// The name of the block.
    pub block: Option<String>,
}

impl ClaimsLeft {
    /// Whether a write was left out.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.address.is_some() || self.ipam.is_some() || self.block.is_some()
    }
}

/// The memory of one leader.
#[derive(Debug, Default)]
pub struct OperatorMemory {
    /// Whether the leader may grant, and which marks it wrote itself.
    pub barrier: LeaderBarrier,
    /// The leader's writes of pools.
    pub pools: WrittenObjects<PoolView>,
    /// The leader's writes of spaces.
    pub spaces: WrittenObjects<SpaceView>,
    /// The leader's writes of blocks.
    pub blocks: WrittenObjects<BlockView>,
    /// The leader's writes of claims.
    pub claims: WrittenObjects<ClaimView>,
    /// The leader's writes of IPAMClaims.
    pub ipam_claims: WrittenObjects<IPAMClaim>,
    /// The leader's writes of nodes' hints.
    pub said: WrittenObjects<SaidView>,
    /// The leader's writes of Nodes.
    pub hosts: WrittenObjects<HostView>,
    /// The last node whose hints a pass wrote that had too many to write; the next pass begins after it.
    pub hinted: Arc<str>,
    /// The same of the last node that got a block in a pass that had too many to grant.
    pub granted_last: Arc<str>,
    /// The place where a pass stopped that had too many writes about claims.
    pub claims_left: ClaimsLeft,
    /// Whether a CustomResourceDefinition of ours is being deleted, or that is not known: then nothing is asked back.
    pub definitions_unsure: bool,
    /// The same about the definition of IPAMClaims: then none of them is over.
    pub ipam_claims_unsure: bool,
    /// The shape of the owner's pod in the definition of IPAMClaims, once it has been read.
    pub owner_pod: Option<OwnerPodShape>,
    marked: BTreeMap<MarkId, Duration>,
    answered: BTreeMap<MarkId, MarkAnswer>,
    wanting: BTreeMap<WaitingNode, Duration>,
    refused: BTreeMap<(Uid, &'static str), Duration>,
    /// The leases that the holder of a block said that it holds when the block was marked last, for this reason.
    asked: BTreeMap<(Uid, &'static str), BTreeSet<Uid>>,
    quarantined: BTreeMap<Uid, QuarantineCount>,
    /// Since when the node of a claim's alternate turn has been gone, by block and turn.
    alternates: BTreeMap<(Uid, TurnId), Duration>,
    unmatched: BTreeMap<(Uid, String), Duration>,
    released: BTreeMap<(String, IpNet), u64>,
    gone: BTreeMap<Uid, Duration>,
    /// Leases of fenced nodes that this leader ended.
    ended: BTreeSet<(String, IpNet)>,
    /// Turns with the addresses of claims, of fenced nodes, that this leader ended.
    ended_turns: BTreeSet<TurnId>,
    signs: RestoreSigns,
    compared: Option<Duration>,
    listings: u64,
    ticked: Option<Duration>,
}

impl OperatorMemory {
    /// Takes what the agents of all Nodes have heard of this leader's call.
    pub fn heard(&mut self, view: &ClusterView) {
        let nodes = view.hosts.iter().filter(|(_, host)| host.may_have_agent);
        let heard = nodes.map(|(node, _)| view.said.get(node).and_then(|said| said.spec.heard));
        self.barrier.heard(LeaseRules::ALL, heard);
    }

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
            // Everything that was written is in the lists, unless the store is another one.
            self.forget_writes();
        }
        self.listings = listings;
        self.barrier.listed();
        interrupted
    }

    /// Whether it is not known if the store is still the one that was read.
    #[must_use]
    pub fn must_compare(&self, now: Duration) -> bool {
        self.compared.is_none_or(|at| now.saturating_sub(at) >= COMPARE)
    }

    /// Notes that the store may be another one.
    pub fn doubt_version(&mut self) {
        self.compared = None;
    }

    /// Notes the highest resourceVersion seen.
    pub fn saw(&mut self, version: Option<ObjectVersion>) {
        self.signs.saw(version);
    }

    /// Compares the store's present version with what was seen: a lower one is a store that was restored. Returns whether it is one.
    pub fn compare_version(&mut self, version: ObjectVersion, now: Duration) -> bool {
        self.compared = Some(now);
        let restored = self.signs.compare_version(version);
        if restored {
            tracing::warn!(
                "the API server's store is older than what was read from it: nothing is granted for a while"
            );
            self.suspect_restore();
        }
        restored
    }

    /// Compares the versions of a view's objects, after an interruption, with those before: an object that is older than it was, or gone although this leader did not end it,
    /// is a sign of a restored store, also if the store's version has been raised since.
    pub fn compare_objects(&mut self, versions: BTreeMap<Uid, ObjectVersion>, interrupted: bool) {
        if self.signs.compare_objects(versions, interrupted) {
            tracing::warn!(
                "objects that were read are older now, or gone: nothing is granted until the nodes had time to say what they hold"
            );
            self.suspect_restore();
        }
    }

    /// Notes an object that this leader ended.
    pub fn ended(&mut self, uid: Uid) {
        self.signs.ended(uid);
    }

    fn forget_writes(&mut self) {
        self.pools = WrittenObjects::default();
        self.spaces = WrittenObjects::default();
        self.blocks = WrittenObjects::default();
        self.claims = WrittenObjects::default();
        self.ipam_claims = WrittenObjects::default();
        self.said = WrittenObjects::default();
        self.hosts = WrittenObjects::default();
    }

    /// Notes a lease that is lost although its holder says that it holds it: a sign of a restored store. One node's word stops the grants once an
    /// hour only, since it may lie; its blocks count as taken all the same.
    pub fn lost_lease(&mut self, node: &str, uid: Uid, now: Duration) {
        if self.signs.lost_lease(node, uid, now) {
            tracing::warn!(
                "node {node} holds a block whose IPBlock {uid} is gone: nothing is granted for a while"
            );
            self.suspect_restore();
        }
    }

    /// Takes the blocks that nodes hold without an IPBlock, each with its node. One that a node no longer holds by its words, although nobody ended the
    /// lease, is a sign that somebody took these words away.
    pub fn compare_claims(
        &mut self,
        claims: BTreeSet<(String, IpNet)>,
        is_accounted: impl Fn(&str, IpNet) -> bool,
        now: Duration,
    ) {
        if let Some(node) = self.signs.compare_claims(claims, is_accounted, now) {
            tracing::warn!(
                "node {node} no longer says that it holds a block whose IPBlock is gone: nothing is granted until it had time to say so again"
            );
            self.suspect_restore();
        }
    }

    /// Notes that this leader deleted the words of a node that is gone.
    pub fn forgot(&mut self, node: &str) {
        self.signs.forgot(node);
    }

    /// Notes that the election found the store doubtful.
    pub fn doubt_store(&mut self) {
        tracing::warn!(
            "the Lease is not the one that a leader of this store would have left: nothing is granted until the nodes had time to say what they hold"
        );
        self.suspect_restore();
    }

    /// Seconds for which a NodeIPAM has been without a Node and without blocks.
    pub fn gone_seconds(&mut self, uid: Uid, now: Duration) -> u64 {
        now.saturating_sub(*self.gone.entry(uid).or_insert(now)).as_secs()
    }

    fn suspect_restore(&mut self) {
        self.barrier.suspect_restore(CallId(random()));
        self.barrier.listed();
        self.ended.clear();
        self.ended_turns.clear();
    }

    /// Notes a mark that the API server confirmed.
    pub fn wrote_mark(&mut self, mark: MarkId, now: Duration) {
        self.barrier.wrote(mark);
        self.marked.insert(mark, now);
    }

    /// Notes that a mark was taken back. Returns whether it had no answer.
    pub fn cleared(&mut self, mark: MarkId) -> bool {
        self.barrier.settled(mark);
        self.marked.remove(&mark);
        self.answered.remove(&mark).is_none()
    }

    /// Notes the answer to a mark. Returns whether it is news.
    pub fn answered(&mut self, mark: MarkId, answer: MarkAnswer) -> bool {
        self.answered.insert(mark, answer) != Some(answer)
    }

    /// Notes who wants a block now.
    pub fn wanting(&mut self, wanting: BTreeSet<WaitingNode>, now: Duration) {
        self.wanting.retain(|key, _| wanting.contains(key));
        for key in wanting {
            self.wanting.entry(key).or_insert(now);
        }
    }

    /// The time for which a node has wanted a block.
    #[must_use]
    pub fn grant_waited(&self, key: &WaitingNode, now: Duration) -> Option<Duration> {
        self.wanting.get(key).map(|since| now.saturating_sub(*since))
    }

    /// Whether a mark has been unanswered for too long.
    #[must_use]
    pub fn is_timed_out(&self, mark: MarkId, now: Duration) -> bool {
        self.marked.get(&mark).is_some_and(|at| now.saturating_sub(*at).as_secs() >= MARK_TIMEOUT_SECONDS)
    }

    /// Notes that a block is marked for this reason, and the leases that its holder says that it holds. A refusal before counts no longer.
    pub fn asks(&mut self, block: Uid, why: MarkReason, held: BTreeSet<Uid>) {
        let key = (block, why.as_str());
        self.refused.remove(&key);
        self.asked.insert(key, held);
    }

    /// Notes that the holder of a block refuses a mark for this reason.
    pub fn refused(&mut self, block: Uid, why: MarkReason, now: Duration) {
        self.refused.entry((block, why.as_str())).or_insert(now);
    }

    /// Whether the holder of a block refused a mark for this reason lately. A refused excess holds no drain back: a block that is in use is refused
    /// as the one, and cordoned as the other. Nor does the refusal to drain a last block count any more once the node holds another one than when it was
    /// asked: that may be the replacement.
    #[must_use]
    pub fn refused_lately(
        &self,
        block: Uid,
        why: MarkReason,
        mut held: impl Iterator<Item = Uid>,
        now: Duration,
    ) -> bool {
        let key = (block, why.as_str());
        let Some(at) = self.refused.get(&key) else { return false };
        let is_further = |uid: Uid| self.asked.get(&key).is_some_and(|asked| !asked.contains(&uid));
        let is_late = now.saturating_sub(*at).as_secs() >= RELEASE_DELAY_SECONDS;
        let has_further = why == MarkReason::Drain && held.any(is_further);
        !is_late && !has_further
    }

    /// Seconds for which a block has been in quarantine since this leader saw or wrote the time in its status, which is `written`. A write whose answer
    /// was lost shows there, too: what it added is not counted again.
    pub fn quarantine_seconds(&mut self, block: Uid, written: u64, now: Duration) -> u64 {
        let count = self.quarantined.entry(block).or_insert(QuarantineCount { written, since: now });
        if count.written != written {
            *count = QuarantineCount { written, since: now };
        }
        now.saturating_sub(count.since).as_secs()
    }

    /// Notes that a block's time in quarantine was written, in seconds, and counts from zero again.
    pub fn wrote_quarantine(&mut self, block: Uid, written: u64, now: Duration) {
        self.quarantined.insert(block, QuarantineCount { written, since: now });
    }

    /// Seconds for which this leader has seen the node of a claim's alternate turn gone. Its successor begins again, which makes the wait longer.
    pub fn alternate_seconds(&mut self, block: Uid, turn: TurnId, now: Duration) -> u64 {
        now.saturating_sub(*self.alternates.entry((block, turn)).or_insert(now)).as_secs()
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

    /// Whether there is a node that a pool's selector does not match.
    #[must_use]
    pub fn has_unmatched(&self) -> bool {
        !self.unmatched.is_empty()
    }

    /// Since when a node has waited to drain because a pool's selector does not match it; `None` while it matches.
    #[must_use]
    pub fn unmatched_since(&self, pool: Uid, node: &str) -> Option<Duration> {
        self.unmatched.get(&(pool, node.to_owned())).copied()
    }

    /// Counts the time for which a pool's selector has not matched a node from now on.
    pub fn wait_for_selector(&mut self, pool: Uid, node: &str, now: Duration) {
        self.unmatched.insert((pool, node.to_owned()), now);
    }

    /// Notes the end of a node's lease, so that its addresses are granted again as late as possible.
    pub fn released(&mut self, group: &str, cidr: IpNet, node: &str) {
        let next = self.released.values().max().map_or(1, |last| last + 1);
        self.released.insert((group.to_owned(), cidr), next);
        self.ended.insert((node.to_owned(), cidr));
    }

    /// Whether this leader ended a node's lease of a block since the node was fenced.
    #[must_use]
    pub fn has_ended(&self, node: &str, cidr: IpNet) -> bool {
        self.ended.contains(&(node.to_owned(), cidr))
    }

    /// Notes that this leader ends a fenced node's turn. A turn never begins again by itself.
    pub fn ends_turn(&mut self, turn: TurnId) {
        self.ended_turns.insert(turn);
    }

    /// Whether this leader ended a fenced node's turn.
    #[must_use]
    pub fn has_ended_turn(&self, turn: TurnId) -> bool {
        self.ended_turns.contains(&turn)
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
            claims: self.claims.over(sources.claims, now),
            ipam_claims: sources.ipam_claims.map(|claims| self.ipam_claims.over(claims, now)),
            said: self.said.over(sources.said, now),
            hosts: self.hosts.over(sources.hosts, now),
        }
    }

    /// Forgets what is about blocks and pools that are gone.
    pub fn forget(&mut self, view: &ClusterView) {
        let blocks: BTreeSet<Uid> = view.all_blocks().map(|view| view.block.uid).collect();
        self.refused.retain(|(uid, _), _| blocks.contains(uid));
        self.asked.retain(|(uid, _), _| blocks.contains(uid));
        let quarantined = view.all_blocks().filter(|view| view.block.phase == BlockPhase::Quarantined);
        let quarantined: BTreeSet<Uid> = quarantined.map(|view| view.block.uid).collect();
        self.quarantined.retain(|uid, _| quarantined.contains(uid));
        let gone =
            view.claim_blocks.iter().filter_map(|of| Some((of, of.claimed.as_ref()?.alternate.as_ref()?)));
        let gone = gone.filter(|(_, alternate)| view.is_gone(&alternate.holder));
        let gone: BTreeSet<_> = gone.map(|(of, alternate)| (of.block.uid, alternate.turn)).collect();
        self.alternates.retain(|turn, _| gone.contains(turn));
        self.unmatched.retain(|(pool, _), _| view.pool(*pool).is_some());
        let marks: BTreeSet<MarkId> =
            view.blocks.iter().filter_map(|view| view.block.mark).map(|mark| mark.id).collect();
        for mark in self.marked.keys().copied().filter(|mark| !marks.contains(mark)).collect::<Vec<_>>() {
            self.cleared(mark);
        }
        self.answered.retain(|mark, _| marks.contains(mark));
        self.signs.keep_nodes(&view.said.keys().map(AsRef::as_ref).collect());
        let said: BTreeSet<Uid> = view.said.values().map(|said| said.uid).collect();
        self.gone.retain(|uid, _| said.contains(uid));
        let turns = view.said.values().flat_map(|said| &said.spec.claims);
        let turns: BTreeSet<TurnId> = turns.map(|turn| turn.turn).collect();
        self.ended_turns.retain(|turn| turns.contains(turn));
        self.ended.retain(|(node, _)| {
            let said = view.said.get(&**node);
            said.is_some_and(|said| view.claimant(&said.spec) == ClaimantState::Fenced)
        });
    }
}

/// A random number: the id of a mark or a range. No two are equal, and no other leader draws the same ones.
#[must_use]
pub fn random() -> u64 {
    // Each of these has keys of its own, which come from the kernel's random numbers.
    RandomState::new().hash_one(std::process::id())
}
