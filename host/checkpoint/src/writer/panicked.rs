//! The words of a thread that panicked.

use std::any::Any;

/// The message of a panic; empty if it has none.
pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(ToString::to_string);
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
