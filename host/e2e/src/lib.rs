//! The harness of the end-to-end tests: it starts the built binaries and real runtimes, and cleans up after them.
//!
//! Nothing here knows tenure's insides: the tests see what a runtime or an operator sees. What touches the network does
//! so inside an [`Enclave`], whose namespaces end with the test process however that ends.

pub mod binaries;
pub mod bomb;
pub mod client;
pub mod clocks;
pub mod cni;
pub mod containerd;
pub mod daemon;
pub mod enclave;
pub mod image;
pub mod journal;
pub mod load;
pub mod metrics;
pub mod mount;
pub mod podman;
pub mod recording;
pub mod scratch;
pub mod strace;
pub mod suite;
pub mod traffic;
pub mod victim;
pub mod wait;

pub use cni::{Attachment, Outcome, Plugin};
pub use daemon::Daemon;
pub use enclave::Enclave;
pub use suite::{Need, Suite};
pub use tenure_fixtures::random;
pub use victim::Victim;
