//! The allocations that another IPAM plugin left on disk.

use std::collections::BTreeSet;

use crate::report::{FoundAttachment, PassedOver};

/// The result of reading another plugin's state.
#[derive(Debug, Default, PartialEq)]
pub(in crate::verbs) struct Found {
    /// Attachments, in the order in which they were found.
    pub(in crate::verbs) entries: Vec<FoundAttachment>,
    /// The networks that the state is about, also those without entries.
    pub(in crate::verbs) networks: BTreeSet<String>,
    /// Files and rows that do not describe an attachment, with the reason.
    pub(in crate::verbs) passed_over: Vec<PassedOver>,
}
