//! The life of a block of addresses that the API server leases to a node, as pure tables.
//!
//! A *block* is a CIDR that one node hands addresses out from. It is leased by an `IPBlock` object of the API server, whose name follows from
//! the CIDR, so that creating it is the mutex. The node's agent and the operator each decide what to do next from what they see; the functions
//! here are these decisions, total over their inputs, and the modules' heads are the tables. There is no Kubernetes client here, no clock, no
//! thread and no I/O: `agent`, `operator`, the simulation and the exhaustive model in `tests` share the code.
//!
//! ```text
//!             grant: create IPBlock        accept: GET block, GET space, record
//!    free ─────────────────────────▶ leased ───────────────────────────▶ open ◀─────────────┐
//!     ▲                                                                  │  mark             │ GET: the mark
//!     │ DELETE with uid and resourceVersion,            not empty, drain ▼                   │ is gone
//!     │ only for a mark of this leader's own    cordoned ◀────────── the mark ── in use ──▶ refused
//!     │                                             │ last address cooled │ empty           │
//!     │                                             └─────────▶ frozen ◀──┘                 │
//!     └────────────────────────────────────── ack ready ─────────┴──────────────────────────┘
//! ```
//!
//! [`LeaseRules`] names the rules that these tables consist of. Programs use [`LeaseRules::ALL`]; the tests take out one rule at a time, and
//! expect the model to find the history in which its absence does harm.
#![forbid(unsafe_code)]

pub mod agent;
pub mod block;
pub mod claim;
pub mod identity;
pub mod name;
pub mod node;
pub mod operator;
pub mod pool;
pub mod rules;
pub mod space;
#[cfg(test)]
mod tests;
pub mod word;

pub use self::block::{BlockMark, BlockPhase, FetchedBlock, IpBlock, MarkAck, MarkAnswer, MarkReason};
pub use self::claim::{ClaimKind, ClaimTurn, TurnClaim, TurnGuest, TurnState};
pub use self::identity::{CallId, HolderIdentity, MachineHash, MarkId, ObjectVersion, TurnId, Uid};
pub use self::name::{BlockName, BlockNameError};
pub use self::node::{BlockHint, HeldBlock, NodeIpamSpec, NodeIpamStatus, PoolDemand};
pub use self::pool::{LeasePool, PoolKey};
pub use self::rules::{LeaseRule, LeaseRules};
pub use self::space::{AddressSpace, RangeId, RangeState, RangeUse, SpaceError, SpaceRange};
pub use self::word::UnknownWord;
