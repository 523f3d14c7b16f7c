//! How a call ended, as it is recorded.

use std::borrow::Cow;

use serde::Serialize;

use super::bindings::tenure::ipam::types::{self, Definition, Proposal, Refusal};
use crate::decisions::{DecisionOutcome, encoded};

/// The outcome of a call. It is written as [`DecisionOutcome`] is read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CallVerdict<'a> {
    Proposal(&'a Proposal),
    ProposalWithState { proposal: &'a Proposal, state: Option<String> },
    Definition(&'a Definition),
    Refusal(&'a Refusal),
    Failure { kind: &'static str, cause: Cow<'a, str> },
    NotRecorded(String),
}

impl<'a> CallVerdict<'a> {
    /// The answer of a policy that keeps a state.
    pub(super) fn of(outcome: &'a types::Outcome) -> Self {
        let state = outcome.state.as_deref().map(encoded);
        Self::ProposalWithState { proposal: &outcome.proposal, state }
    }

    /// The same as plain data.
    pub(super) fn outcome(&self) -> serde_json::Result<DecisionOutcome> {
        serde_json::from_value(serde_json::to_value(self)?)
    }
}
