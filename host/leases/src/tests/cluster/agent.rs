//! The steps of an agent, and of the pods on its node.

use super::views::{cidr, hint, id, mark, mark_id, uid};
use super::{Agent, Answered, BLOCKS, Cluster, Hinted, Hold, Id, Pending, Row, Said, Steps, World};
use crate::agent::accept::{AcceptCase, accept};
use crate::agent::compare::{CompareVerdict, compare, is_settled};
use crate::agent::lost::{may_write, rebuild, settle};
use crate::agent::mark::{MarkCase, MarkVerdict, answer};
use crate::tests::explorer::{Step, StepKind};
use crate::{BlockMark, LeaseRule, MarkReason};

impl Cluster {
    pub(super) fn agent_steps(&self, world: &World, node: usize, steps: &mut Vec<Step<World>>) {
        let mut steps =
            Steps { steps, who: ("agent", node), block: None, bounded: self.bounds.wishes.is_some() };
        let agent = &world.agents[node];
        if agent.lost {
            steps.progress("reads NodeIPAM and IPBlocks, and rebuilds its ledger", self.rebuilt(world, node));
        }
        if agent.unsure {
            let mut next = *world;
            next.agents[node].unsure = false;
            for block in 0..BLOCKS {
                let settled = agent.ledger(block).map(|row| settle(row, next.agents[node].usage(block)));
                settled.iter().for_each(|row| next.agents[node].hold(block, Hold::of(row.hold)));
            }
            steps.progress("learns which pods it has", next);
        }
        let said = self.written(world, node);
        if may_write(self.rules, agent.lost) && agent.pending.is_none() && (said.1 || agent.silent) {
            let mut next = *world;
            next.store.said[node] = said.0;
            next.agents[node].silent = false;
            steps.progress("writes its NodeIPAM", next);
        }
        for block in 0..self.bounds.blocks {
            steps.block = Some(block);
            self.pod_steps(world, node, block, &mut steps);
            if !agent.lost || !self.rules.has(LeaseRule::LostReadsFirst) {
                self.read_steps(world, node, block, &mut steps);
                self.mark_steps(world, node, block, &mut steps);
            }
        }
    }

    fn pod_steps(&self, world: &World, node: usize, block: usize, steps: &mut Steps<'_>) {
        let agent = &world.agents[node];
        let mut next = *world;
        if agent.pods[block] {
            next.agents[node].pods[block] = false;
            steps.progress("the last pod of the block ends", next);
        } else if matches!(agent.rows[block], Some(Row { hold: Hold::Open, .. }))
            && !agent.lost
            && !agent.unsure
        {
            next.agents[node].pods[block] = true;
            steps.push(StepKind::Wish, "a pod gets an address", Ok(next));
        }
        let mut next = *world;
        if let Some(mark) = agent.ledger(block).and_then(|row| row.drained()) {
            next.agents[node].hold(block, Hold::Frozen(id(mark.0.into())));
            steps.progress("freezes the drained block", next);
        }
    }

    /// Quorum GETs, and recording what they showed.
    fn read_steps(&self, world: &World, node: usize, block: usize, steps: &mut Steps<'_>) {
        let agent = &world.agents[node];
        let mut next = *world;
        if let Some((pending_block, pending)) = agent.pending {
            if pending_block == block {
                next.agents[node].pending = None;
                record(&mut next.agents[node], block, pending);
                steps.progress("records what it read", next);
            }
            return;
        }
        let fetched = self.fetched(block, world.store.blocks[block]);
        let hinted = world.store.hints[node][block];
        let Some(row) = agent.ledger(block) else {
            let Some(hinted) = hinted else { return };
            let case = AcceptCase {
                me: &self.nodes[node],
                hint: hint(block, hinted),
                block: &fetched,
                space: Some(&self.space),
                dropped: agent.has_dropped(block, hinted.uid),
                ledger: &[],
                is_full: false,
            };
            if accept(self.rules, &case).is_ok() {
                next.agents[node].pending = Some((block, Pending::Accept(hinted.uid)));
                steps.progress("GETs the block that is hinted to it", next);
            }
            return;
        };
        let seen = hinted.map(|hinted| (uid(block, hinted.uid), hinted.mark.map(|(id, _)| mark_id(id))));
        if !self.rules.has(LeaseRule::UnfreezeByGet) && is_settled(&row, seen) {
            let row = next.agents[node].rows[block].as_mut().expect("there is a row");
            row.hold = Hold::Open;
            steps.progress("unfreezes at the hint", next);
            return;
        }
        let pending = match compare(self.rules, &self.nodes[node], &row, &fetched) {
            CompareVerdict::Keep | CompareVerdict::Reassert => return,
            CompareVerdict::Open => Pending::Open,
            CompareVerdict::Rebind(uid) => Pending::Rebind(id(uid.0)),
            CompareVerdict::Refreeze(mark) => Pending::Freeze(id(mark.0.into())),
            CompareVerdict::Contest => Pending::Contest,
            CompareVerdict::Drop => Pending::Drop,
        };
        next.agents[node].pending = Some((block, pending));
        steps.progress("GETs its block and compares", next);
    }

