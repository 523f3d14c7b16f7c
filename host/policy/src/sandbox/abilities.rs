//! What a policy may export beside what it must, probed for when it is loaded: plans, and a state that it keeps.

use wasmtime::component::InstancePre;

use super::bindings::planner::PlannerPre;
use super::bindings::stateful::StatefulPre;
use super::call::Call;

/// The optional abilities of a policy.
pub(super) struct Abilities {
    pub(super) planner: Option<PlannerPre<Call>>,
    pub(super) stateful: Option<StatefulPre<Call>>,
}

impl Abilities {
    /// What an instance exports; whether it does so in the right words was checked when its component was verified.
    pub(super) fn of(instance: &InstancePre<Call>) -> Self {
        let (planner, stateful) = (PlannerPre::new(instance.clone()), StatefulPre::new(instance.clone()));
        Self { planner: planner.ok(), stateful: stateful.ok() }
    }
}
