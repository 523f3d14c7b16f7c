//! How the decisions of two policies on the same request differ.

use tenure_types::Moment;

/// How a candidate's answer compares with the one that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same addresses, or a refusal with the same code.
    Same,
    /// Other addresses.
    OtherAddress,
    /// The candidate refuses where the other policy answered, or the other way around, or with another code.
    OtherRefusal,
    /// The candidate failed, or the ledger would have rejected its proposal.
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
    /// Time of the decision.
    pub at: Moment,
    /// Owner that the request was for.
    pub owner: String,
    /// How the candidate differs.
    pub verdict: Verdict,
    /// Whether the candidate refuses, and not as the serving policy did.
    pub refuses: bool,
    /// Answer of the serving policy.
    pub served: String,
    /// Answer of the candidate.
    pub candidate: String,
}
