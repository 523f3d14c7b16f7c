//! Releases: which blocks are wanted back, and the operator's half of the handshake.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Leader, Planned, RELEASE_DELAY, count, is_alive};
use crate::block::{MarkAnswer, MarkReason};
use crate::operator::account::capacity;
use crate::operator::held::is_contested;
use crate::operator::release::{MARK_TIMEOUT_SECONDS, ReleaseCase, ReleaseStep, release};
use crate::operator::shrink::{ShrinkCase, wanted_back};
use crate::tests::simulation::Planted;
use crate::tests::simulation::kinds::{kind_of, pool_of};
use crate::tests::simulation::server::{Change, Said, Store, Write};
use crate::{BlockHint, BlockMark, BlockPhase, IpBlock, LeaseRule, MarkId, NodeIpamSpec, RangeState, Uid};

impl Leader {
    pub(super) fn releases(&mut self, cache: &Store, ids: &mut u64, now: u64) {
        let uids: BTreeSet<Uid> = cache.blocks.values().map(|block| block.uid).collect();
        let alive: Vec<&NodeIpamSpec> =
            cache.said.values().map(|said| &said.spec).filter(|spec| is_alive(cache, spec)).collect();
        let inside = |block: &IpBlock| cache.space.admit(block.range, block.cidr).is_ok();
        let capacity_of = |kind: usize| {
            let cells = cache.space.ranges().iter();
            let open = cells.filter(|range| range.state == RangeState::Open && kind_of(range.cidr) == kind);
            let cells = open.map(|range| 1_u64 << (range.unit - range.cidr.prefix_len())).sum();
            let blocks = cache.blocks.values().filter(|block| kind_of(block.cidr) == kind);
            capacity(cells, blocks.map(|block| (block, inside(block))))
        };
        let mut draining: BTreeSet<(usize, Arc<str>)> = cache
            .blocks
            .values()
            .filter(|block| block.mark.is_some())
            .map(|block| (pool_of(block.cidr), Arc::clone(&block.holder.name)))
            .filter(|(pool, name)| cache.pools[*pool].unmatched.contains(name))
            .collect();
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
                let same = kind_of(other.cidr) == kind_of(block.cidr);
                same && other.uid != block.uid && stays && said.spec.held_uid(other.cidr) == Some(other.uid)
            };
            let (pool, counted) = (pool_of(block.cidr), capacity_of(kind_of(block.cidr)));
            let unmatched = self.unmatched.get(&(pool, Arc::clone(&block.holder.name)));
            let case = ShrinkCase {
                unmatched_seconds: unmatched.map(|since| now - since),
                draining_nodes: count(
                    draining.iter().filter(|(of, name)| *of == pool && *name != block.holder.name),
                ),
                block_deleting: block.deleting,
                cidr_removed: !inside(block),
                given_up: said.spec.returned.contains(&block.uid) && self.rules.has(LeaseRule::AskGivenUp),
                contested,
                pool_nodes: 3,
                replacements: count(cache.blocks.values().filter(replaces)),
                not_open: said.spec.gave_up(block.uid) || said.spec.held_uid(block.cidr) != Some(block.uid),
                idle: said.spec.idle.contains(&block.uid),
                release_excess: cache.pools[pool].lease.release_excess,
                free_blocks: u32::try_from(counted.free).unwrap_or(u32::MAX),
                total_blocks: u32::try_from(counted.total).unwrap_or(u32::MAX),
                ..ShrinkCase::default()
            };
            let step = self.release(block, said, wanted_back(&case), contested, now);
            if case.unmatched_seconds.is_some() {
                draining.insert((pool, Arc::clone(&block.holder.name)));
            }
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
            if self.barrier.owns(self.rules, mark.id) && self.barrier.may_grant() && !contested {
                *self.refusals.entry(mark.id).or_default() += 1;
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
}
