//! The steps of a leader: read and decide, then write.

use super::views::{RANGE, cidr, hint, id};
use super::{Cluster, Hinted, Id, LEADERS, Lease, NODES, Plan, Steps, World, Write};
use crate::operator::barrier::LeaderHandover;
use crate::operator::grant::{GrantCase, GrantCell, grant};
use crate::operator::held::{ClaimantState, HeldCase, HeldVerdict, is_contested, judge_missing};
use crate::operator::release::{ReleaseCase, ReleaseStep, release};
use crate::tests::explorer::{Step, StepKind};
use crate::{LeaseRule, MarkReason};

impl Cluster {
    pub(super) fn leader_steps(&self, world: &World, leader: usize, steps: &mut Vec<Step<World>>) {
        let mut steps =
            Steps { steps, who: ("leader", leader), block: None, bounded: self.bounds.wishes.is_some() };
        let me = &world.leaders[leader];
        if let Some(plan) = me.plan {
            steps.block = Some(plan.block);
            self.write_steps(world, leader, plan, &mut steps);
            return;
        }
        let mut agents = world.agents.iter().map(|agent| !agent.silent);
        let heard = match self.rules.has(LeaseRule::EveryNodeHeard) {
            true => agents.all(|heard| heard),
            false => agents.any(|heard| heard),
        };
        // A leader is away for as long as may be, so the Lease that it finds is never fresh.
        let handover = LeaderHandover {
            age_seconds: i64::MAX,
            is_doubted: false,
            is_same_server: world.store.server == world.restores + 1,
        };
        let is_known = world.store.server > 0 && !handover.is_suspect(self.rules);
        if !me.passed && (heard || is_known || !self.rules.has(LeaseRule::Barrier)) {
            let mut next = *world;
            next.leaders[leader].passed = true;
            next.store.server = world.restores + 1;
            steps.progress("passes its barrier", next);
        }
        for block in 0..self.bounds.blocks {
            steps.block = Some(block);
            let mut plan = |kind, uid, write, what| {
                let mut next = *world;
                next.leaders[leader].plan = Some(Plan { block, uid, current: true, write });
                steps.push(kind, what, Ok(next));
            };
            let lease = world.store.blocks[block];
            for node in 0..NODES {
                if world.store.hints[node][block].is_some() && lease.is_none_or(|lease| lease.node != node) {
                    plan(StepKind::Progress, 0, Write::Hint(node, None), "sees a hint to nothing");
                }
            }
            match lease {
                None => self.grants(world, leader, block, &mut plan),
                Some(lease) => self.releases(world, leader, block, lease, &mut plan),
            }
        }
    }

