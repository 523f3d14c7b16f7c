//! Network interfaces of AWS that carry pods' addresses: what may be done to them, and doing it.
//!
//! The rules are pure and the same against the real service and its doubles: EC2 is a port ([`Ec2`]), and so is the
//! instance's metadata. No other crate names the AWS SDK.

pub mod budget;
#[cfg(any(feature = "sdk", test))]
mod codes;
mod date;
pub mod executor;
pub mod former;
pub mod guards;
pub mod identity;
pub mod leaked;
pub mod limits;
pub mod metadata;
mod names;
pub mod outlook;
pub mod port;
pub mod ranges;
pub mod reconcile;
#[cfg(test)]
mod samples;
#[cfg(feature = "sdk")]
pub mod sdk;
pub mod seen;
pub mod settings;
pub mod situation;
pub mod steps;
pub mod witness;

pub use port::{CallError, Ec2, Failure};
pub use settings::Ec2Settings;
