#![doc = include_str!("../README.md")]
//!
//! # In this crate
//!
//! [`build`] builds the crate in a folder, [`Builder`] packages of a workspace, and [`encode`] turns a module that any
//! compiler made into a component; [`wrap`] does so for one that was compiled for WASI. Each refuses what cannot be a policy, and says what to do about it.
//! [`interface`] encodes the interface itself, for a registry.
//!
//! The same sources and the same compiler give the same bytes in any folder, so that a digest identifies a policy:
//! paths are remapped, and nothing else that is specific to a machine gets into the module.

mod builder;
mod error;
mod interface;
mod module;
mod package;
mod toolchain;
#[cfg(feature = "wrap")]
mod wrap;

pub use builder::{Builder, build};
pub use error::BuildError;
pub use interface::{EncodedPackage, interface};
pub use module::encode;
pub use toolchain::Toolchain;
#[cfg(feature = "wrap")]
pub use wrap::wrap;

/// The target of policies: it has no clock, files or randomness to import.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The module that programs for WASI's first version import.
const WASI: &str = "wasi_snapshot_preview1";
