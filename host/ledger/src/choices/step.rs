//! The steps of a network's history: what happened to policies there, when, and why.

use tenure_types::{Moment, PolicyStamp};

use super::Chooser;

/// The kind of a step in a policy's life on a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The policy began to serve.
    Chosen(Chooser),
    /// The exchange, or the replacement of the state, could not be made durable, and what was before is in force again.
    Undone,
    /// The policy was refused, and the previous one kept serving.
    Refused,
    /// The policy began to run in the shadow of the serving policy.
    ShadowBegun,
    /// The shadow run ended.
    ShadowEnded,
    /// The policy was watched after its exchange, and kept.
    Kept,
    /// An operator replaced its state.
    StateReplaced,
}

impl StepKind {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chosen(Chooser::RollBack) => "rolled-back",
            Self::Chosen(_) => "chosen",
            Self::Undone => "undone",
            Self::Refused => "refused",
            Self::ShadowBegun => "shadow-begun",
            Self::ShadowEnded => "shadow-ended",
            Self::Kept => "kept",
            Self::StateReplaced => "state-replaced",
        }
    }
}

/// A step of a network's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Kind of the step.
    pub kind: StepKind,
    /// To which policy.
    pub policy: PolicyStamp,
    /// Time of the step.
    pub at: Moment,
    /// Why, in words for people; may be empty.
    pub why: String,
}