    fn mark_steps(&self, world: &World, node: usize, block: usize, steps: &mut Steps<'_>) {
        let Some(Hinted { uid: lease, mark: Some((id, why)) }) = world.store.hints[node][block] else {
            return;
        };
        let agent = &world.agents[node];
        let case = MarkCase {
            uid: uid(block, lease),
            mark: mark((id, why)),
            row: agent.ledger(block),
            dropped: agent.has_dropped(block, lease),
            accepting: matches!(agent.pending, Some((pending, _)) if pending == block),
            lost: agent.lost || agent.unsure,
            other_open: agent.open(Some(block)) + u32::from(self.bounds.spare),
            keeps_reserve: true,
        };
        let mut next = *world;
        let verdict = answer(self.rules, &case);
        match verdict {
            MarkVerdict::Freeze if !self.rules.has(LeaseRule::AtomicFreeze) => {
                if agent.pending.is_none() {
                    next.agents[node].pending = Some((block, Pending::Freeze(id)));
                }
            }
            MarkVerdict::Freeze if !self.rules.has(LeaseRule::FreezeFirst) => {
                if agent.pending.is_none() {
                    next.agents[node].pending = Some((block, Pending::Freeze(id)));
                    next.store.said[node][block].ack = Some((lease, id, Answered::Ready));
                }
            }
            MarkVerdict::Freeze => next.agents[node].hold(block, Hold::Frozen(id)),
            MarkVerdict::Cordon => next.agents[node].hold(block, Hold::Cordoned(id)),
            MarkVerdict::Look => return,
            MarkVerdict::Bury => next.agents[node].dropped[block] |= 1 << lease,
            MarkVerdict::Answer(answer) => {
                if world.store.said[node][block].ack.is_none_or(|(uid, mark, _)| (uid, mark) != (lease, id)) {
                    next.store.said[node] = self.written(world, node).0;
                    next.store.said[node][block].ack = Some((lease, id, Answered::of(answer)));
                }
            }
        }
        if next != *world {
            steps.push(
                StepKind::Progress,
                "answers the mark",
                took_last(self, agent, &next.agents[node], &case.mark).map_or(Ok(next), Err),
            );
        }
    }

    /// The NodeIPAM's spec as the ledger has it, and whether that differs from what is written.
    fn written(&self, world: &World, node: usize) -> ([Said; BLOCKS], bool) {
        let agent = &world.agents[node];
        let mut said = world.store.said[node];
        for (block, said) in said.iter_mut().enumerate() {
            let standing = agent.ledger(block).and_then(|row| row.standing_ack());
            let hinted = world.store.hints[node][block].and_then(|hinted| Some((hinted.uid, hinted.mark?.0)));
            said.held = agent.rows[block].map_or(0, |row| row.uid);
            let hint = world.store.hints[node][block]
                .filter(|hint| agent.rows[block].is_none() && agent.has_dropped(block, hint.uid));
            said.returned = hint.map_or(0, |hint| hint.uid);
            said.ack = match standing {
                // The answer to the present mark stands before one to a lease that is over; the real list has room for both.
                Some(ack)
                    if said.ack.is_none_or(|(lease, mark, _)| {
                        Some((lease, mark)) != hinted || uid(block, lease) == ack.uid
                    }) =>
                {
                    Some((id(ack.uid.0), id(ack.mark.0.into()), Answered::of(ack.answer)))
                }
                // An answer goes when its mark is settled.
                _ => said.ack.filter(|(uid, mark, _)| Some((*uid, *mark)) == hinted),
            };
        }
        (said, said != world.store.said[node])
    }

    fn rebuilt(&self, world: &World, node: usize) -> World {
        let mut next = *world;
        let said = self.spec(node, &world.store.said[node]);
        for block in 0..BLOCKS {
            let lease = world.store.blocks[block].map(|lease| self.block(block, lease));
            let row = lease.and_then(|lease| rebuild(self.rules, &self.nodes[node], &lease, Some(&said)));
            debug_assert!(row.is_none_or(|row| row.cidr == cidr(block)), "a row of its block");
            next.agents[node].rows[block] =
                row.map(|row| Row { uid: id(row.uid.0), hold: Hold::of(row.hold) });
        }
        next.agents[node].lost = false;
        next.agents[node].unsure = true;
        next
    }
}

impl Agent {
    fn has_dropped(&self, block: usize, uid: Id) -> bool {
        self.dropped[block] & (1 << uid) != 0
    }

    /// Open blocks besides one.
    fn open(&self, except: Option<usize>) -> u32 {
        let open = |(block, row): (usize, &Option<Row>)| {
            Some(block) != except && matches!(row, Some(Row { hold: Hold::Open, .. }))
        };
        self.rows.iter().enumerate().map(|row| u32::from(open(row))).sum()
    }

    fn hold(&mut self, block: usize, hold: Hold) {
        if let Some(row) = &mut self.rows[block] {
            row.hold = hold;
        }
    }
}

fn record(agent: &mut Agent, block: usize, pending: Pending) {
    let old = agent.rows[block].map_or(0, |row| row.uid);
    match pending {
        Pending::Accept(uid) => agent.rows[block] = Some(Row { uid, hold: Hold::Open }),
        Pending::Open => agent.hold(block, Hold::Open),
        Pending::Contest => agent.hold(block, Hold::Contested),
        Pending::Freeze(mark) => agent.hold(block, Hold::Frozen(mark)),
        Pending::Rebind(uid) => {
            agent.rows[block] = Some(Row { uid, hold: Hold::Open });
            agent.dropped[block] = (agent.dropped[block] | 1 << old) & !(1 << uid);
        }
        Pending::Drop => {
            agent.rows[block] = None;
            agent.dropped[block] |= 1 << old;
        }
    }
}

/// Whether a mark took a node's last open block, other than for a pool that is being deleted.
fn took_last(model: &Cluster, before: &Agent, after: &Agent, mark: &BlockMark) -> Option<&'static str> {
    let last = !model.bounds.spare && before.open(None) > 0 && after.open(None) == 0;
    (last && mark.why != MarkReason::Retire).then_some("a mark took a node's last open block")
}
