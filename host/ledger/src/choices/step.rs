//! The steps of a network's history: what happened to policies there, when, and why.

use tenure_types::{Moment, PolicyStamp};

use super::Chooser;

/// What happened to a policy on a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// It began to serve.
    Chosen(Chooser),
    /// Its exchange, or the replacement of its state, could not be made durable, and what was before is in force again.
    Undone,
    /// It was refused, and the policy before it kept serving.
    Refused,
    /// It began to run in the shadow of the serving policy.
    ShadowBegun,
    /// Its shadow run ended.
    ShadowEnded,
    /// It was watched after its exchange, and kept.
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
    /// What happened.
    pub kind: StepKind,
    /// To which policy.
    pub policy: PolicyStamp,
    /// When.
    pub at: Moment,
    /// Why, in words for people; may be empty.
    pub why: String,
}
