//! Addresses, owners, requests, grants and errors: the plain data types that all other crates share.
//!
//! Nothing here does I/O, reads a clock or holds a lock; [`Clock`] is only the port. Every value is valid: [`NetworkName`], [`ContainerId`],
//! [`InterfaceName`] and [`Range`] can be made only by their checking constructors, also from the wire and the
//! checkpoint.

mod address;
pub mod agreed;
mod allocation;
mod attributes;
mod clock;
pub mod cni;
mod condition;
mod delegate;
mod effect;
mod error;
mod failure;
mod grant;
mod identity;
mod lifetime;
mod lock;
mod meter;
mod moment;
mod name;
mod network;
mod origin;
mod outcome;
mod owner;
mod pattern;
mod place;
mod plan;
mod pool;
pub mod printable;
mod range;
mod selector;

pub use address::{AssignedAddress, Source};
pub use agreed::COOLDOWN_SECONDS;
pub use allocation::{Allocation, Generation, Link, PodIdentity, Sandbox};
pub use attributes::{Attributes, InvalidAttributes, MOST_ATTRIBUTES};
pub use clock::Clock;
pub use condition::{Condition, ConditionName, Severity};
pub use delegate::{DELEGATED, DelegateCall, DelegateVerb};
pub use effect::{Effect, EffectKind};
pub use error::{Error, ErrorCode, Result};
pub use failure::PolicyFailure;
pub use grant::{Assignment, Connected, Grant, LinkEnd, Proposal, Request, RequestContext};
pub use identity::NodeIdentity;
pub use lifetime::End;
pub use lock::{hold, hold_exclusive, hold_shared};
pub use meter::{Counts, Meter};
pub use moment::{BootId, Moment};
pub use name::{
    AgentName, ClaimName, ContainerId, DelegateName, HolderName, IntentId, InterfaceName, InvalidName,
    NetworkName, PolicyName, PoolName, RangeName, ScopeName,
};
pub use network::{Cooling, Definer, Definition, Network, NetworkConfig, PolicyStamp};
pub use origin::Origin;
pub use outcome::{LONGEST_STATE, Outcome};
pub use owner::Owner;
pub use pattern::NamePattern;
pub use place::Place;
pub use plan::{Demand, Object, PlanState};
pub use pool::{DefinedPool, Need, Pool, Supply};
pub use range::{Range, RangeError};
pub use selector::PolicySelector;
