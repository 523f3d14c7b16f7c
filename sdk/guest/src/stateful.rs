//! Policies that keep state: opaque bytes that change only together with an accepted proposal.

use crate::bindings::tenure::ipam::types;
use crate::{Attributes, Policy, Proposal, Refusal, Request};

/// A policy that also keeps state.
///
/// Prefer to query the [`ledger`](crate::ledger): it always matches what is held, and needs no extra disk space.
///
/// ```
/// use tenure_sdk::{Attributes, Outcome, Refusal, Request, Stateful};
/// # use tenure_sdk::{Config, Definition, Policy, Proposal};
/// # pub struct Counting;
/// # impl Policy for Counting {
/// #     fn define(_: &Config) -> Result<Definition, Refusal> { Err(Refusal::Other(String::new())) }
/// #     fn propose(_: &Request) -> Result<Proposal, Refusal> { Ok(Proposal::new()) }
/// # }
///
/// impl Stateful for Counting {
///     fn propose_with(request: &Request, state: &[u8]) -> Result<Outcome, Refusal> {
///         let count = state.first().map_or(0, |count| count.wrapping_add(1));
///         Ok(Outcome { proposal: Self::propose(request)?, state: Some(vec![count]) })
///     }
///
///     fn migrate(state: &[u8], _from: &Attributes) -> Result<Vec<u8>, Refusal> {
///         Ok(state.to_vec())
///     }
/// }
///
/// tenure_sdk::export!(Counting);
/// tenure_sdk::export_stateful!(Counting);
/// ```
pub trait Stateful: Policy {
    /// Replaces [`Policy::propose`]. The state is empty until a proposal with a state has been accepted.
    ///
    /// # Errors
    /// [`Refusal`] if there is no address to propose; the state stays unchanged.
    fn propose_with(request: &Request, state: &[u8]) -> Result<Outcome, Refusal>;

    /// Converts a state that another policy kept; `policy.name` and `policy.digest` name that policy.
    ///
    /// # Errors
    /// [`Refusal`] if it cannot read the state; then this policy does not take over.
    fn migrate(state: &[u8], from: &Attributes) -> Result<Vec<u8>, Refusal>;
}

/// The answer of a policy that keeps state.
///
/// ```
/// use tenure_sdk::{Outcome, Proposal};
///
/// let unchanged = Outcome { proposal: Proposal::new(), state: None };
/// # let _ = unchanged;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The proposal.
    pub proposal: Proposal,
    /// The new state, which is kept if the proposal is accepted; `None` keeps the old one.
    pub state: Option<Vec<u8>>,
}

impl From<Outcome> for types::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self { proposal: outcome.proposal.into(), state: outcome.state, attributes: Vec::new() }
    }
}
