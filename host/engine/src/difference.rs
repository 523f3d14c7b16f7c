//! How the decisions of two policies on the same request differ.

use tenure_types::Moment;

/// How a candidate's answer compares with the one that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same addresses, or a refusal with the same code.
    Same,
    /// Other addresses.
    OtherAddress,
    /// It refuses where the other answered, or the other way around, or with another code.
    OtherRefusal,
    /// It failed, or the ledger would have rejected its proposal.
    Failed,
}

impl Verdict {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::OtherAddress => "other-address",
            Self::OtherRefusal => "other-refusal",
            Self::Failed => "failed",
        }
    }
}

/// A request that was decided differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// When the request was decided.
    pub at: Moment,
    /// Whose request it was.
    pub owner: String,
    /// How the candidate differs.
    pub verdict: Verdict,
    /// What was answered.
    pub served: String,
    /// What the candidate would have answered.
    pub candidate: String,
}
