#![doc = include_str!("../README.md")]

mod agent;
mod connection;
mod known;
mod problem;
pub mod v1;

pub use agent::{Agent, Component};
pub use connection::connect;
pub use known::Known;
pub use problem::Problem;
pub use v1::{Claim, ClaimSpec, Family};

/// A claim of addresses of a network, under a name of the agent's choice: of those families and with those addresses that the network's
/// policy chooses.
///
/// The fields of a [`ClaimSpec`] ask for more: `ClaimSpec { lease_seconds: 60, ..claim("pods", "router") }`.
pub fn claim(network: impl Into<String>, name: impl Into<String>) -> ClaimSpec {
    ClaimSpec { network: network.into(), name: name.into(), ..ClaimSpec::default() }
}
