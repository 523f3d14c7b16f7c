//! The operator of a cluster: it leases blocks of addresses to nodes, and takes them back.
//!
//! ```text
//!   view      watches ──▶ a snapshot: pools, spaces, blocks, nodes, as the types of tenure-leases
//!   decide    snapshot and memory ──▶ writes; the tables of tenure-leases decide, and nothing here calls the API server
//!   fencing   the blocks of nodes that look dead: each after a quorum GET of its Node
//!   writes    one call for each write, with the uid and the resourceVersion that were read
//!   pass      one round of these; leadership lets one operator run at a time
//!   reports   events, metrics and health: nothing waits for them
//! ```
//!
//! Correctness does not depend on a single leader, and a leader's memory holds nothing that a successor needs: two of them may grant too much, which comes
//! back as excess, and never the same block twice, since the name of an IPBlock is the mutex.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod clock;
pub mod decide;
mod definitions;
pub mod fencing;
pub mod import;
pub mod leadership;
pub mod memory;
pub mod pass;
pub mod reports;
pub mod view;
pub mod writes;

pub use self::arguments::{MetricsAddress, OperatorArguments, OperatorCommand};
pub use self::pass::Operator;
