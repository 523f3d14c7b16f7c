//! A small cluster: an API server, two agents and two leaders, each of which may be anywhere between two of its steps.
//!
//! The agents and the leaders decide by the tables of this crate. What the model adds is the world: the store, what a crash forgets, and who
//! may do what at the same time. Uids and mark ids are small numbers; one that nothing refers to any more is used again, so that the states are
//! finitely many however long a history is. A read and the write that follows from it are two steps, so that every read may be stale by the time
//! of its write, and a conflict is what the API server makes of a write with an old resourceVersion.

mod agent;
mod faults;
mod leader;
mod names;
mod views;

use crate::block::RefusalReason;
use crate::tests::explorer::{Label, Model, Step, StepKind};
use crate::{AddressSpace, HolderIdentity, LeasePool, LeaseRules, MarkAnswer, MarkReason};

pub(crate) const NODES: usize = 2;
pub(crate) const BLOCKS: usize = 2;
pub(crate) const LEADERS: usize = 2;

/// A small number that stands for a uid or a mark id; 0 is none.
pub(crate) type Id = u8;

/// Bounds of an exploration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Blocks in the pool, at most [`BLOCKS`].
    pub(crate) blocks: usize,
    /// Leaders, at most [`LEADERS`].
    pub(crate) leaders: usize,
    /// Faults in one history: crashes, lost replies, restores, lost ledgers.
    pub(crate) faults: u8,
    /// Wishes in one history: pods, marks, changes of mind, snapshots. As many as there can be, if `None`.
    pub(crate) wishes: Option<u8>,
    /// Whether an IPBlock's deletion is a step before the removal of its finalizer.
    pub(crate) finalizers: bool,
    /// Whether the store may be restored from a snapshot, which may be taken at any time.
    pub(crate) restores: bool,
    /// Whether ledgers may be lost.
    pub(crate) losses: bool,
    /// Whether each node has an open block besides those of the model.
    pub(crate) spare: bool,
    /// Why leaders may want blocks back.
    pub(crate) reasons: &'static [MarkReason],
    /// Whether somebody may delete an IPBlock.
    pub(crate) deletions: bool,
}

/// The model: bounds, rules, and what never changes.
pub(crate) struct Cluster {
    pub(crate) rules: LeaseRules,
    pub(crate) bounds: Bounds,
    nodes: [HolderIdentity; NODES],
    space: AddressSpace,
    pool: LeasePool,
}

/// An IPBlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Lease {
    uid: Id,
    node: usize,
    mark: Option<(Id, MarkReason)>,
    cleared: Id,
    deleting: bool,
}

/// A hint in a NodeIPAM's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Hinted {
    uid: Id,
    mark: Option<(Id, MarkReason)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Answered {
    Ready,
    Cordoned,
    Refused,
}

/// What a NodeIPAM's spec says about one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Said {
    held: Id,
    returned: Id,
    ack: Option<(Id, Id, Answered)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Store {
    /// The API server that the Lease names: the number of restores before it began, and one more; 0 before the first leader.
    server: u8,
    blocks: [Option<Lease>; BLOCKS],
    said: [[Said; BLOCKS]; NODES],
    hints: [[Option<Hinted>; BLOCKS]; NODES],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Hold {
    Open,
    Cordoned(Id),
    Frozen(Id),
    Doubted,
    Contested,
}

/// A block of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Row {
    uid: Id,
    hold: Hold,
}

/// What an agent has read and not yet recorded; a crash forgets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Pending {
    Accept(Id),
    Open,
    Rebind(Id),
    Contest,
    Drop,
    Freeze(Id),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Agent {
    rows: [Option<Row>; BLOCKS],
    /// Whether pods use addresses of the block. Outlives the ledger.
    pods: [bool; BLOCKS],
    /// Dropped leases, one bit for each uid.
    dropped: [u16; BLOCKS],
    /// The ledger was lost and has not been rebuilt.
    lost: bool,
    /// The ledger was rebuilt, and the node's pods are not known yet.
    unsure: bool,
    /// The agent has not yet spoken since the store was restored.
    silent: bool,
    pending: Option<(usize, Pending)>,
}

