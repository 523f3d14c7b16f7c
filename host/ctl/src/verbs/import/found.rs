//! The allocations that another IPAM plugin left on disk.

use crate::report::{Entry, PassedOver};

/// The result of reading another plugin's state.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Attachments, in the order in which they were found.
    pub(super) entries: Vec<Entry>,
    /// Files and rows that are no attachments, with the reason.
    pub(super) passed_over: Vec<PassedOver>,
}
