//! The stored form of decisions: a header, and then a decision a line.
//!
//! Readers ignore fields that they do not know. A change that older readers would misunderstand raises [`FORMAT`].

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_types::PolicyFailure;

/// The version of the format, in each header.
pub(super) const FORMAT: u32 = 1;

/// The header of a file, which holds for the lines after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The format's version.
    #[serde(rename = "decisions")]
    pub(super) format: u32,
    /// The daemon's version.
    pub(super) program: String,
    pub(super) limits: RecordedLimits,
}

/// The limits of the recorded calls, since a failure depends on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLimits {
    /// The processor time of a call, in milliseconds.
    pub deadline_ms: u64,
    /// The memory of a call, in bytes.
    pub memory: usize,
    /// The bytes of strings and lists from the policy, in one call.
    pub answer: usize,
}

/// The functions of a policy whose calls are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// `network.define`.
    Define,
    /// `allocation.propose`.
    Propose,
}

/// One call of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Counts a network's decisions.
    pub number: u64,
    /// When the call ended, in milliseconds since 1970.
    pub at_ms: u64,
    /// The network.
    pub network: String,
    /// The policy's name.
    pub policy: String,
    /// The policy's SHA-256.
    pub digest: String,
    /// The function that was called.
    pub function: Function,
    /// What it was given: a request, or a configuration.
    pub given: Value,
    /// What the policy asked, in its order. Within one call, the same question always has the same answer.
    pub asked: Vec<Asked>,
    /// How the call ended.
    pub outcome: Outcome,
}

impl Decision {
    /// The value of an attribute of the request.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let attributes = self.given.get("attributes")?.as_array()?;
        let named = |attribute: &&Value| attribute.get("name").and_then(Value::as_str) == Some(name);
        attributes.iter().find(named)?.get("value")?.as_str()
    }
}

/// A question of a policy, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The function's name in the interface.
    pub function: String,
    /// Its arguments, by name.
    pub with: Value,
    /// The answer.
    pub answer: Value,
}

/// How a call ended. The values are those of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It proposed addresses.
    Proposal(Value),
    /// It defined a network.
    Definition(Value),
    /// It refused.
    Refusal(Value),
    /// It failed.
    Failure {
        /// The name of the [`PolicyFailure`](tenure_types::PolicyFailure).
        kind: String,
        /// Why, in one line.
        cause: String,
    },
    /// In a replay: it asked this, and the record contains no answer.
    NotRecorded(String),
}

impl Outcome {
    /// Whether a replay of the call has ended in the same way: to the bit, except that a call that exceeded its
    /// processor time may have had more of it.
    #[must_use]
    pub fn is_same(&self, replayed: &Self) -> bool {
        let is_late = |outcome: &Self| matches!(outcome, Self::Failure { kind, .. } if kind == PolicyFailure::Deadline.name());
        self == replayed || is_late(self) && is_late(replayed)
    }
}
