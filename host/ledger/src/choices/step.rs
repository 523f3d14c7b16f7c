//! The steps of a network's history: what happened to policies there, when, and why.

use tenure_types::{Moment, PolicyStamp};

use super::Chooser;

/// What happened to a policy on a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// It began to serve.
    Chosen(Chooser),
    /// Its exchange could not be made durable, and the policy before it serves again.
    Undone,
    /// It was refused, and the policy before it kept serving.
    Refused,
    /// It began to run in the shadow of the serving policy.
    ShadowBegun,
    /// Its shadow run ended.
    ShadowEnded,
    /// It was watched after its exchange, and kept.
    Kept,
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
