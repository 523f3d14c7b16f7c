//! The view of a call: prepared before it begins, and unchanged until it ends.

use std::sync::Arc;

use tenure_ledger::Book;

use super::bindings::tenure::ipam::types::Config;
use super::questions::LedgerQuestion;
use super::recording::Recording;

/// The view of a call.
#[derive(Debug)]
pub(super) enum CallView {
    /// The configuration of a network that is being defined.
    Configuration(Arc<Config>),
    /// An existing network.
    Book(Arc<Book>),
    /// The answers of an earlier call.
    Recording(Arc<Recording>),
}

impl CallView {
    /// Answers a question. Only a recording may be unable to, which ends the call.
    pub(super) fn answer<Q: LedgerQuestion>(&self, question: &Q) -> wasmtime::Result<Q::Answer> {
        match self {
            Self::Book(book) => Ok(question.of_book(book)),
            Self::Configuration(config) => Ok(question.of_configuration(config)),
            Self::Recording(recording) => recording.answer(question),
        }
    }
}
