//! Grants: lost leases are made again for their holders, and then each node gets the blocks that it wants.

pub(super) mod reasons;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_cluster::NodeIPAM;
use tenure_cluster::convert::BlockLease;
use tenure_leases::operator::grant::{
    GrantCandidate, GrantCase, GrantCell, GrantRefusal, entitle, grant, sort_candidates,
};
use tenure_leases::operator::held::{ClaimantState, HeldVerdict, heir};
use tenure_leases::space::overlap;
use tenure_leases::{AddressSpace, MarkAck, MarkAnswer, PoolDemand, RangeId, RangeState, RangeUse};

use self::reasons::{QUOTA, invalid_selector, no_block, no_range, only_own, refused, unreadable_pool};
use super::attested::attested_off;
use super::held::{HeldClaim, HeldClaims};
use super::{FamilyKey, WaitReason, WaitingNodes, in_turn};
use crate::memory::{OperatorMemory, WaitingNode};
use crate::reports::{EventReason, EventSubject, Notice};
use crate::view::{BlockView, ClusterView, PoolView, SaidView, is_ipv6};
use crate::writes::OperatorWrite;

/// The most free cells of a range that are compared for one grant.
const CANDIDATES: usize = 256;

/// The most grants of one pass. Each is a call, and meanwhile the pass decides about nothing else, nor does a node hear of its block. The watch shows
/// the grants, so that the next pass begins at once.
const MAX_GRANTS: usize = 500;

/// The grants, and who waits for one.
#[derive(Debug, Default)]
pub(super) struct GrantDecisions {
    pub(super) writes: Vec<OperatorWrite>,
    pub(super) waiting: WaitingNodes,
    /// The nodes that want a block, whether they get one or not.
    pub(super) wanting: BTreeSet<WaitingNode>,
    /// The nodes that get a block in this pass. What they have before it is not what they are to be told.
    pub(super) served: BTreeSet<Arc<str>>,
    /// The nodes that get one in one of the next passes.
    pub(super) postponed: BTreeSet<Arc<str>>,
    pub(super) notices: Vec<Notice>,
}

/// A grant under way: the snapshot, and what this pass has granted so far.
struct Granting<'a> {
    view: &'a ClusterView,
    memory: &'a OperatorMemory,
    claims: &'a HeldClaims,
    /// Blocks that exist, that are held, or that this pass grants.
    taken: HashMap<String, HashSet<IpNet>>,
    /// The overlap groups and addresses of blocks that this pass grants, by node.
    granted: BTreeMap<String, Vec<(String, IpNet)>>,
    /// Blocks of each pool and family, with those that this pass grants.
    counts: BTreeMap<FamilyKey, u32>,
    /// Blocks without an IPBlock that a node is believed to hold: their leases will be made again.
    believed: BTreeMap<WaitingNode, u32>,
    /// The same of all pools, by node.
    totals: BTreeMap<String, usize>,
    /// The cells at the beginning of each range of which none is free.
    used_up: BTreeMap<RangeId, usize>,
    /// The grants so far, without the leases that are made again, and the last node that got one.
    count: usize,
    last: Option<Arc<str>>,
    decisions: GrantDecisions,
}

/// A node's blocks of a pool and family.
#[derive(Debug, Clone, Copy)]
struct NodeBlocks {
    /// The number that counts for its demand.
    have: u32,
    /// The number that it may keep, which its quota is about.
    kept: u32,
}

