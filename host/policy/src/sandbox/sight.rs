//! What a call may see: prepared before it begins, and unchanged until it ends.

use std::sync::Arc;

use tenure_ledger::Book;

use super::bindings::tenure::ipam::types::Config;

/// What a call may see.
#[derive(Debug)]
pub(super) enum Sight {
    /// The configuration that a network is being made of.
    Configuration(Arc<Config>),
    /// A network.
    Book(Arc<Book>),
}
