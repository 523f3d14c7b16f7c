//! What a call can see: prepared before it begins, and unchanged until it ends.

use std::sync::Arc;

use tenure_ledger::Book;

use super::bindings::tenure::ipam::types::Config;
use super::questions::Question;
use super::recording::Recording;

/// What a call can see.
#[derive(Debug)]
pub(super) enum Sight {
    /// The configuration of a network that is being defined.
    Configuration(Arc<Config>),
    /// An existing network.
    Book(Arc<Book>),
    /// The answers of an earlier call.
    Recording(Arc<Recording>),
}

impl Sight {
    /// Answers a question. Only a recording may be unable to, which ends the call.
    pub(super) fn answer<Q: Question>(&self, question: &Q) -> wasmtime::Result<Q::Answer> {
        match self {
            Self::Book(book) => Ok(question.of_book(book)),
            Self::Configuration(config) => Ok(question.of_configuration(config)),
            Self::Recording(recording) => recording.answer(question),
        }
    }
}
