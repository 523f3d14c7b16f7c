//! The answers of a recorded call, for a policy that is asked again.

use std::sync::Arc;

use tenure_ledger::Book;

use super::bindings::tenure::ipam::types::Config;
use super::questions::LedgerQuestion;
use crate::decisions::{RecordedQuestion, question};

/// A question that a recording does not answer; it ends the call.
#[derive(Debug, thiserror::Error)]
#[error("asked something that the record does not contain: {0}")]
pub(super) struct NotRecorded(pub(super) String);

/// The questions of a recorded call, with the answers.
#[derive(Debug)]
pub(super) struct Recording {
    asked: Vec<RecordedQuestion>,
    /// The configuration of a network that was being defined: it answers what was not asked then.
    config: Option<Arc<Config>>,
    /// The network as it was then: it answers what was not asked then.
    book: Option<Arc<Book>>,
}

impl Recording {
    /// The recording of a definition.
    pub(super) fn of_definition(asked: Vec<RecordedQuestion>, config: Arc<Config>) -> Self {
        Self { asked, config: Some(config), book: None }
    }

    /// The recording of a proposal, with the network as it was then, if that is known.
    pub(super) fn of_proposal(asked: Vec<RecordedQuestion>, book: Option<Arc<Book>>) -> Self {
        Self { asked, config: None, book }
    }

    /// Finds a question's answer by its function and arguments. A question that is repeated has the same answer again,
    /// since nothing changes a network during a call.
    pub(super) fn answer<Q: LedgerQuestion>(&self, asking: &Q) -> wasmtime::Result<Q::Answer> {
        let with = serde_json::to_value(asking)?;
        let is_it = |asked: &&RecordedQuestion| asked.function == Q::FUNCTION && asked.with == with;
        match (self.asked.iter().find(is_it), &self.config, &self.book) {
            (Some(asked), ..) => Ok(serde_json::from_value(asked.answer.clone())?),
            (None, Some(config), _) => Ok(asking.of_configuration(config)),
            (None, None, Some(book)) => Ok(asking.of_book(book)),
            (None, None, None) => Err(NotRecorded(question(Q::FUNCTION, &with)).into()),
        }
    }
}
