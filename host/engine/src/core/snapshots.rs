//! The source of the snapshots' pages: the books, the removed networks, and the chapters of the node.

use std::sync::Arc;

use tenure_ledger::Page;
use tenure_types::NetworkName;

use super::committer::Committer;
use crate::network::networks::Networks;
use crate::ports::Images;

/// The source of the snapshots' pages.
pub(crate) struct Snapshots {
    pub(crate) networks: Arc<Networks>,
    pub(crate) committer: Arc<Committer>,
}

impl Images for Snapshots {
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send> {
        let (networks, committer) = (Arc::clone(&self.networks), Arc::clone(&self.committer));
        // A network removed between the two calls is in the second list; one removed later, before its page is taken, has none.
        let names: Vec<NetworkName> = networks.all().into_iter().map(|(name, _)| name).collect();
        let gone = committer.removed_since(first);
        let of = Arc::clone(&committer);
        let books = names.into_iter().filter_map(move |name| networks.page(&name).or_else(|| of.gone(&name)));
        let node = std::iter::once_with(move || Page::Node(Box::new(committer.node().clone())));
        Box::new(gone.into_iter().chain(books).chain(node))
    }
}
