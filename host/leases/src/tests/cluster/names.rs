//! Names that do not matter: which node, block or leader is which, and numbers that nothing refers to.

use super::{Agent, BLOCKS, Bounds, Hold, Id, NODES, Pending, Store, World, Write};

/// Above the number of uids, or of mark ids, that one state refers to.
const IDS: usize = 16;

impl World {
    /// A uid that nothing refers to, for a new lease of a block.
    pub(super) fn unused_uid(&self, block: usize) -> Id {
        self.highest(block).0 + 1
    }

    /// A mark id that nothing refers to.
    pub(super) fn unused_mark(&self, block: usize) -> Id {
        self.highest(block).1 + 1
    }

    fn highest(&self, block: usize) -> (Id, Id) {
        let (mut uid, mut mark) = (0, 0);
        let mut world = *self;
        world.visit(block, &mut |id| uid = uid.max(*id), &mut |id| mark = mark.max(*id));
        (uid, mark)
    }

    /// Visits each uid and each mark id of a block, in a fixed order. Tombstones are no references: without another, they can never matter.
    fn visit(&mut self, block: usize, uid: &mut dyn FnMut(&mut Id), mark: &mut dyn FnMut(&mut Id)) {
        for store in std::iter::once(&mut self.store).chain(&mut self.snapshot) {
            if let Some(lease) = &mut store.blocks[block] {
                uid(&mut lease.uid);
                lease.mark.iter_mut().for_each(|(id, _)| mark(id));
                mark(&mut lease.cleared);
            }
            for node in 0..NODES {
                let said = &mut store.said[node][block];
                uid(&mut said.held);
                uid(&mut said.returned);
                if let Some((lease, id, _)) = &mut said.ack {
                    uid(lease);
                    mark(id);
                }
                if let Some(hinted) = &mut store.hints[node][block] {
                    uid(&mut hinted.uid);
                    hinted.mark.iter_mut().for_each(|(id, _)| mark(id));
                }
            }
        }
        for agent in &mut self.agents {
            if let Some(row) = &mut agent.rows[block] {
                uid(&mut row.uid);
                if let Hold::Cordoned(id) | Hold::Frozen(id) = &mut row.hold {
                    mark(id);
                }
            }
            match agent.pending.as_mut().filter(|(pending, _)| *pending == block).map(|(_, pending)| pending)
            {
                Some(Pending::Accept(id) | Pending::Rebind(id)) => uid(id),
                Some(Pending::Freeze(id)) => mark(id),
                _ => {}
            }
        }
        for leader in &mut self.leaders {
            mark(&mut leader.own[block]);
            if let Some(plan) = leader.plan.as_mut().filter(|plan| plan.block == block) {
                uid(&mut plan.uid);
                if let Write::Clear(id) = &mut plan.write {
                    mark(id);
                }
                if let Write::Hint(_, Some(hinted)) = &mut plan.write {
                    uid(&mut hinted.uid);
                    hinted.mark.iter_mut().for_each(|(id, _)| mark(id));
                }
            }
        }
    }

    /// Numbers uids and mark ids in the order of their first appearance, and forgets tombstones of uids that appear nowhere.
    pub(super) fn renumber(&mut self) {
        for block in 0..BLOCKS {
            let current = self.store.blocks[block].and_then(|lease| lease.mark).map_or(0, |(id, _)| id);
            // A mark that is not in the store will not be again: a restore takes the leaders' memory, too.
            self.leaders.iter_mut().filter(|leader| leader.own[block] != current).for_each(|leader| {
                leader.own[block] = 0;
            });
            let (mut uids, mut marks) = ([0; IDS], [0; IDS]);
            let (mut last_uid, mut last_mark) = (0, 0);
            self.visit(block, &mut |id| *id = new_name(&mut uids, &mut last_uid, *id), &mut |id| {
                *id = new_name(&mut marks, &mut last_mark, *id);
            });
            self.agents.iter_mut().for_each(|agent: &mut Agent| {
                let old = agent.dropped[block];
                let bits = uids.iter().enumerate().filter(|(id, name)| **name != 0 && old & (1 << id) != 0);
                agent.dropped[block] = bits.map(|(_, name)| 1 << name).sum();
            });
        }
    }
}

fn new_name(names: &mut [Id; IDS], last: &mut Id, id: Id) -> Id {
    let name = &mut names[usize::from(id)];
    if id != 0 && *name == 0 {
        *last += 1;
        *name = *last;
    }
    *name
}

/// The smallest of the states that differ in names alone.
pub(super) fn canonical(world: &World, bounds: &Bounds) -> World {
    let nodes = with_nodes_swapped(world);
    let mut same = [*world, nodes, *world, nodes];
    if bounds.blocks == BLOCKS {
        same[2] = with_blocks_swapped(world);
        same[3] = with_blocks_swapped(&nodes);
    }
    let count = bounds.blocks * 2;
    for world in &mut same[..count] {
        world.renumber();
        if bounds.leaders == 2 && world.leaders[1] < world.leaders[0] {
            world.leaders.reverse();
            world.renumber();
        }
    }
    same[..count].iter().min().copied().unwrap_or(*world)
}

fn with_nodes_swapped(world: &World) -> World {
    let mut swapped = *world;
    swapped.agents.reverse();
    for store in std::iter::once(&mut swapped.store).chain(&mut swapped.snapshot) {
        let Store { blocks, said, hints, server: _ } = store;
        said.reverse();
        hints.reverse();
        blocks.iter_mut().flatten().for_each(|lease| lease.node = NODES - 1 - lease.node);
    }
    for plan in swapped.leaders.iter_mut().filter_map(|leader| leader.plan.as_mut()) {
        if let Write::Create(node) | Write::Hint(node, _) = &mut plan.write {
            *node = NODES - 1 - *node;
        }
    }
    swapped
}

fn with_blocks_swapped(world: &World) -> World {
    let mut swapped = *world;
    for agent in &mut swapped.agents {
        agent.rows.reverse();
        agent.pods.reverse();
        agent.dropped.reverse();
        agent.pending.iter_mut().for_each(|(block, _)| *block = BLOCKS - 1 - *block);
    }
    for store in std::iter::once(&mut swapped.store).chain(&mut swapped.snapshot) {
        store.blocks.reverse();
        store.said.iter_mut().for_each(|said| said.reverse());
        store.hints.iter_mut().for_each(|hints| hints.reverse());
    }
    for leader in &mut swapped.leaders {
        leader.own.reverse();
        leader.plan.iter_mut().for_each(|plan| plan.block = BLOCKS - 1 - plan.block);
    }
    swapped
}
