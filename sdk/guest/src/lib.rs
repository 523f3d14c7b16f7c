//! What a policy depends on.
//!
//! A policy is a type that implements [`Policy`] and is handed to [`export!`]: it reads a configuration once, and answers
//! each request with the addresses that it proposes. Everything else, such as who owns what, is asked of the [`ledger`].
//!
//! The types here carry parsed addresses; [`bindings`] has the interface as `wit/` writes it.

#[expect(missing_docs, reason = "generated from wit/, which documents it")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/ipam/next",
        world: "policy",
        pub_export_macro: true,
        export_macro_name: "export_component",
        default_bindings_module: "tenure_sdk::bindings",
    });
}

mod answer;
mod component;
mod configuration;
// Elsewhere a policy is a library of its own unit tests, whose heap is theirs.
#[cfg(any(test, all(feature = "heap", target_family = "wasm")))]
mod heap;
mod json;
pub mod ledger;
mod log;
mod pool;
pub mod ranges;
mod subnet;

pub use answer::{Proposal, Refusal, Request};
pub use component::{Exported, Policy};
pub use configuration::{Config, Cooling, Definition};
pub use json::{Json, Node};
pub use log::{debug, info, warn};
pub use pool::{Pool, Range};
pub use subnet::Subnet;
