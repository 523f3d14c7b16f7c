//! The built `tenurectl`, as people and scripts run it.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

mod admin;
mod author;
mod cluster;
mod exit_codes;
mod export;
mod install;
