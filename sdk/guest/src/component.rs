//! From a type that implements [`Policy`] to the functions that the component exports.

use std::marker::PhantomData;

use crate::bindings::exports::tenure::ipam::{allocation, network};
use crate::bindings::planner::exports::tenure::ipam::planning;
use crate::bindings::stateful::exports::tenure::ipam::stateful_allocation;
use crate::bindings::tenure::ipam::types;
use crate::{Planner, Policy, Request, Stateful, convert};

/// A policy in the shape that the generated glue wants; [`export!`](crate::export) and its sisters use it.
#[derive(Debug)]
pub struct Exported<P>(PhantomData<P>);

impl<P: Policy> network::Guest for Exported<P> {
    fn define(config: types::Config) -> Result<types::Definition, types::Refusal> {
        tell_panics();
        Ok(P::define(&config.into())?.into())
    }
}

impl<P: Policy> allocation::Guest for Exported<P> {
    fn propose(request: types::Request) -> Result<types::Proposal, types::Refusal> {
        tell_panics();
        Ok(P::propose(&Request::try_from(request)?)?.into())
    }
}

impl<P: Planner> planning::Guest for Exported<P> {
    fn plan(state: types::State) -> Result<Vec<types::Effect>, types::Refusal> {
        tell_panics();
        Ok(P::plan(&state.into())?.into_iter().map(types::Effect::from).collect())
    }
}

impl<P: Stateful> stateful_allocation::Guest for Exported<P> {
    fn propose(request: types::Request, state: Vec<u8>) -> Result<types::Outcome, types::Refusal> {
        tell_panics();
        Ok(P::propose_with(&Request::try_from(request)?, &state)?.into())
    }

    fn migrate(state: Vec<u8>, attributes: Vec<types::Attribute>) -> Result<Vec<u8>, types::Refusal> {
        tell_panics();
        Ok(P::migrate(&state, &convert::attributes(attributes))?)
    }
}

/// A panic is a trap without words: say them first, so that the host's log has them.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| crate::warn(&panic.to_string())));
}

/// Makes a component of a type that implements [`Policy`](crate::Policy).
///
/// On other targets it makes nothing: there a policy is a plain library, which its own unit tests call.
#[macro_export]
macro_rules! export {
    ($policy:ty) => {
        #[cfg(target_family = "wasm")]
        mod exported {
            use super::*;
            type Component = $crate::Exported<$policy>;
            $crate::bindings::export_component!(Component with_types_in $crate::bindings);
        }
    };
}

/// Beside [`export!`](crate::export): has the component plan, by its type's [`Planner`](crate::Planner).
#[macro_export]
macro_rules! export_planner {
    ($policy:ty) => {
        #[cfg(target_family = "wasm")]
        mod exported_planner {
            use super::*;
            type Component = $crate::Exported<$policy>;
            $crate::bindings::planner::export_planner_component!(Component with_types_in $crate::bindings::planner);
        }
    };
}

/// Beside [`export!`](crate::export): has the component keep a state, by its type's [`Stateful`](crate::Stateful).
#[macro_export]
macro_rules! export_stateful {
    ($policy:ty) => {
        #[cfg(target_family = "wasm")]
        mod exported_stateful {
            use super::*;
            type Component = $crate::Exported<$policy>;
            $crate::bindings::stateful::export_stateful_component!(Component with_types_in $crate::bindings::stateful);
        }
    };
}
