//! Addresses, owners, requests, grants and errors: the plain data that every other crate speaks.
//!
//! Nothing here does I/O, reads a clock or holds a lock. A value that exists has passed its checks:
//! the constructors of [`NetworkName`], [`ContainerId`], [`InterfaceName`] and [`Range`] are the only
//! way to one, on the wire, in the checkpoint and in a test alike.

pub mod cni;
mod condition;
mod error;
mod failure;
mod grant;
mod lifetime;
mod moment;
mod name;
mod network;
mod origin;
mod owner;
mod place;
mod range;
mod record;

pub use condition::{Condition, ConditionName, Severity};
pub use error::{Error, ErrorCode, Result};
pub use failure::PolicyFailure;
pub use grant::{AssignedAddress, Grant, Proposal, Request};
pub use lifetime::End;
pub use moment::{BootId, Moment};
pub use name::{ContainerId, InterfaceName, InvalidName, NetworkName, PolicyName};
pub use network::{Cooling, Definition, Network, NetworkConfig, PolicyStamp};
pub use origin::Origin;
pub use owner::{Allocation, Generation, Owner, PodIdentity};
pub use place::Place;
pub use range::{Pool, Range, RangeError};
pub use record::Record;
