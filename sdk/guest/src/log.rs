//! A policy's log. The host truncates long lines and limits their number.

use crate::host::log::{Level, write};

/// Logs a message for the policy's author.
///
/// ```no_run
/// # let zone = "blue";
/// tenure_sdk::debug(&format!("zone {zone} has the most room"));
/// ```
pub fn debug(message: &str) {
    write(&Level::Debug, message);
}

/// Logs a message for operators.
///
/// ```no_run
/// tenure_sdk::info("the configuration names no zones: using the default zone");
/// ```
pub fn info(message: &str) {
    write(&Level::Info, message);
}

/// Logs a problem. If the call fails, its error contains the last warning or error.
///
/// ```no_run
/// tenure_sdk::warn("the quota is larger than the pool");
/// ```
pub fn warn(message: &str) {
    write(&Level::Warn, message);
}

/// Logs a problem that somebody has to solve. If the call fails, its error contains the last warning or error.
///
/// ```no_run
/// tenure_sdk::error("the table of racks does not list this node");
/// ```
pub fn error(message: &str) {
    write(&Level::Error, message);
}