    fn grants(
        &self,
        world: &World,
        leader: usize,
        block: usize,
        plan: &mut impl FnMut(StepKind, Id, Write, &'static str),
    ) {
        let verdicts: [HeldVerdict; NODES] = std::array::from_fn(|node| {
            let said = self.spec(node, &world.store.said[node]);
            let case = HeldCase {
                space: &self.space,
                cidr: cidr(block),
                said: &said,
                claimant: ClaimantState::Alive,
                pool: Some(&self.pool),
                selected: true,
                ended: false,
                is_unclear: false,
                counted: 0,
                foreign_cells: 0,
            };
            judge_missing(self.rules, &case)
        });
        for node in 0..NODES {
            let others = verdicts.iter().enumerate().filter(|(other, _)| *other != node);
            let of_others = others.map(|(_, verdict)| *verdict).find(|verdict| *verdict != HeldVerdict::Free);
            let passed = world.leaders[leader].passed;
            match verdicts[node] {
                HeldVerdict::Reclaim if passed && of_others.is_none() => {
                    plan(StepKind::Progress, 0, Write::Create(node), "sees a lost lease");
                }
                HeldVerdict::Free | HeldVerdict::Ignored => {
                    let case = GrantCase {
                        barrier_passed: passed,
                        pool: &self.pool,
                        node_admitted: true,
                        want: 2,
                        node_blocks: 0,
                        kept_blocks: 0,
                        node_total: 0,
                        pool_blocks: 0,
                    };
                    let cell = GrantCell {
                        space: &self.space,
                        range: RANGE,
                        cidr: cidr(block),
                        held: of_others.unwrap_or(HeldVerdict::Free),
                    };
                    if grant(&case, &cell).is_ok() {
                        plan(StepKind::Progress, 0, Write::Create(node), "picks a free block for a node");
                    }
                }
                HeldVerdict::Taken
                | HeldVerdict::AboveQuota
                | HeldVerdict::Foreign
                | HeldVerdict::Reclaim => {}
            }
        }
    }

    fn releases(
        &self,
        world: &World,
        leader: usize,
        block: usize,
        lease: Lease,
        plan: &mut impl FnMut(StepKind, Id, Write, &'static str),
    ) {
        let object = self.block(block, lease);
        let specs: [_; NODES] = std::array::from_fn(|node| self.spec(node, &world.store.said[node]));
        let me = &world.leaders[leader];
        let own =
            lease.mark.is_some_and(|(id, _)| me.own[block] == id) || !self.rules.has(LeaseRule::OwnMark);
        let contested = is_contested(self.rules, &object, &specs).then_some(MarkReason::Drain);
        let returned = world.store.said[lease.node][block].returned == lease.uid
            && self.rules.has(LeaseRule::AskGivenUp);
        let asked = contested.or(returned.then_some(MarkReason::Drain));
        let standing = lease.mark.map(|(_, why)| why).or(asked);
        let mut decided = Vec::new();
        let mut decide = |kind, wanted| {
            let said = &specs[lease.node];
            let case = ReleaseCase {
                block: &object,
                hint: world.store.hints[lease.node][block].map(|hinted| hint(block, hinted)),
                acks: if said.counts_for(&object) { &said.acks } else { &[] },
                own,
                wanted,
                may_clear: me.passed && contested.is_none(),
                timed_out: false,
                refused_lately: false,
            };
            let write = match release(self.rules, &case) {
                ReleaseStep::Wait => return,
                ReleaseStep::Mark(why) => Write::Mark(why),
                ReleaseStep::Clear(mark) => Write::Clear(id(mark.0.into())),
                ReleaseStep::Delete => Write::Delete,
                ReleaseStep::RemoveFinalizer => Write::RemoveFinalizer,
                ReleaseStep::Hint(_) => {
                    Write::Hint(lease.node, Some(Hinted { uid: lease.uid, mark: lease.mark }))
                }
            };
            if !decided.contains(&write) {
                decided.push(write);
                plan(kind, lease.uid, write, what(write));
            }
        };
        decide(StepKind::Progress, standing);
        // A change of mind, and new wishes.
        decide(StepKind::Wish, asked);
        if lease.mark.is_none() && !lease.deleting {
            self.bounds.reasons.iter().for_each(|why| decide(StepKind::Wish, Some(*why)));
        }
    }

    fn write_steps(&self, world: &World, leader: usize, plan: Plan, steps: &mut Steps<'_>) {
        let mut next = *world;
        next.leaders[leader].plan = None;
        let block = plan.block;
        let lease = world.store.blocks[block];
        let same = lease.is_some_and(|lease| lease.uid == plan.uid);
        let versioned = self.rules.has(LeaseRule::DeleteVersion);
        let valid = match plan.write {
            Write::Create(_) => lease.is_none() || !self.rules.has(LeaseRule::NameIsMutex),
            Write::Mark(_) | Write::Clear(_) => same && plan.current,
            Write::Delete | Write::RemoveFinalizer => same && (plan.current || !versioned),
            Write::Hint(..) => true,
        };
        if !valid {
            steps.progress("is told of a conflict", next);
            return;
        }
        if !matches!(plan.write, Write::Hint(..)) {
            for other in 0..LEADERS {
                if let Some(plan) = next.leaders[other].plan.as_mut().filter(|plan| plan.block == block) {
                    plan.current = false;
                }
            }
        }
        let in_use = lease.is_some_and(|lease| world.agents[lease.node].uses(block, lease.uid));
        let stored = &mut next.store.blocks[block];
        match plan.write {
            Write::Create(node) => {
                let uid = world.unused_uid(block);
                *stored = Some(Lease { uid, node, mark: None, cleared: 0, deleting: false });
            }
            Write::Mark(why) => {
                let id = world.unused_mark(block);
                *stored = stored.map(|lease| Lease { mark: Some((id, why)), ..lease });
                if world.faults > 0 {
                    let mut lost = next;
                    lost.faults -= 1;
                    steps.push(StepKind::Fault, "writes a mark, and the reply is lost", Ok(lost));
                }
                next.leaders[leader].own[block] = id;
            }
            Write::Clear(cleared) => {
                *stored = stored.map(|lease| Lease { mark: None, cleared, ..lease });
            }
            Write::Delete | Write::RemoveFinalizer if in_use => {
                let what = "a block was taken from a holder that uses it";
                steps.push(StepKind::Progress, "deletes the block", Err(what));
                return;
            }
            Write::Delete if !self.bounds.finalizers => *stored = None,
            Write::Delete => *stored = stored.map(|lease| Lease { deleting: true, ..lease }),
            Write::RemoveFinalizer => *stored = None,
            Write::Hint(node, hinted) => next.store.hints[node][block] = hinted,
        }
        steps.progress(what_is_written(plan.write), next);
    }
}

impl super::Agent {
    /// Whether the node uses a lease, or may before it looks again.
    fn uses(&self, block: usize, lease: Id) -> bool {
        use super::{Hold, Pending, Row};
        let row = matches!(self.rows[block], Some(Row { uid, hold }) if uid == lease && !matches!(hold, Hold::Frozen(_)));
        let pending = self.pending == Some((block, Pending::Accept(lease)))
            || self.pending == Some((block, Pending::Rebind(lease)));
        row || pending || self.pods[block]
    }
}

fn what(write: Write) -> &'static str {
    match write {
        Write::Create(_) => "decides to create the block",
        Write::Mark(_) => "decides to mark the block",
        Write::Clear(_) => "decides to clear the mark",
        Write::Delete => "decides to delete the block",
        Write::RemoveFinalizer => "decides to remove the finalizer",
        Write::Hint(..) => "decides to patch the hint",
    }
}

fn what_is_written(write: Write) -> &'static str {
    match write {
        Write::Create(0) => "creates the block for node A",
        Write::Create(_) => "creates the block for node B",
        Write::Mark(_) => "writes a mark",
        Write::Clear(_) => "clears the mark",
        Write::Delete => "deletes the block",
        Write::RemoveFinalizer => "removes the finalizer",
        Write::Hint(0, _) => "patches the hint to node A",
        Write::Hint(..) => "patches the hint to node B",
    }
}
