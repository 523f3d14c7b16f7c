//! The harness of the end-to-end tests: it starts the built binaries and real runtimes, and cleans up after them.
//!
//! The handles of a node come from the fixtures crate; this crate has what only the end-to-end tests need. Nothing here knows
//! the insides of a program: a test sees what a runtime or an operator sees. Everything that touches the network does so inside
//! an [`Enclave`], whose namespaces end with the test process, however that ends.

pub mod api_server;
pub mod binary;
pub mod bomb;
pub mod cage;
pub mod clocks;
pub mod containerd;
pub mod enclave;
pub mod golang;
pub mod grpcio;
pub mod image;
pub mod load;
pub mod matrix;
pub mod moto;
pub mod mount;
pub mod podman;
pub mod recording;
pub mod registry;
pub mod request;
pub mod strace;
pub mod suite;
mod systemd;
pub mod traffic;

pub use api_server::ApiServer;
pub use enclave::Enclave;
pub use suite::{Need, Suite};
pub use tenure_fixtures::node::{
    Attachment, Daemon, Outcome, Plugin, Victim, binaries, client, daemon, evidence, journal, plugin,
    scratch, victim,
};
pub use tenure_fixtures::{folder, random, wait};
