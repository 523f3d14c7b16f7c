//! Executors over the double's EC2, in virtual time: what is done, what is never done, and what a crash leaves.
//!
//! The policy is `aws-eni`, called natively; the engine is the real one, with a journal in memory.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers are part of the tests")]

mod burst;
mod calls;
mod cloud;
mod crashes;
mod disk;
mod doubts;
mod explained;
mod groups;
mod hours;
mod ipamd;
mod metadata;
mod node;
mod outage;
mod permitted;
mod policy;
mod random;
mod recovery;
mod redefined;
mod rest;
mod shortages;
mod targets;
mod told;
mod usual;
mod words;
