//! What a policy says; the host cuts and counts it.

use crate::bindings::tenure::ipam::log::{Level, write};

/// Says something that only its author wants to know.
pub fn debug(message: &str) {
    write(&Level::Debug, message);
}

/// Says something worth knowing.
pub fn info(message: &str) {
    write(&Level::Info, message);
}

/// Says that something is wrong. The last warning of a call that fails is in its error, too.
///
/// ```no_run
/// tenure_sdk::warn("the quota is larger than the pool");
/// ```
pub fn warn(message: &str) {
    write(&Level::Warn, message);
}
