//! The only path by which state changes: facts are staged and applied in one step, so that the log has them in the
//! order in which the state changed.

use std::sync::{Arc, Mutex, MutexGuard};

use tenure_ledger::{Book, Choice, Choices, Fact, LedgerFact};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use crate::lock::hold;
use crate::ports::{Journal, Ticket};

/// The journal, and the state that belongs to no single network.
///
/// The choices are behind a `std::sync::Mutex`. Where both are taken, the network's state is locked first. The lock
/// is held only to read or to change memory.
pub(crate) struct Committer {
    pub(crate) journal: Arc<dyn Journal>,
    choices: Mutex<Choices>,
}

impl Committer {
    pub(crate) fn new(journal: Arc<dyn Journal>, choices: Choices) -> Self {
        Self { journal, choices: Mutex::new(choices) }
    }

    /// Stages facts that must become durable together and applies them; the caller holds the lock on the book.
    /// Returns the place of the last fact in the log.
    pub(crate) fn commit(&self, book: &mut Arc<Book>, facts: &[Fact]) -> Result<(u64, Ticket)> {
        let mut choices = facts.iter().any(|fact| matches!(fact, Fact::Choices(_))).then(|| self.choices());
        let (first, ticket) = self.journal.stage(facts);
        let mut last = first;
        for (place, fact) in (first..).zip(facts) {
            match (fact, &mut choices) {
                (Fact::Ledger(fact), _) => Arc::make_mut(book).apply(place, fact).map_err(defect)?,
                (Fact::Choices(fact), Some(choices)) => choices.apply(place, fact),
                (Fact::Choices(_), None) => {}
            }
            last = place;
        }
        Ok((last, ticket))
    }

    /// As [`commit`](Self::commit), for one fact of a book.
    pub(crate) fn commit_one(&self, book: &mut Arc<Book>, fact: LedgerFact) -> Result<Ticket> {
        self.commit(book, &[fact.into()]).map(|(_, ticket)| ticket)
    }

    /// Which policy serves each network.
    pub(crate) fn choices(&self) -> MutexGuard<'_, Choices> {
        hold(&self.choices)
    }

    /// Which policy serves a network.
    pub(crate) fn choice(&self, network: &NetworkName) -> Option<Choice> {
        self.choices().of(network).map(|served| served.now.clone())
    }
}

/// The error for a fact that conflicts with its book: a defect, never the caller's fault.
pub(crate) fn defect(conflict: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Internal, format_args!("the ledger contradicts itself: {conflict}"))
}