/// What a leader has decided on what it read, and not yet written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Write {
    Create(usize),
    Mark(MarkReason),
    Clear(Id),
    Delete,
    RemoveFinalizer,
    Hint(usize, Option<Hinted>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Plan {
    block: usize,
    uid: Id,
    /// Whether the block is still at the resourceVersion that was read.
    current: bool,
    write: Write,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Leader {
    passed: bool,
    own: [Id; BLOCKS],
    plan: Option<Plan>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct World {
    store: Store,
    snapshot: Option<Store>,
    /// Restores so far, each of which begins the API server again.
    restores: u8,
    agents: [Agent; NODES],
    leaders: [Leader; LEADERS],
    faults: u8,
    wishes: u8,
}

/// Collects the steps of a state.
struct Steps<'a> {
    steps: &'a mut Vec<Step<World>>,
    who: (&'static str, usize),
    block: Option<usize>,
    bounded: bool,
}

impl Steps<'_> {
    fn push(&mut self, kind: StepKind, what: &'static str, mut next: Result<World, &'static str>) {
        if let Ok(next) = &mut next
            && self.bounded
            && kind == StepKind::Wish
        {
            let Some(left) = next.wishes.checked_sub(1) else { return };
            next.wishes = left;
        }
        let label = Label { who: self.who, what, block: self.block };
        self.steps.push(Step { label, kind, next });
    }

    fn progress(&mut self, what: &'static str, next: World) {
        self.push(StepKind::Progress, what, Ok(next));
    }
}

impl Answered {
    fn of(answer: MarkAnswer) -> Self {
        match answer {
            MarkAnswer::Ready => Self::Ready,
            MarkAnswer::Cordoned => Self::Cordoned,
            MarkAnswer::Refused(_) => Self::Refused,
        }
    }

    fn answer(self) -> MarkAnswer {
        match self {
            Self::Ready => MarkAnswer::Ready,
            Self::Cordoned => MarkAnswer::Cordoned,
            Self::Refused => MarkAnswer::Refused(RefusalReason::InUse),
        }
    }
}

impl Model for Cluster {
    type State = World;

    fn initial(&self) -> World {
        World { faults: self.bounds.faults, wishes: self.bounds.wishes.unwrap_or(0), ..World::default() }
    }

    fn steps(&self, world: &World, steps: &mut Vec<Step<World>>) {
        for node in 0..NODES {
            self.agent_steps(world, node, steps);
        }
        for leader in 0..self.bounds.leaders {
            self.leader_steps(world, leader, steps);
        }
        self.fault_steps(world, steps);
    }

    fn canonical(&self, world: &World) -> World {
        names::canonical(world, &self.bounds)
    }

    fn tidied(&self, world: &World) -> World {
        let mut world = *world;
        world.renumber();
        world
    }

    fn violation(&self, world: &World) -> Option<&'static str> {
        let usable = |agent: &Agent, block: usize| {
            let held = matches!(agent.rows[block], Some(Row { hold: Hold::Open | Hold::Cordoned(_), .. }));
            held || agent.pods[block]
        };
        (0..BLOCKS).find_map(|block| {
            let holders = world.agents.iter().filter(|agent| usable(agent, block)).count();
            (holders > 1).then_some("an address is usable in two live ledgers")
        })
    }

    fn is_settled(&self, world: &World) -> bool {
        let agent = |(node, agent): (usize, &Agent)| {
            let lease = |block: usize| world.store.blocks[block].filter(|lease| lease.node == node);
            let rows = (0..self.bounds.blocks).all(|block| match (agent.rows[block], lease(block)) {
                (None, None) => true,
                (Some(row), Some(lease)) => row == Row { uid: lease.uid, hold: Hold::Open },
                _ => false,
            });
            rows && !agent.lost && !agent.unsure && agent.pending.is_none()
        };
        let unmarked = |lease: &Lease| lease.mark.is_none() && !lease.deleting;
        world.store.blocks.iter().flatten().all(unmarked)
            && world.agents.iter().enumerate().all(agent)
            && world.leaders.iter().all(|leader| leader.plan.is_none())
    }
}
