//! Runs policies: one engine with its limits, and a fresh instance for each call.
//!
//! It does not know where a component came from or how it was loaded.
//!
//! ```text
//! asked -> trust -> here, or on one of the threads -> policy -> gate -> call (limits) -> instance
//!                                       question ------------------^         |      ^--- view (what it may see)
//!                                         answer <---------------------------+
//! ```
//!
//! The view is the answers to a policy's `questions`: by a book, by a configuration that is being defined, or in a
//! `replay` by the `recording` of an earlier call.
//!
//! `abilities` finds a policy's optional exports, plans and state; `optional` calls them.

mod abilities;
mod answer;
mod asked;
pub(crate) mod bindings;
mod call;
mod engine;
mod gate;
mod grants;
mod limits;
mod lines;
mod log;
mod meters;
mod optional;
mod plan;
mod policy;
mod processor;
mod question;
mod questions;
mod recording;
mod replay;
mod sight;
mod threads;
mod throttle;
mod to_wit;
mod trust;
mod verdict;
mod view;
mod watch;

pub use asked::AskedPolicy;
pub(crate) use engine::{PolicySandbox, compiled_config};
pub(crate) use grants::Granted;
pub use grants::Grants;
pub use limits::CallLimits;
pub(crate) use limits::named;
pub use policy::WasmPolicy;
pub(crate) use processor::time as processor_time;
