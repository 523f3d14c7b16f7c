//! What breaks: crashes, restores and losses; and what people do.

use super::{Agent, Cluster, LEADERS, Leader, NODES, Steps, World};
use crate::tests::explorer::{Step, StepKind};

impl Cluster {
    pub(super) fn fault_steps(&self, world: &World, steps: &mut Vec<Step<World>>) {
        let mut steps =
            Steps { steps, who: ("store", 0), block: None, bounded: self.bounds.wishes.is_some() };
        if self.bounds.deletions {
            for (block, lease) in world.store.blocks.iter().enumerate() {
                if lease.is_some_and(|lease| !lease.deleting) {
                    let mut next = *world;
                    next.store.blocks[block] = lease.map(|lease| super::Lease { deleting: true, ..lease });
                    next.leaders.iter_mut().filter_map(|leader| leader.plan.as_mut()).for_each(|plan| {
                        plan.current &= plan.block != block;
                    });
                    steps.block = Some(block);
                    steps.push(StepKind::Wish, "somebody deletes the IPBlock", Ok(next));
                }
            }
            steps.block = None;
        }
        if world.faults == 0 {
            return;
        }
        let mut broken = *world;
        broken.faults -= 1;
        if self.bounds.restores {
            match world.snapshot {
                None => {
                    let next = World { snapshot: Some(world.store), ..*world };
                    steps.push(StepKind::Wish, "a snapshot is taken", Ok(next));
                }
                Some(snapshot) => {
                    steps.push(StepKind::Fault, "the snapshot is restored", Ok(restored(broken, snapshot)));
                }
            }
        }
        for node in 0..NODES {
            steps.who = ("agent", node);
            let agent = world.agents[node];
            let mut next = broken;
            if agent.pending.is_some() {
                next.agents[node].pending = None;
                steps.push(StepKind::Fault, "crashes", Ok(next));
            }
            if self.bounds.losses && !agent.lost {
                next.agents[node] =
                    Agent { pods: agent.pods, silent: agent.silent, lost: true, ..Agent::default() };
                steps.push(StepKind::Fault, "loses its ledger", Ok(next));
            }
        }
        for leader in 0..LEADERS {
            steps.who = ("leader", leader);
            if world.leaders[leader] != Leader::default() {
                let mut next = broken;
                next.leaders[leader] = Leader::default();
                steps.push(StepKind::Fault, "crashes", Ok(next));
            }
        }
    }
}

/// A restore begins the API server again and breaks every connection: leaders begin at their barrier, and agents list again.
fn restored(mut world: World, snapshot: super::Store) -> World {
    world.store = snapshot;
    world.snapshot = None;
    world.restores += 1;
    world.leaders = Default::default();
    for agent in &mut world.agents {
        agent.pending = None;
        agent.silent = true;
    }
    world
}
