//! The Node of the machine on which a daemon runs, and the ENIConfig that it names, as the API server has them.
//!
//! ```text
//!   watch of the Node by its name ─────────┐
//!                                          ├─▶ sight: as each was read last, and why nothing newer is known
//!   watch of the ENIConfig that it names ──┘
//! ```
//!
//! What was read last stays until something else is read: an error, and a Node that is gone, change nothing. A deleted ENIConfig is a person's word,
//! and counts.

mod named;
mod node;
mod sight;
mod watching;

pub use self::node::{EniConfigKeys, OwnNode, OwnNodeSpec, OwnNodeStatus};
pub use self::sight::{EniConfigSight, OwnNodeSight};
pub use self::watching::OwnNodeWatch;
