//! Policies as sandboxed components: loading, limits, calls, and the catalogue of a node.
//!
//! The one crate that names wasmtime. A policy gets a fresh instance for each call, sees the network's book through
//! host functions and answers; what it answers is a stranger's data until `answer` has read it. A call that traps,
//! runs too long or answers beyond its limits fails alone.
//!
//! ```text
//!  loader     bytes -> digest -> verify -> compile (a child with limits) -> cache -> Component
//!                                                                              |
//!  sandbox    define / propose -> gate (how many, how long) -> fresh Instance -> answer -> the engine
//!
//!  catalogue  which policy a name means, and which of them are loaded
//! ```
//!
//! The arrows between the folders: `catalogue` knows `loader` and `sandbox`, `loader` knows `sandbox`, `sandbox` knows neither.

mod catalogue;
mod digest;
pub mod embedded;
mod loader;
mod sandbox;
mod text;

pub use catalogue::Policies;
pub use digest::sha256;
pub use loader::{CatalogueSource, Compiler, Runtime, maybe_run_compiler_child};
pub use sandbox::{AskedPolicy, Demand, Effect, EffectKind, Limits, Object, Outcome, PlanState, WasmPolicy};
