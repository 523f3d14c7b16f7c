//! What may happen to a node, and what of it may happen next.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use proptest_state_machine::ReferenceStateMachine;

use crate::sim::Faults;

/// Few enough of each that they meet.
const NETWORKS: u64 = 3;
pub(super) const OWNERS: u64 = 8;
/// The last byte of an address; some lie outside of any definition.
const LAST: u8 = 14;

/// How much room is reserved, and from which length on a segment is compacted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) reserve: u64,
    pub(super) compact_above: u64,
}

/// Something that happens.
#[derive(Debug, Clone)]
pub(super) enum Transition {
    /// A network is defined, or defined anew.
    Define { network: u64, wide: bool, strict: bool },
    /// Every owner of a network gives back what it has, and the network is removed.
    Remove { network: u64 },
    /// An owner asks for an address.
    Allocate { network: u64, owner: u64, address: u8 },
    /// An owner gives its address back.
    Release { network: u64, owner: u64 },
    /// Somebody waits for whatever was staged.
    Barrier,
    /// Time passes, and what has cooled long enough becomes free.
    Pass { seconds: u64 },
    /// The writer does what is due: a group, a reopening, a bit of a snapshot. Behind each page that it looks at, the next of
    /// these networks is defined, or removed where it is there and holds nothing.
    Step { meanwhile: Vec<u64> },
    /// Somebody else reads the state while the writer is at work.
    Look,
    /// Operations of the disk fail from now on.
    Trouble(Faults),
    /// The disk has only so many bytes left.
    Fill { room: u64 },
    /// The disk is well again, with all the room it wants.
    Mend,
    /// Everything stands still at the so-many-th operation on the disk from now.
    StopAfter { operations: u64 },
    /// It ends and starts again; the start may stand still as well, and is then ended in the same way.
    Restart { end: End, stop_after: Option<u64>, sizes: Sizes },
}

/// How it ends before it starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The process is killed; what it wrote is still in the page cache.
    Killed,
    /// The power fails, and the boot is called the same: the harder case, since a reboot hides what it ends.
    PowerLost,
    /// The power fails, and the machine boots.
    Rebooted,
}

/// What is known of a machine without looking at it: enough to choose what may happen to it next.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    seed: u64,
    sizes: Sizes,
    /// The networks that were defined, whether anything is left of it or not.
    defined: BTreeSet<u64>,
    /// It may be standing still.
    stops: bool,
}

impl Machine {
    /// What the disk's own choices come from.
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

/// Often nothing of a kind, sometimes a little, sometimes almost everything.
fn faults() -> impl Strategy<Value = Faults> {
    let rate = || select(vec![0, 0, 20, 300, 1_000]);
    (rate(), rate(), rate()).prop_map(|(sync, append, name)| Faults { sync, append, name })
}
