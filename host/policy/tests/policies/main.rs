//! Real components in the real sandbox; a real book checks each answer.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

mod asked;
mod aws_eni;
mod choosing;
mod conformance;
mod evolution;
mod granting;
mod host_local;
mod hostile;
mod keeping;
mod loading;
mod memories;
mod metering;
mod native;
mod node;
mod panics;
mod planning;
mod pruning;
mod recording;
