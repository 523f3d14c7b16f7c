//! The only path by which state changes: facts are staged and applied in one step, so that the log has them in the
//! order in which the state changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_ledger::{
    Book, Choice, Choices, Claims, Components, Delegations, Effects, Fact, LedgerFact, Moves, States,
};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use crate::claims::Feed;
use crate::live::Shadows;
use crate::lock::hold;
use crate::ports::{Journal, Ticket};

/// The durable state that belongs to no single network's book.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeState {
    pub(crate) choices: Choices,
    pub(crate) components: Components,
    pub(crate) claims: Claims,
    pub(crate) states: States,
    pub(crate) delegations: Delegations,
    pub(crate) effects: Effects,
    pub(crate) moves: Moves,
}

/// The journal, and the state that belongs to no single network.
///
/// That state is behind a `std::sync::Mutex`. Where both are taken, the network's state is locked first. The lock
/// is held only to read or to change memory.
pub(crate) struct Committer {
    pub(crate) journal: Arc<dyn Journal>,
    node: Mutex<NodeState>,
    shadows: Arc<Shadows>,
    /// What agents that watch their claims have to hear.
    pub(crate) feed: Feed,
}

impl Committer {
    pub(crate) fn new(journal: Arc<dyn Journal>, node: NodeState, shadows: Arc<Shadows>, feed: Feed) -> Self {
        Self { journal, node: Mutex::new(node), shadows, feed }
    }

    /// Stages facts that must become durable together and applies them; the caller holds the lock on the book.
    /// Returns the place of the last fact in the log.
    pub(crate) fn commit(&self, book: &mut Arc<Book>, facts: &[Fact]) -> Result<(u64, Ticket)> {
        let mut node = facts.iter().any(|fact| !matches!(fact, Fact::Ledger(_))).then(|| self.node());
        let (first, ticket) = self.journal.stage(facts);
        let mut last = first;
        for (place, fact) in (first..).zip(facts) {
            match (fact, &mut node) {
                (Fact::Ledger(fact), _) => Arc::make_mut(book).apply(place, fact).map_err(defect)?,
                (fact, Some(node)) => node.apply(place, fact),
                // There is one whenever there is a fact of these chapters.
                (_, None) => {}
            }
            self.tell(place, fact, facts);
            last = place;
        }
        if self.shadows.any() {
            self.shadows.changed(book.name(), first, facts);
        }
        Ok((last, ticket))
    }

    /// As [`commit`](Self::commit), for facts about several networks, whose books the caller has locked.
    pub(crate) fn commit_across(
        &self,
        books: &mut BTreeMap<NetworkName, &mut Arc<Book>>,
        facts: &[Fact],
    ) -> Result<Ticket> {
        let mut node = self.node();
        let (first, ticket) = self.journal.stage(facts);
        for (place, fact) in (first..).zip(facts) {
            match (fact, fact.network().and_then(|network| books.get_mut(network))) {
                (Fact::Ledger(of_book), Some(book)) => {
                    Arc::make_mut(book).apply(place, of_book).map_err(defect)?;
                    if self.shadows.any() {
                        self.shadows.changed(book.name(), place, std::slice::from_ref(fact));
                    }
                }
                (fact, _) => node.apply(place, fact),
            }
            self.tell(place, fact, facts);
        }
        Ok(ticket)
    }

    /// Tells watching agents of a fact. The ranges that come and go with what a delegate gives are those of its addresses, and
    /// change nothing for the claims of others.
    fn tell(&self, place: u64, fact: &Fact, group: &[Fact]) {
        let is_range =
            matches!(fact, Fact::Ledger(LedgerFact::RangeAdded { .. } | LedgerFact::RangeRemoved { .. }));
        if !is_range || !group.iter().any(|other| matches!(other, Fact::Delegations(_))) {
            self.feed.applied(place, fact);
        }
    }

    /// As [`commit`](Self::commit), for one fact of a book.
    pub(crate) fn commit_one(&self, book: &mut Arc<Book>, fact: LedgerFact) -> Result<Ticket> {
        self.commit(book, &[fact.into()]).map(|(_, ticket)| ticket)
    }

    /// As [`commit`](Self::commit), for a fact of no book, which `make` derives from the state that it changes; `None`
    /// if it makes none.
    pub(crate) fn commit_node<F: Into<Fact>>(
        &self,
        make: impl FnOnce(&NodeState) -> Option<F>,
    ) -> Option<Ticket> {
        let mut node = self.node();
        let fact = make(&node)?.into();
        let (place, ticket) = self.journal.stage(std::slice::from_ref(&fact));
        node.apply(place, &fact);
        Some(ticket)
    }

    /// The state that belongs to no single network.
    pub(crate) fn node(&self) -> MutexGuard<'_, NodeState> {
        hold(&self.node)
    }

    /// Which policy serves a network.
    pub(crate) fn choice(&self, network: &NetworkName) -> Option<Choice> {
        self.node().choices.of(network).map(|served| served.now.clone())
    }
}

impl NodeState {
    fn apply(&mut self, place: u64, fact: &Fact) {
        match fact {
            Fact::Choices(fact) => self.choices.apply(place, fact),
            Fact::Components(fact) => self.components.apply(place, fact),
            Fact::Claims(fact) => self.claims.apply(place, fact),
            Fact::States(fact) => self.states.apply(place, fact),
            Fact::Delegations(fact) => self.delegations.apply(place, fact),
            Fact::Effects(fact) => self.effects.apply(place, fact),
            Fact::Moves(fact) => self.moves.apply(place, fact),
            // A book's.
            Fact::Ledger(_) => {}
        }
    }
}

/// The error for a fact that conflicts with its book: a defect, never the caller's fault.
pub(crate) fn defect(conflict: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Internal, format_args!("the ledger contradicts itself: {conflict}"))
}
