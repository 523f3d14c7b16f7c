#![doc = include_str!("../README.md")]
//!
//! # In this crate
//!
//! [`build`] builds the crate in a folder, [`Builder`] packages of a workspace, and [`encode`] turns a module that any
//! compiler made into a component. Each refuses what cannot be a policy, and says what to do about it.
//!
//! The same sources and the same compiler give the same bytes in any folder, so that a digest identifies a policy:
//! paths are remapped, and nothing else that is specific to a machine gets into the module.

mod builder;
mod error;
mod module;
mod package;
mod toolchain;

pub use builder::{Builder, build};
pub use error::BuildError;
pub use module::encode;
pub use toolchain::Toolchain;

/// The target of policies: it has no clock, files or randomness to import.
pub const TARGET: &str = "wasm32-unknown-unknown";
