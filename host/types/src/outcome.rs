//! The answer of a policy that may keep a state.

use std::sync::Arc;

use crate::Proposal;

/// The most bytes of a state. They are written with each proposal that changes them.
pub const LONGEST_STATE: usize = 16 << 10;

/// A policy's answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The proposal.
    pub proposal: Proposal,
    /// The new state, which is kept if the proposal is accepted; `None` keeps the old one.
    pub state: Option<Arc<[u8]>>,
}

impl From<Proposal> for Outcome {
    fn from(proposal: Proposal) -> Self {
        Self { proposal, state: None }
    }
}
