//! Connects a type that implements [`Policy`] to the component's exported functions.

use std::marker::PhantomData;

use crate::bindings::allocation::exports::tenure::ipam::allocation;
use crate::bindings::exports::tenure::ipam::network;
use crate::bindings::planner::exports::tenure::supply::planning;
use crate::bindings::stateful::exports::tenure::ipam::stateful_allocation;
use crate::bindings::tenure::ipam::types;
use crate::{Config, ConfigError, Definition, Planner, Policy, Request, Stateful, convert};

/// A policy as the generated glue needs it; the export macros use it.
#[derive(Debug)]
pub struct Exported<P>(PhantomData<P>);

/// A [`Stateful`] policy as the generated glue needs it.
#[derive(Debug)]
pub struct ExportedStateful<P>(PhantomData<P>);

impl<P: Policy> network::Guest for Exported<P> {
    fn define(config: types::Config) -> Result<types::Definition, types::ConfigError> {
        defined(P::define, config)
    }
}

impl<P: Stateful> network::Guest for ExportedStateful<P> {
    fn define(config: types::Config) -> Result<types::Definition, types::ConfigError> {
        defined(P::define, config)
    }
}

fn defined(
    define: fn(&Config) -> Result<Definition, ConfigError>,
    config: types::Config,
) -> Result<types::Definition, types::ConfigError> {
    tell_panics();
    Ok(define(&config.into())?.into())
}

impl<P: Policy> allocation::Guest for Exported<P> {
    fn propose(request: types::Request) -> Result<types::Proposal, types::Refusal> {
        tell_panics();
        Ok(P::propose(&Request::try_from(request)?)?.into())
    }
}

impl<P: Planner> planning::Guest for Exported<P> {
    fn plan(situation: planning::Situation) -> Result<Vec<planning::Effect>, types::Refusal> {
        tell_panics();
        Ok(P::plan(&situation.into())?.into_iter().map(planning::Effect::from).collect())
    }
}

impl<P: Stateful> stateful_allocation::Guest for ExportedStateful<P> {
    fn propose(request: types::Request, state: Vec<u8>) -> Result<types::Outcome, types::Refusal> {
        tell_panics();
        Ok(P::propose(&Request::try_from(request)?, &state)?.into())
    }

    fn migrate(state: Vec<u8>, attributes: Vec<types::Attribute>) -> Result<Vec<u8>, types::Refusal> {
        tell_panics();
        Ok(P::migrate(&state, &convert::attributes(attributes))?)
    }
}

/// Logs a panic as a warning: it becomes a trap, which carries no message.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| crate::warn(&panic.to_string())));
}

/// Exports a type that implements [`Policy`](crate::Policy) as a component.
///
/// On other targets it does nothing: there a policy is a plain library that its unit tests can call.
///
/// ```
/// use tenure_sdk::{Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, ranges};
///
/// pub struct Fixed;
///
/// impl Policy for Fixed {
///     fn define(config: &Config) -> Result<Definition, ConfigError> {
///         Ok(Definition::new(ranges::read(config)?, Cooling::Strict))
///     }
///
///     fn propose(request: &Request) -> Result<Proposal, Refusal> {
///         let address = request.requested.first().ok_or_else(|| Refusal::Other("request an address".into()))?;
///         let mut proposal = Proposal::new();
///         proposal.assign(0, *address);
///         Ok(proposal)
///     }
/// }
///
/// tenure_sdk::export!(Fixed);
///
/// // In a unit test:
/// let config = Config::new("net", r#"{"subnet": "10.1.2.0/24"}"#, &[]);
/// assert_eq!(Fixed::define(&config)?.pools.len(), 1);
/// # Ok::<(), Refusal>(())
/// ```
#[macro_export]
macro_rules! export {
    ($policy:ty) => {
        #[cfg(target_family = "wasm")]
        mod exported {
            use super::*;
            type Component = $crate::Exported<$policy>;
            $crate::bindings::export_network_component!(Component with_types_in $crate::bindings);
            $crate::bindings::allocation::export_allocation_component!(Component with_types_in $crate::bindings::allocation);
        }
    };
}

/// Exports the [`Planner`](crate::Planner) of a type, in addition to [`export!`](crate::export) or
/// [`export_stateful!`](crate::export_stateful).
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

/// Exports a type that implements [`Stateful`](crate::Stateful) as a component, in place of [`export!`](crate::export).
#[macro_export]
macro_rules! export_stateful {
    ($policy:ty) => {
        #[cfg(target_family = "wasm")]
        mod exported_stateful {
            use super::*;
            type Component = $crate::ExportedStateful<$policy>;
            $crate::bindings::export_network_component!(Component with_types_in $crate::bindings);
            $crate::bindings::stateful::export_stateful_component!(Component with_types_in $crate::bindings::stateful);
        }
    };
}
