//! A claim that a policy is asked for.

use std::sync::Arc;

use tenure_ledger::{Book, ClaimKey, Wish};
use tenure_types::Moment;

use crate::ports::Policy;

/// A claim to decide on: the policy to ask, and the book that it sees.
pub(super) struct ClaimQuestion<'a> {
    pub(super) policy: &'a dyn Policy,
    /// The network's book, or a draft of it.
    pub(super) book: Arc<Book>,
    pub(super) key: &'a ClaimKey,
    pub(super) wish: &'a Wish,
    pub(super) now: Moment,
}
