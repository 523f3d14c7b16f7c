//! The functions that a policy imports.
//!
//! In a component they are the host's. On any other target, in a test, they are those of a stand-in; see
//! [`native`](crate::native).

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::tenure::ipam::{configuration, ledger, log};
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::native::imports::{configuration, ledger, log};
