//! The ways in which a policy answers, looked up when it is loaded: with or without a state, and planning.

use wasmtime::component::InstancePre;

use super::bindings::exports::tenure::ipam::allocation;
use super::bindings::planner::PlannerPre;
use super::bindings::stateful::StatefulPre;
use super::call::CallContext;

/// The exports of a policy besides `network`. It has at least one of `allocation` and `stateful`.
pub(super) struct Abilities {
    pub(super) allocation: Option<allocation::GuestIndices>,
    pub(super) planner: Option<PlannerPre<CallContext>>,
    pub(super) stateful: Option<StatefulPre<CallContext>>,
}

impl Abilities {
    /// Finds the exports of an instance; `verify` has checked their types.
    pub(super) fn of(instance: &InstancePre<CallContext>) -> Self {
        Self {
            allocation: allocation::GuestIndices::new(instance).ok(),
            planner: PlannerPre::new(instance.clone()).ok(),
            stateful: StatefulPre::new(instance.clone()).ok(),
        }
    }
}
