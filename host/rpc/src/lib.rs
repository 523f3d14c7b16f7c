//! The `tenure.v1` protocol: generated messages, errors on the wire, and the server.
//!
//! The engine decides what a request does. This crate transports it, checks who may send it ([`door`]), and maps errors to
//! statuses ([`status`]).

#[cfg(feature = "server")]
pub mod admin;
#[cfg(feature = "server")]
pub mod admission;
#[cfg(feature = "server")]
pub mod claims;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod cni;
#[cfg(feature = "server")]
pub mod door;
pub mod host_local;
#[cfg(feature = "serde")]
mod json;
#[cfg(feature = "server")]
pub mod peer;
pub mod resolv_conf;
#[cfg(feature = "server")]
mod routes;
pub mod run_dir;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
mod socket;
pub mod status;
pub mod v1;

/// The most bytes that a network configuration may have.
///
/// The configuration of a GC lists every attachment of the node: this is room for 50,000 of them.
pub const LONGEST_CONFIG: usize = 8 << 20;

/// The agents' socket inside the run directory. It has a directory of its own, which a container can mount without the other
/// sockets.
pub const AGENT_SOCKET: &str = "agent/agent.sock";

/// The default socket on which the daemon serves CNI plugins.
pub const DEFAULT_CNI_SOCKET: &str = "/run/tenure/cni.sock";
