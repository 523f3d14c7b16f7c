//! The answer of `policy pull`.

use serde::Serialize;
use tenure_types::PolicyName;

/// The policies of a file of references, each with what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct PullReport {
    pub(crate) policies: Vec<PulledPolicy>,
}

/// A policy, and what became of its component.
#[derive(Debug, Serialize)]
pub(crate) struct PulledPolicy {
    pub(crate) name: String,
    pub(crate) reference: String,
    pub(crate) outcome: PullOutcome,
    /// The reason for which it was not pulled; empty if it was.
    pub(crate) problem: String,
}

/// The outcome for a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PullOutcome {
    Pulled,
    Unchanged,
    /// The file of references does not name it any more.
    Removed,
    Failed,
}

impl PulledPolicy {
    pub(crate) fn new(name: &PolicyName, reference: String, outcome: PullOutcome) -> Self {
        Self { name: name.to_string(), reference, outcome, problem: String::new() }
    }
}

impl PullReport {
    /// Whether a file was written or removed.
    pub(crate) fn has_changed(&self) -> bool {
        let changes = [PullOutcome::Pulled, PullOutcome::Removed];
        self.policies.iter().any(|policy| changes.contains(&policy.outcome))
    }
}
