//! What a call can see: prepared before it begins, and unchanged until it ends.

use std::sync::Arc;

use tenure_ledger::Book;

use super::bindings::tenure::ipam::types::Config;

/// What a call can see.
#[derive(Debug)]
pub(super) enum Sight {
    /// The configuration of a network that is being defined.
    Configuration(Arc<Config>),
    /// An existing network.
    Book(Arc<Book>),
}
