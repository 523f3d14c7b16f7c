//! Plans and proposals, natively, on a stand-in for EC2.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test helpers are part of the tests"
)]

mod examples;
mod ipamd;
mod properties;
mod proposals;
mod situations;
mod targets;
mod told;
mod traces;
mod world;
