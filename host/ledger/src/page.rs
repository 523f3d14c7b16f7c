//! What a snapshot is made of: every chapter's state, in pages that are taken one after another while facts go on.

use tenure_types::NetworkName;

use crate::{Choices, Image};

/// A part of the whole state. Each says the place in the log that it is true as of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// A network's book.
    Book(Box<Image>),
    /// A network that was removed, and where in the log: facts of it before that place are of no interest.
    Gone {
        /// The network.
        network: NetworkName,
        /// The place of the fact that removed it.
        through: u64,
    },
    /// What serves each network.
    Choices(Choices),
}
