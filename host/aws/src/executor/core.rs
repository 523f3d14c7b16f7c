//! State shared by the tasks of an executor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tenure_effects::{Gathered, Tools};
use tenure_ledger::Book;
use tenure_types::EffectKind;

use super::Config;
use super::questions::Circumstances;
use super::state::ExecutorState;
use crate::budget::Unit;
use crate::metadata::InstanceMetadata;
use crate::names;
use crate::port::{CallError, Ec2, Ec2Interface};
use crate::ranges::carried;
use crate::seen::SeenNode;
use crate::situation::{Barred, Situation, ranges};
use crate::witness::UseWitness;

/// Interfaces as EC2 describes them, and the time at which it was asked.
pub(super) type Described = (Vec<Ec2Interface>, Duration);

/// The AWS part of the state that an executor's tasks share.
pub(super) struct AwsCore {
    pub(super) tools: Tools,
    pub(super) ec2: Arc<dyn Ec2>,
    pub(super) metadata: Arc<dyn InstanceMetadata>,
    pub(super) witness: Arc<dyn UseWitness>,
    pub(super) config: Config,
    /// Addresses and prefixes to unassign from an interface with one call, by interface and whether they are IPv6.
    pub(super) gathered: Gathered<(String, bool), IpNet, Result<(), CallError>>,
    /// Releases that want to see what is on an interface, by interface.
    pub(super) looks: Gathered<String, (), Result<Described, CallError>>,
    state: Mutex<ExecutorState>,
}

/// The ports of the outside.
pub(super) struct CoreParts {
    pub(super) ec2: Arc<dyn Ec2>,
    pub(super) metadata: Arc<dyn InstanceMetadata>,
    pub(super) witness: Arc<dyn UseWitness>,
}

impl AwsCore {
    pub(super) fn new(tools: Tools, parts: CoreParts, config: Config) -> Self {
        let CoreParts { ec2, metadata, witness } = parts;
        let seen = SeenNode::new(config.instance.clone(), config.window, true).on(config.mac.clone());
        let state = Mutex::new(ExecutorState::new(seen, config.limits, config.seed, tools.now()));
        let (gathered, looks) = (Gathered::default(), Gathered::default());
        Self { tools, ec2, metadata, witness, config, gathered, looks, state }
    }

    /// The boot clock's reading.
    pub(super) fn now(&self) -> Duration {
        self.tools.now()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ExecutorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Misses what the ledger has, until EC2 shows it.
    pub(super) fn expect(&self, book: &Book) {
        let now = self.now();
        let mut expected: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
        for (_, view) in ranges(book) {
            if let Some((interface, net)) = carried(view.range) {
                expected.entry(interface.to_owned()).or_default().push(net);
            }
        }
        let mut state = self.state();
        state.read(book, now);
        // Where nothing is ever taken and the ledger is empty, no process has taken anything.
        if !state.settings.fixed || !expected.is_empty() {
            state.seen.starts(now);
        }
        expected.into_iter().for_each(|(interface, nets)| state.seen.expect(&interface, nets, now));
    }

    /// The circumstances that decide how soon EC2 is asked.
    pub(super) fn circumstances(&self) -> Circumstances {
        let (now, waits, open) = (self.now(), self.tools.waiting() > 0, self.tools.open());
        // What becomes of an interface that comes or goes, its intent finds out.
        let moves = [EffectKind::AttachInterface, EffectKind::DetachInterface];
        let moving = open.iter().filter(|intent| moves.contains(&intent.kind));
        let moving: BTreeSet<&str> = moving
            .flat_map(|intent| [&intent.attributes, &intent.reached])
            .filter_map(|of| of.get(names::INTERFACE))
            .collect();
        let state = self.state();
        let is_behind = !state.behind_in_groups(&self.config.instance).is_empty();
        Circumstances {
            now,
            every: self.config.look_every,
            window: self.config.window,
            settles: state.seen.settles(),
            doubts: state.seen.has_doubts_besides(&moving)
                || !state.quarantine.is_empty()
                || is_behind
                || waits && state.is_hiding(),
            awaits_groups: state.named_groups.are_awaited(&state.seen, now),
            waits,
            sweeps: !state.settings.keep_leaked && !state.settings.fixed,
            only_interfaces: state.settings.imds_only,
            subnets_denied: state.are_subnets_denied,
            discovers: state.settings.discover_subnets,
            leaked: state.leaked.all().next().is_some(),
            agreed: state.agreement.since(&state.seen),
            redefined: state.is_redefined && state.seen.last().is_some(),
        }
    }

    /// The situation now, as this book has it.
    pub(super) fn situation_of(&self, book: &Book) -> Situation {
        let (now, open) = (self.now(), self.tools.open());
        let wall = self.tools.clock.now().wall_ms / 1000;
        let circumstances = self.circumstances();
        let mut state = self.state();
        state.read(book, now);
        let backoffs = state.budget.backoffs(now);
        let backoffs: BTreeMap<(String, Unit), Duration> =
            backoffs.map(|(subnet, unit, left)| ((subnet.to_owned(), unit), left)).collect();
        Situation {
            now,
            wall,
            seen: state.seen.clone(),
            subnets: state.subnets.clone(),
            limits: state.limits,
            settings: state.settings.clone(),
            node: state.node.clone(),
            open,
            barred: Barred::all(&state.budget, now),
            idle: state.idle(now),
            floor: self.config.floor,
            is_hiding: state.is_hiding(),
            is_redefined: state.is_redefined,
            backoffs,
            subnets_in: state.questions.wait_for_subnets(&circumstances),
        }
    }
}
