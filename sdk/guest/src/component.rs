//! From a type that implements [`Policy`] to the functions that the component exports.

use std::marker::PhantomData;

use crate::bindings::exports::tenure::ipam::{allocation, network};
use crate::bindings::tenure::ipam::types;
use crate::{Config, Definition, Proposal, Refusal, Request};

/// A policy. Each call is a fresh instance: what it keeps in memory is gone when it returns.
pub trait Policy {
    /// Makes pools of a network's configuration.
    ///
    /// # Errors
    /// [`Refusal::InvalidConfig`] when the configuration is wrong.
    fn define(config: &Config) -> Result<Definition, Refusal>;

    /// Proposes an address for each pool.
    ///
    /// # Errors
    /// [`Refusal`] when there is no address to propose.
    fn propose(request: &Request) -> Result<Proposal, Refusal>;
}

/// A policy in the shape that the generated glue wants; [`export!`](crate::export) uses it.
#[derive(Debug)]
pub struct Exported<P>(PhantomData<P>);

impl<P: Policy> network::Guest for Exported<P> {
    fn define(config: network::Config) -> Result<network::Definition, types::Refusal> {
        tell_panics();
        Ok(P::define(&config.into())?.into())
    }
}

impl<P: Policy> allocation::Guest for Exported<P> {
    fn propose(request: allocation::Request) -> Result<allocation::Proposal, types::Refusal> {
        tell_panics();
        let request = Request::try_from(request)?;
        Ok(crate::answer::proposal(P::propose(&request)?))
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
