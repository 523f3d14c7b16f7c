//! The answers of a recorded call, for a policy that is asked again.

use std::sync::Arc;

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
}

impl Recording {
    pub(super) fn new(asked: Vec<RecordedQuestion>, config: Option<Arc<Config>>) -> Self {
        Self { asked, config }
    }

    /// Finds a question's answer by its function and arguments. A question that is repeated has the same answer again,
    /// since nothing changes a network during a call.
    pub(super) fn answer<Q: LedgerQuestion>(&self, asking: &Q) -> wasmtime::Result<Q::Answer> {
        let with = serde_json::to_value(asking)?;
        let is_it = |asked: &&RecordedQuestion| asked.function == Q::FUNCTION && asked.with == with;
        match (self.asked.iter().find(is_it), &self.config) {
            (Some(asked), _) => Ok(serde_json::from_value(asked.answer.clone())?),
            (None, Some(config)) => Ok(asking.of_configuration(config)),
            (None, None) => Err(NotRecorded(question(Q::FUNCTION, &with)).into()),
        }
    }
}
