//! The tenure.v1 protocol: generated messages, errors on the wire, and the server.
//!
//! What a request means is the engine's business. This crate knows how it travels, who may send it
//! ([`door`]), and how a failure is told ([`status`]).

#[cfg(feature = "server")]
pub mod admin;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod cni;
#[cfg(feature = "server")]
pub mod door;
pub mod resolv_conf;
pub mod run_dir;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
mod socket;
pub mod status;
pub mod v1;

/// The most bytes that a network configuration, and so a request, may have.
///
/// A GC names every attachment of the node in its configuration: this is room for 50,000 of them.
pub const LONGEST_CONFIG: usize = 8 << 20;

/// Where the daemon listens for CNI plugins unless it is told otherwise.
pub const DEFAULT_CNI_SOCKET: &str = "/run/tenure/cni.sock";
