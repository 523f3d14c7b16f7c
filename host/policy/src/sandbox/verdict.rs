//! How a call ended, as it is recorded.

use std::borrow::Cow;

use serde::Serialize;

use super::bindings::tenure::ipam::types::{Definition, Proposal, Refusal};
use crate::decisions::Outcome;

/// The outcome of a call. It is written as [`Outcome`] is read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict<'a> {
    Proposal(&'a Proposal),
    Definition(&'a Definition),
    Refusal(&'a Refusal),
    Failure { kind: &'static str, cause: Cow<'a, str> },
    NotRecorded(String),
}

impl Verdict<'_> {
    /// The same as plain data.
    pub(super) fn outcome(&self) -> serde_json::Result<Outcome> {
        serde_json::from_value(serde_json::to_value(self)?)
    }
}
