//! CNI semantics: what both the plugin and the daemon must read and write alike.
//!
//! The environment and the network configuration come in, a result or an error object goes out. The plugin checks a
//! call before it asks the daemon, the daemon checks it again with the same constructors, because the plugin may be
//! of another version.

mod address;
mod args;
mod config;
mod dns;
mod environment;
mod error;
mod json;
mod result;
mod route;
mod version;

pub use args::Arguments;
pub use config::{Configuration, DEFAULT_TIMEOUT, PluginSettings};
pub use dns::Dns;
pub use environment::{Command, Environment};
pub use error::ErrorReport;
pub use result::Success;
pub use route::Route;
pub use version::{SpecVersion, about, versions};
