//! What a policy depends on.
//!
//! A policy is a type that implements [`Policy`] and is handed to [`export!`]: it reads a configuration once, and answers
//! each request with the addresses that it proposes. Everything else, such as who owns what, is asked of the [`ledger`].
//! One that also plans implements [`Planner`], one that keeps a state [`Stateful`].
//!
//! The types here carry parsed addresses; [`bindings`] has the interface as `wit/` writes it.
//!
//! ```
//! use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};
//!
//! /// Hands out the addresses of each range set in turn.
//! pub struct InTurn;
//!
//! impl Policy for InTurn {
//!     fn define(_: &Config) -> Result<Definition, Refusal> {
//!         Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
//!     }
//!
//!     fn propose(_: &Request) -> Result<Proposal, Refusal> {
//!         let mut proposal = Proposal::new();
//!         for pool in ledger::pools() {
//!             let free = pool.shelf().next_in_turn();
//!             let address = free.ok_or_else(|| Refusal::exhausted(format!("pool {} is full", pool.name)))?;
//!             proposal.assign(pool.index, address);
//!         }
//!         Ok(proposal)
//!     }
//! }
//!
//! tenure_sdk::export!(InTurn);
//! ```

mod answer;
pub mod bindings;
mod component;
pub mod configuration;
mod convert;
mod definition;
// Elsewhere a policy is a library of its own unit tests, whose heap is theirs.
#[cfg(any(test, all(feature = "heap", target_family = "wasm")))]
mod heap;
pub mod ledger;
mod log;
mod planner;
mod policy;
pub mod ranges;
mod stateful;

pub use answer::{Assignment, Proposal, Refusal, Request};
pub use component::Exported;
pub use definition::{Config, Cooling, Definition, Need, PoolDefinition, Supply};
pub use log::{debug, info, warn};
pub use planner::{Effect, EffectKind, Object, Planner, State};
pub use policy::Policy;
pub use stateful::{Outcome, Stateful};
pub use tenure_sdk_config::{Attributes, ConfigError, Json, Node, Range, RangeSet, Subnet};
