//! The stored form of decisions: a header, and then a decision a line.
//!
//! Readers ignore fields that they do not know. A change that older readers would misunderstand raises [`FORMAT`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_types::PolicyFailure;

use super::view::RecordedView;
use crate::text::clean;

/// The version of the format, in each header.
pub(super) const FORMAT: u32 = 1;

/// How much of a container ID is shown.
const SHOWN: usize = 12;

/// The header of a file, which holds for the lines after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DecisionHeader {
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
    /// `stateful-allocation.propose`.
    ProposeWithState,
}

/// One call of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDecision {
    /// Counts a network's decisions.
    pub number: u64,
    /// The time at which the call ended, in milliseconds since 1970.
    pub at_ms: u64,
    /// The network.
    pub network: String,
    /// The policy's name.
    pub policy: String,
    /// The policy's SHA-256.
    pub digest: String,
    /// The function that was called.
    pub function: Function,
    /// The input of the call: a request, or a configuration.
    pub given: Value,
    /// The state that it was given, in base64, if the policy keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The limits of the call, if they are not those of the file's other calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RecordedLimits>,
    /// The policy's questions, in order. Within one call, the same question always has the same answer.
    pub asked: Vec<RecordedQuestion>,
    /// How the call ended.
    pub outcome: DecisionOutcome,
    /// The answers that the network had for any policy; [`RecordedBooks`](super::RecordedBooks) reads it. Records of older versions have
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<RecordedView>>,
}

impl RecordedDecision {
    /// The state that the policy was given; empty if it keeps none.
    ///
    /// # Errors
    /// If it is not base64.
    pub fn given_state(&self) -> Result<Vec<u8>, base64::DecodeError> {
        self.state.as_deref().map(|state| STANDARD.decode(state)).transpose().map(Option::unwrap_or_default)
    }

    /// The value of an attribute of the request.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let attributes = self.given.get("attributes")?.as_array()?;
        let named = |attribute: &&Value| attribute.get("name").and_then(Value::as_str) == Some(name);
        attributes.iter().find(named)?.get("value")?.as_str()
    }

    /// Whether an agent asked, for a claim.
    #[must_use]
    pub fn is_of_agent(&self) -> bool {
        self.attribute("owner.claim").is_some_and(|claim| !claim.is_empty())
    }

    /// The owner, as text: `namespace/pod`, `claim agent/name`, or the container; empty for a definition.
    #[must_use]
    pub fn who(&self) -> String {
        let of = |name| self.attribute(name).unwrap_or_default();
        let who = match (of("pod.namespace"), of("pod.name"), of("owner.claim")) {
            (_, "", "") => of("owner.container").chars().take(SHOWN).collect(),
            (_, "", claim) => format!("claim {}/{claim}", of("owner.agent")),
            ("", pod, _) => pod.to_owned(),
            (namespace, pod, _) => format!("{namespace}/{pod}"),
        };
        clean(&who)
    }
}

/// A state, as it is recorded.
pub(crate) fn encoded(state: &[u8]) -> String {
    STANDARD.encode(state)
}

/// A question of a policy, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedQuestion {
    /// The function's name in the interface.
    pub function: String,
    /// The question's arguments, by name.
    pub with: Value,
    /// The answer.
    pub answer: Value,
}

/// How a call ended. The values are those of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionOutcome {
    /// The policy proposed addresses.
    Proposal(Value),
    /// The policy proposed addresses, and keeps a state.
    ProposalWithState {
        /// The proposal.
        proposal: Value,
        /// The new state, in base64; `None` if the old one stays.
        state: Option<String>,
    },
    /// The policy defined a network.
    Definition(Value),
    /// The policy refused.
    Refusal(Value),
    /// The call failed.
    Failure {
        /// The name of the [`PolicyFailure`](tenure_types::PolicyFailure).
        kind: String,
        /// Why, in one line.
        cause: String,
    },
    /// In a replay: it asked this, and the record contains no answer.
    NotRecorded(String),
}

impl DecisionOutcome {
    /// Whether a replay of the call has ended in the same way: to the bit, except that a call that exceeded its
    /// processor time may have had more of it.
    #[must_use]
    pub fn is_same(&self, replayed: &Self) -> bool {
        let is_late = |outcome: &Self| matches!(outcome, Self::Failure { kind, .. } if kind == PolicyFailure::Deadline.name());
        self == replayed || is_late(self) && is_late(replayed)
    }
}
