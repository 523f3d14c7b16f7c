//! The source of the snapshots' pages: the books, the removed networks, the choices of policies, the loaded ones, the
//! claims of agents, the states of policies, what delegates were asked for, the effects, and the moves.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_ledger::{Delegations, Effects, Moves, Page, States};
use tenure_types::NetworkName;

use crate::committer::Committer;
use crate::networks::Networks;
use crate::ports::Images;

/// The source of the snapshots' pages.
pub(crate) struct Snapshots {
    pub(crate) networks: Arc<Networks>,
    pub(crate) committer: Arc<Committer>,
}

impl Images for Snapshots {
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send> {
        let (networks, committer) = (Arc::clone(&self.networks), Arc::clone(&self.committer));
        // A network removed between the two calls is in the second list.
        let mut names: BTreeSet<NetworkName> = networks.all().into_iter().map(|(name, _)| name).collect();
        names.extend(networks.gone_since(first));
        let books = names.into_iter().filter_map(move |name| networks.page(&name));
        let node = std::iter::once_with(move || committer.node().clone());
        let node = node.flat_map(|node| {
            // Most nodes have none of these.
            let states = Some(node.states).filter(|states| *states != States::default()).map(Page::States);
            let effects =
                Some(node.effects).filter(|effects| *effects != Effects::default()).map(Page::Effects);
            let moves = Some(node.moves).filter(|moves| *moves != Moves::default()).map(Page::Moves);
            let pages =
                [Page::Choices(node.choices), Page::Components(node.components), Page::Claims(node.claims)];
            let delegations = Some(node.delegations).filter(|asked| *asked != Delegations::default());
            pages
                .into_iter()
                .chain(states)
                .chain(delegations.map(Page::Delegations))
                .chain(effects)
                .chain(moves)
        });
        Box::new(books.chain(node))
    }
}
