//! The whole durable state, and its parts in a snapshot.

use tenure_types::NetworkName;

use crate::{Book, Image, NodeChapters, RemovedNetwork, RemovedNetworks};

/// The durable state, as recovery rebuilds it and an engine starts with it.
#[derive(Debug, Default)]
pub struct LedgerState {
    /// The networks' books, by name.
    pub books: Vec<Book>,
    /// The networks that were removed, as far as the snapshot and the log tell.
    pub removed: RemovedNetworks,
    /// The chapters of the node.
    pub node: NodeChapters,
}

/// A part of the whole state, current as of a place in the log that it records. A snapshot consists of pages, taken one after
/// another while facts keep being applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// A network's book.
    Book(Box<Image>),
    /// A removed network. There may be a book of the same name since.
    Gone {
        /// The network.
        network: NetworkName,
        /// The place of its removal, and what cools down since before that.
        removed: RemovedNetwork,
    },
    /// The chapters of the node.
    Node(Box<NodeChapters>),
}
