//! The SDK for policies.
//!
//! A policy is a type that implements [`Policy`] and is passed to [`export!`]. It reads a configuration once, and
//! answers each request with a proposal of addresses. Everything else, such as who holds which address, it reads from
//! the [`ledger`]. A policy that also plans implements [`Planner`], too; one that keeps state implements [`Stateful`] instead.
//!
//! The types of this crate contain parsed addresses; [`bindings`] has the interface itself. On other targets than
//! WebAssembly, a policy is a plain library that its tests call: with the crate `tenure-testkit`, against a ledger.
//!
//! ```
//! use tenure_sdk::prelude::*;
//!
//! /// Assigns the addresses of each range set in turn.
//! pub struct InTurn;
//!
//! impl Policy for InTurn {
//!     fn define(_: &Config) -> Result<Definition, ConfigError> {
//!         Definition::configured(Cooling::Preferred)
//!     }
//!
//!     fn propose(_: &Request) -> Result<Proposal, Refusal> {
//!         Proposal::of_each(|pool| pool.next_in_turn())
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
// On other targets a policy is a library in its unit tests, which have their own heap.
#[cfg(any(test, all(feature = "heap", target_family = "wasm")))]
mod heap;
mod host;
pub mod ledger;
mod log;
#[cfg(not(target_family = "wasm"))]
pub mod native;
mod planner;
mod policy;
pub mod prelude;
pub mod ranges;
mod stateful;

pub use answer::{Assignment, Delay, Proposal, Refusal, Request};
pub use component::{Exported, ExportedStateful};
pub use definition::{Config, Cooling, Definition, Need, PoolDefinition, Supply};
pub use log::{debug, error, info, warn};
pub use planner::{Effect, EffectKind, Object, Planner, SupplySituation};
pub use policy::Policy;
pub use stateful::{Outcome, Stateful};
pub use tenure_sdk_config::{Attributes, ConfigError, Json, Node, Range, RangeSet, Subnet};
