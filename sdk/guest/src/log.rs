//! What a policy says; the host cuts and counts it.

use crate::bindings::tenure::ipam::log::{Level, write};

/// Says something that only its author wants to know.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// Says something worth knowing.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Says that something is wrong.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}
