//! A strict double of EC2 and of the instance metadata service (IMDS), for tests and for trying tenure without AWS.
//!
//! One account with several nodes, and several faces on loopback: EC2's query protocol, the metadata service of each
//! instance, and a control port. It refuses what EC2 refuses, with EC2's codes; it is late where EC2 is late; and it fails as
//! it is told to. Nothing that is released depends on it.
//!
//! ```text
//! EC2 (form in, XML out) ─┐                     ┌─ state: instances, interfaces, subnets, time; pure
//! IMDS of each instance ──┼─▶ world, one lock ──┼─ faults, permissions
//! control port (JSON) ────┤                     └─ journal, oracle
//! wire (veth, optional) ──┘
//! ```
//!
//! Time is virtual, and moved by the test, or real. With the same seed and the same calls, a double gives the same answers.

mod clock;
mod control;
mod doors;
mod double;
mod ec2;
mod faults;
mod held;
mod http;
mod imds;
mod journal;
mod oracle;
mod permissions;
mod setup;
pub mod state;
mod wire;
mod world;
mod xml;

pub use clock::Clock;
pub use control::HELP;
pub use double::{Addresses, Double};
pub use faults::{Fault, Faults, Kind};
pub use held::{Held, Holds};
pub use journal::{Call, Entry, Face, Journal, Told};
pub use oracle::{Oracle, Terms, Violation};
pub use permissions::{Denial, Permissions, Tag};
pub use setup::{NewInstance, NewSubnet, Setup};
pub use world::{Shared, Signature, World};
