//! Policies as sandboxed components: loading, limits, calls, and the catalogue of a node.
//!
//! The one crate that names wasmtime. A policy gets a fresh instance for each call, sees the network's book through
//! host functions and answers; what it answers is data of a stranger until `answer` has read it. A call that traps,
//! runs too long or answers beyond its limits fails alone.
//!
//! ```text
//!  bytes -> digest -> compile (a child with limits) -> cache -> Component -> InstancePre
//!                                                                                 |
//!  define / propose -> gate (how many, how long) -> fresh Instance -> answer -> the engine
//! ```

mod answer;
mod asked;
mod bindings {
    wasmtime::component::bindgen!({ path: "../../wit/ipam/next", world: "policy" });
}
mod bytes;
mod call;
mod catalogue;
mod compiled;
mod compiler;
mod digest;
pub mod embedded;
mod gate;
mod imports;
mod interface;
mod kept;
mod limits;
mod lines;
mod loader;
mod policy;
mod private;
mod runtime;
mod source;
mod text;
mod threads;
mod throttle;
mod watch;

pub use asked::AskedPolicy;
pub use catalogue::Policies;
pub use compiler::{Compiler, maybe_run_compiler_child};
pub use digest::sha256;
pub use limits::Limits;
pub use policy::WasmPolicy;
pub use runtime::Runtime;
pub use source::CatalogueSource;
