//! What another IPAM left on disk, as far as it can be read.

use crate::report::{Entry, PassedOver};

/// What was found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Attachments, in the order in which they were found.
    pub(super) entries: Vec<Entry>,
    /// What cannot be an attachment, and why.
    pub(super) passed_over: Vec<PassedOver>,
}
