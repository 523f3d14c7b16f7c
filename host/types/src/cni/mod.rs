//! CNI semantics, shared by the plugin and the daemon.
//!
//! The input is the environment and the network configuration; the output is a result or an error object. The plugin
//! checks a call before it contacts the daemon, and the daemon checks it again with the same constructors, because
//! the plugin may be of another version.

mod address;
mod args;
mod carried;
mod config;
mod dns;
mod environment;
mod error;
mod json;
mod kept;
mod received;
mod result;
mod route;
mod version;

pub use args::Arguments;
pub use config::{Configuration, DEFAULT_TIMEOUT, PluginSettings};
pub use dns::Dns;
pub use environment::{Command, Environment};
pub use error::ErrorReport;
pub use json::ipam_value;
pub use kept::Kept;
pub use received::Received;
pub use result::Success;
pub use route::Route;
pub use version::{SpecVersion, about, versions};
