//! Network interfaces of AWS that carry pods' addresses: what may be done to them, and doing it.
//!
//! The rules are pure and the same against the real service and its doubles: EC2 is a port ([`Ec2`]), and so is the
//! instance's metadata. No other crate names the AWS SDK.

pub mod port;

pub use port::{CallError, Ec2, Failure};