/// Decides on all grants of a pass.
pub(super) fn grants(
    view: &ClusterView,
    claims: &HeldClaims,
    memory: &mut OperatorMemory,
    now: Duration,
) -> GrantDecisions {
    let lost =
        |claim: &&HeldClaim| claim.verdict == HeldVerdict::Reclaim && claim.claimant == ClaimantState::Alive;
    for claim in claims.blocks.values().flatten().filter(lost) {
        memory.lost_lease(&claim.node, claim.uid, now);
    }
    compare_claims(view, memory, claims, now);
    let blocks = view.blocks.iter().map(|view| (view.group.clone(), view.block.cidr));
    let believed = claims.blocks.iter().filter(|(_, claims)| claims.iter().any(HeldClaim::is_believed));
    let (mut taken, mut counts) = (HashMap::<String, HashSet<IpNet>>::new(), BTreeMap::new());
    // The name of an IPBlock that cannot be read is taken, too.
    let unreadable = view.unreadable_blocks.iter().cloned();
    for (group, cidr) in blocks.chain(unreadable).chain(believed.map(|(place, _)| place.clone())) {
        taken.entry(group).or_default().insert(cidr);
    }
    let (mut held, mut totals) = (BTreeMap::<WaitingNode, u32>::new(), BTreeMap::<String, usize>::new());
    for ((_, cidr), claims) in &claims.blocks {
        for claim in claims.iter().filter(|claim| claim.is_believed()) {
            *totals.entry(claim.node.clone()).or_default() += 1;
            if let Some(pool) = claim.pool {
                let key = (pool, is_ipv6(*cidr));
                *held.entry((claim.node.clone(), key)).or_default() += 1;
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    for view in &view.blocks {
        *counts.entry((view.block.pool.uid, is_ipv6(view.block.cidr))).or_default() += 1;
    }
    let mut granting = Granting {
        view,
        memory,
        claims,
        taken,
        granted: BTreeMap::new(),
        counts,
        believed: held,
        totals,
        used_up: BTreeMap::new(),
        count: 0,
        last: None,
        decisions: GrantDecisions::default(),
    };
    granting.ignored();
    granting.reclaims();
    for (_, said) in in_turn(&view.said, &memory.granted_last) {
        for demand in &said.spec.demand {
            granting.demand(said, demand);
        }
    }
    let Granting { decisions, last, .. } = granting;
    if let Some(last) = last.filter(|_| !decisions.postponed.is_empty()) {
        memory.granted_last = last;
    }
    decisions
}

/// Compares the claims with those of the view before.
fn compare_claims(view: &ClusterView, memory: &mut OperatorMemory, claims: &HeldClaims, now: Duration) {
    let claimed =
        claims.blocks.iter().flat_map(|((_, cidr), of)| of.iter().map(|claim| (claim.node.clone(), *cidr)));
    let is_accounted = |node: &str, cidr: IpNet| {
        let says = view.said.get(node).is_some_and(|said| said.spec.held_uid(cidr).is_some());
        let mut leased = view.by_node.get(node).into_iter().flatten().filter_map(|at| view.blocks.get(*at));
        says || leased.any(|leased| leased.block.cidr == cidr)
    };
    memory.compare_claims(claimed.collect(), is_accounted, now);
}

impl Granting<'_> {
    /// Makes each lost lease again for the node that holds the block.
    fn reclaims(&mut self) {
        if !self.may_grant() {
            return;
        }
        for ((group, cidr), claims) in &self.claims.blocks {
            let verdicts: Vec<_> = claims.iter().map(|claim| (claim.claimant, claim.verdict)).collect();
            let Some(claim) = heir(&verdicts).and_then(|position| claims.get(position)) else { continue };
            let range = self.view.spaces.get(&**group).and_then(|space| space.space.grid(*cidr));
            let pool = claim.pool.and_then(|pool| self.view.pool(pool));
            let (Some(range), Some(said), Some(pool)) = (range, self.view.said.get(&*claim.node), pool)
            else {
                continue;
            };
            tracing::warn!("makes the lost lease of {cidr} again for node {}", claim.node);
            let lease = lease(pool, said, range.id, *cidr);
            self.decisions.writes.push(OperatorWrite::Reclaim(lease));
        }
    }

    /// Reports the claims that are not believed, and those of which no lease is made again.
    fn ignored(&mut self) {
        for ((_, cidr), claims) in &self.claims.blocks {
            for claim in claims.iter().filter(|claim| claim.claimant == ClaimantState::Alive) {
                let (reason, why) = match claim.verdict {
                    HeldVerdict::Ignored => {
                        (EventReason::HeldIgnored, "is not believed: the block is outside its pools")
                    }
                    HeldVerdict::AboveQuota => (
                        EventReason::HeldAboveQuota,
                        "has its quota without it: nobody else gets the block, and its lease is not made again",
                    ),
                    HeldVerdict::Foreign => (
                        EventReason::HeldForeign,
                        "is of no pool: no block that has one of its addresses is granted",
                    ),
                    HeldVerdict::Free | HeldVerdict::Taken | HeldVerdict::Reclaim => continue,
                };
                let Some(said) = self.view.said.get(&*claim.node) else { continue };
                let subject = subject(said);
                let node = &claim.node;
                let note =
                    format!("node {node} says that it holds {cidr}, of which there is no IPBlock, and {why}");
                self.decisions.notices.push(Notice::new(reason, subject, note));
            }
        }
    }

    /// Grants what a node wants of one pool in one family.
    fn demand(&mut self, said: &SaidView, demand: &PoolDemand) {
        let key = (demand.pool.uid, demand.is_ipv6);
        let NodeBlocks { mut have, mut kept } = self.blocks_of(said, key, demand.want);
        if have < demand.want {
            self.decisions.wanting.insert((said.spec.identity.name.to_string(), key));
        }
        while have < demand.want {
            match self.one(said, demand, NodeBlocks { have, kept }) {
                Ok(_) if self.is_full() => {
                    self.decisions.postponed.insert(Arc::clone(&said.spec.identity.name));
                    return;
                }
                Ok(lease) => {
                    self.count += 1;
                    self.last = Some(Arc::clone(&said.spec.identity.name));
                    self.decisions.served.insert(Arc::clone(&said.spec.identity.name));
                    self.taken.entry(lease.group.clone()).or_default().insert(lease.cidr);
                    let granted = self.granted.entry(lease.holder.name.to_string()).or_default();
                    granted.push((lease.group.clone(), lease.cidr));
                    *self.counts.entry(key).or_default() += 1;
                    *self.totals.entry(lease.holder.name.to_string()).or_default() += 1;
                    self.decisions.writes.push(OperatorWrite::Grant(lease));
                    (have, kept) = (have + 1, kept + 1);
                }
                Err(reason) => {
                    if reason.reason == QUOTA {
                        let note = format!("pool {}: {}", demand.pool.name, reason.message);
                        let notice = Notice::new(EventReason::QuotaReached, subject(said), note);
                        self.decisions.notices.push(notice);
                    }
                    let waiting = self.decisions.waiting.entry(key).or_default();
                    waiting.insert(said.spec.identity.name.to_string(), reason);
                    return;
                }
            }
        }
    }

    /// Whether the pass grants nothing more.
    fn is_full(&self) -> bool {
        self.count >= MAX_GRANTS
    }

    /// Picks one block for a node, or says why there is none.
    fn one(
        &mut self,
        said: &SaidView,
        demand: &PoolDemand,
        blocks: NodeBlocks,
    ) -> Result<BlockLease, WaitReason> {
        if !self.may_grant() {
            return Err(refused(&GrantRefusal::Barrier));
        }
        let view = self.view;
        if view.unreadable_pools.contains_key(&demand.pool.uid) {
            return Err(unreadable_pool(&demand.pool.name));
        }
        let pool = view.pool(demand.pool.uid).ok_or_else(|| WaitReason {
            reason: "PoolGone",
            message: format!("there is no pool {} with the uid that the node names", demand.pool.name),
        })?;
        if pool.selector.is_none() {
            return Err(invalid_selector(pool));
        }
        if let Some(reason) = attested_off(view, &said.spec) {
            return Err(reason);
        }
        let case = GrantCase {
            barrier_passed: true,
            pool: &pool.lease,
            node_admitted: view.admits(pool, &said.spec),
            want: demand.want,
            node_blocks: blocks.have,
            kept_blocks: blocks.kept,
            node_total: self.total(said),
            pool_blocks: self.counts.get(&(demand.pool.uid, demand.is_ipv6)).copied().unwrap_or_default(),
        };
        // A pool that is not for the node is not exhausted because of it.
        entitle(&case).map_err(|error| refused(&error))?;
        let space = &view.spaces.get(&*pool.group).ok_or_else(|| no_range(pool))?.space;
        let (range, cidr) = self.candidate(said, demand, pool, space)?;
        let cell = GrantCell { space, range, cidr, held: HeldVerdict::Free };
        grant(&case, &cell).map_err(|error| refused(&error))?;
        Ok(lease(pool, said, range, cidr))
    }

    /// The best free cell of the pool's open ranges, or the reason for which there is none.
    fn candidate(
        &mut self,
        said: &SaidView,
        demand: &PoolDemand,
        pool: &PoolView,
        space: &AddressSpace,
    ) -> Result<(RangeId, IpNet), WaitReason> {
        let open = space.ranges().iter().filter(|range| {
            let usable = range.state == RangeState::Open && range.usage == RangeUse::Blocks;
            usable && range.pool == pool.lease.key && is_ipv6(range.cidr) == demand.is_ipv6
        });
        let mut open = open.peekable();
        if open.peek().is_none() {
            return Err(no_range(pool));
        }
        let (taken, own) = (self.taken.get(&pool.group), self.addresses_elsewhere(said, &pool.group));
        let claims = self.claims;
        let is_free = |cell: &IpNet| {
            let is_taken = taken.is_some_and(|taken| taken.contains(cell)) || space.is_taken(*cell);
            !is_taken && !pool.excluded.cover(*cell) && !claims.is_foreign(&pool.group, *cell)
        };
        // A pass that is full only asks whether there is one.
        let most = if self.is_full() { 1 } else { CANDIDATES };
        let (mut candidates, mut has_own) = (Vec::new(), false);
        for range in open {
            let Ok(cells) = range.cidr.subnets(range.unit) else { continue };
            let used_up = self.used_up.entry(range.id).or_default();
            *used_up += cells.skip(*used_up).take_while(|cell| !is_free(cell)).count();
            let free = cells.skip(*used_up).filter(is_free);
            let others = free.filter(|cell| {
                let is_own = own.iter().any(|own| overlap(*own, *cell));
                has_own |= is_own;
                !is_own
            });
            candidates.extend(
                others
                    .take(most)
                    .map(|cidr| GrantCandidate { cidr, released: self.memory.release_of(&pool.group, cidr) }),
            );
        }
        sort_candidates(&said.spec.identity.name, &mut candidates);
        let found = candidates.first().and_then(|first| Some((space.cell(first.cidr)?.id, first.cidr)));
        found.ok_or_else(|| if has_own { only_own(pool) } else { no_block(pool) })
    }

    /// The addresses that a node has, or wants, of other overlap groups. It can have each of them once.
    fn addresses_elsewhere(&self, said: &SaidView, group: &str) -> Vec<IpNet> {
        let blocks = self.view.blocks_of(&said.spec).filter(|view| view.group != group);
        let turns = said.spec.claims.iter().filter(|turn| turn.block.group() != group);
        let held = said.spec.held.iter().filter(|held| held.group.as_deref().is_some_and(|of| of != group));
        let granted = self.granted.get(&*said.spec.identity.name).into_iter().flatten();
        let granted = granted.filter(|(of, _)| of != group).map(|(_, cidr)| *cidr);
        let addresses = blocks.map(|view| view.block.cidr).chain(turns.map(|turn| turn.block.cidr()));
        addresses.chain(held.map(|held| held.cidr)).chain(granted).collect()
    }

    /// A node's blocks of all pools, with those that this pass grants and those that it holds without an IPBlock.
    fn total(&self, said: &SaidView) -> usize {
        let more = self.totals.get(&*said.spec.identity.name).copied().unwrap_or_default();
        self.view.blocks_of(&said.spec).count().saturating_add(more)
    }

    fn may_grant(&self) -> bool {
        self.memory.barrier.may_grant() && !self.view.words_missing
    }

    /// A node's blocks of a pool and family that count for its demand.
    ///
    /// A block that leaves counts for as long as the node counts it, too: until it has answered for it, what it wants is at least what it holds, and each
    /// replacement that it holds would have it granted another one. With no other block, it is one short, so that one replacement comes first.
    fn blocks_of(&self, said: &SaidView, (pool, ipv6): FamilyKey, want: u32) -> NodeBlocks {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let own = self.view.blocks_of(&said.spec);
        let own = own.filter(|view| view.block.pool.uid == pool && is_ipv6(view.block.cidr) == ipv6);
        let stays = |view: &&BlockView| !view.block.deleting && self.view.serves(view);
        let (staying, leaving): (Vec<&BlockView>, Vec<&BlockView>) = own.partition(stays);
        let node = (said.spec.identity.name.to_string(), (pool, ipv6));
        let believed = self.believed.get(&node).copied().unwrap_or_default();
        let staying = number(staying.len()).saturating_add(believed);
        let counted = number(leaving.into_iter().filter(|view| is_counted(said, view)).count());
        let have = match staying {
            0 => counted.min(want.saturating_sub(1)),
            _ => staying.saturating_add(counted),
        };
        NodeBlocks { have, kept: staying }
    }
}

/// Whether a node counts a block among those that it keeps.
fn is_counted(said: &SaidView, view: &BlockView) -> bool {
    let (uid, spec) = (view.block.uid, &said.spec);
    let is_leaving = |ack: &MarkAck| ack.uid == uid && !matches!(ack.answer, MarkAnswer::Refused(_));
    spec.held_uid(view.block.cidr) == Some(uid) && !spec.acks.iter().any(is_leaving)
}

fn subject(said: &SaidView) -> EventSubject {
    EventSubject::named::<NodeIPAM>("NodeIPAM", &said.spec.identity.name, said.uid.to_string())
}

fn lease(pool: &PoolView, said: &SaidView, range: RangeId, cidr: IpNet) -> BlockLease {
    BlockLease {
        group: pool.group.clone(),
        cidr,
        range,
        pool: pool.lease.key.clone(),
        holder: said.spec.identity.clone(),
    }
}
