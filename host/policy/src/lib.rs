//! Policies as sandboxed components: loading, limits, calls, and a node's catalogue.
//!
//! The only crate that names wasmtime. Each call gets a fresh instance, sees the network's book through host
//! functions and returns an answer, which is untrusted until `answer` has read it. A call that traps, runs too long
//! or exceeds its limits fails alone.
//!
//! ```text
//!  loader     bytes -> digest -> verify -> compile (a child with limits) -> cache -> Component
//!                                                                              |
//!  sandbox    define / propose -> gate (how many, how long) -> fresh Instance -> answer -> the engine
//!
//!  catalogue  which policy each name stands for, and which policies are loaded
//!
//!  again      recorded decisions, made by another policy and compared
//!
//!  confine    what a child process gives up before it reads anything
//!
//!  decisions  what calls were given, asked and answered, recorded to be replayed
//! ```
//!
//! Dependencies: `catalogue` uses `loader` and `sandbox`, `loader` uses `sandbox` and `confine`, `sandbox` uses neither. `again`
//! uses `sandbox` and `decisions`; `decisions` uses none of them.

mod again;
mod catalogue;
pub mod confine;
mod contents;
pub mod decisions;
mod digest;
pub mod embedded;
mod loader;
mod sandbox;
mod text;

pub use catalogue::Policies;
pub use contents::Contents;
pub use digest::sha256;
pub use loader::{
    CatalogueSource, Compiler, PolicyRuntime, ReleaseVersion, SignedRelease, TrustedKey, TrustedKeys,
    maybe_run_compiler_child, read_component,
};
pub use sandbox::{AskedPolicy, CallLimits, Grants, WasmPolicy};
