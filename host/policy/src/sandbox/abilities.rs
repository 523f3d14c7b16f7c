//! The optional exports of a policy, looked up when it is loaded: planning and state.

use wasmtime::component::InstancePre;

use super::bindings::planner::PlannerPre;
use super::bindings::stateful::StatefulPre;
use super::call::CallContext;

/// The optional exports of a policy.
pub(super) struct Abilities {
    pub(super) planner: Option<PlannerPre<CallContext>>,
    pub(super) stateful: Option<StatefulPre<CallContext>>,
}

impl Abilities {
    /// Finds the exports of an instance; `verify` has checked their types.
    pub(super) fn of(instance: &InstancePre<CallContext>) -> Self {
        let (planner, stateful) = (PlannerPre::new(instance.clone()), StatefulPre::new(instance.clone()));
        Self { planner: planner.ok(), stateful: stateful.ok() }
    }
}
