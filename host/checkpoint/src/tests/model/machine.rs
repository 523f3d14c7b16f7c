//! The transitions of a node, and which of them may come next.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use proptest_state_machine::ReferenceStateMachine;

use crate::sim::Faults;

/// Few enough of each that they interact.
const NETWORKS: u64 = 3;
pub(super) const OWNERS: u64 = 8;
/// The last byte of an address; some are outside every definition.
const LAST: u8 = 14;

/// How much room is reserved, and from which length on a segment is compacted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) reserve: u64,
    pub(super) compact_above: u64,
}

/// A transition.
#[derive(Debug, Clone)]
pub(super) enum Transition {
    /// Define or redefine a network.
    Define { network: u64, wide: bool, strict: bool },
    /// Release all addresses of a network, and remove it.
    Remove { network: u64 },
    /// Request an address for an owner.
    Allocate { network: u64, owner: u64, address: u8 },
    /// Release an owner's address.
    Release { network: u64, owner: u64 },
    /// Wait for everything that was staged.
    Barrier,
    /// Let time pass, and end the cooling of addresses whose cooldown is over.
    Pass { seconds: u64 },
    /// Let the writer do what is due: a group, a reopening, a piece of a snapshot. After each page that it reads, the
    /// next of these networks is defined, or removed if it exists and holds nothing.
    Step { meanwhile: Vec<u64> },
    /// Read the state in another process while the writer works.
    Look,
    /// Make operations of the disk fail from now on.
    Trouble(Faults),
    /// Limit the disk to this many more bytes.
    Fill { room: u64 },
    /// Repair the disk, and give it all the room it needs.
    Mend,
    /// Stop the machine at this operation on the disk, counted from now.
    StopAfter { operations: u64 },
    /// End and restart the node; the start may be stopped as well, and is then ended in the same way.
    Restart { end: End, stop_after: Option<u64>, sizes: Sizes },
}

/// How the node ends before it restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The process is killed; what it wrote is still in the page cache.
    Killed,
    /// The power fails, but the boot id stays the same: the harder case, since a reboot hides what it ends.
    PowerLost,
    /// The power fails, and the machine boots.
    Rebooted,
}

/// The knowledge of a machine without inspecting it: enough to choose the next transition.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    seed: u64,
    sizes: Sizes,
    /// The networks that were defined, whether or not they still exist.
    defined: BTreeSet<u64>,
    /// Whether it may have stopped.
    stops: bool,
}

impl Machine {
    /// The seed of the disk's choices.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The sizes of the first start.
    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }
}

impl ReferenceStateMachine for Machine {
    type State = Self;
    type Transition = Transition;

    fn init_state() -> BoxedStrategy<Self> {
        let machine = |(seed, sizes)| Self { seed, sizes, defined: BTreeSet::new(), stops: false };
        (any::<u64>(), sizes()).prop_map(machine).boxed()
    }

    fn transitions(machine: &Self) -> BoxedStrategy<Transition> {
        let restart = if machine.stops { 8 } else { 4 };
        let ends = vec![End::PowerLost, End::Killed, End::Rebooted];
        prop_oneof![
            3 => (0..NETWORKS, any::<bool>(), any::<bool>())
                .prop_map(|(network, wide, strict)| Transition::Define { network, wide, strict }),
            2 => (0..NETWORKS).prop_map(|network| Transition::Remove { network }),
            28 => (0..NETWORKS, 0..OWNERS, 0..=LAST)
                .prop_map(|(network, owner, address)| Transition::Allocate { network, owner, address }),
            16 => (0..NETWORKS, 0..OWNERS)
                .prop_map(|(network, owner)| Transition::Release { network, owner }),
            4 => Just(Transition::Barrier),
            3 => (1..40_u64).prop_map(|seconds| Transition::Pass { seconds }),
            30 => prop::collection::vec(0..NETWORKS, 0..3).prop_map(|meanwhile| Transition::Step { meanwhile }),
            3 => Just(Transition::Look),
            2 => faults().prop_map(Transition::Trouble),
            1 => (0..40_000_u64).prop_map(|room| Transition::Fill { room }),
            2 => Just(Transition::Mend),
            2 => (0..40_u64).prop_map(|operations| Transition::StopAfter { operations }),
            restart => (select(ends), prop::option::weighted(0.3, 0..12_u64), sizes())
                .prop_map(|(end, stop_after, sizes)| Transition::Restart { end, stop_after, sizes }),
        ]
        .boxed()
    }

    fn apply(mut machine: Self, transition: &Transition) -> Self {
        match transition {
            Transition::Define { network, .. } => _ = machine.defined.insert(*network),
            Transition::StopAfter { .. } => machine.stops = true,
            Transition::Restart { stop_after, .. } => machine.stops = stop_after.is_some(),
            _ => {}
        }
        machine
    }

    fn preconditions(machine: &Self, transition: &Transition) -> bool {
        match transition {
            Transition::Allocate { network, .. } | Transition::Release { network, .. } => {
                machine.defined.contains(network)
            }
            _ => true,
        }
    }
}

fn sizes() -> impl Strategy<Value = Sizes> + Clone {
    (select(vec![16_000, 2_000, 0]), select(vec![u64::MAX, 10_000, 2_000]))
        .prop_map(|(reserve, compact_above)| Sizes { reserve, compact_above })
}

/// Often none of a kind, sometimes a few, sometimes almost all.
fn faults() -> impl Strategy<Value = Faults> {
    let rate = || select(vec![0, 0, 20, 300, 1_000]);
    (rate(), rate(), rate()).prop_map(|(sync, append, name)| Faults { sync, append, name })
}
