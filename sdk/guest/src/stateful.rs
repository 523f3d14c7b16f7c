//! Policies that keep a state: an opaque text of bytes that changes only together with an accepted proposal.

use crate::bindings::tenure::ipam::types;
use crate::{Attributes, Policy, Proposal, Refusal, Request};

/// A policy that also keeps a state.
///
/// Prefer a question to the [`ledger`](crate::ledger): what it knows is never out of step with what is held, and costs no disk.
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
    /// Takes the place of [`Policy::propose`]. The state is empty until a proposal with one has been accepted.
    ///
    /// # Errors
    /// [`Refusal`] when there is no address to propose; the state stays as it was.
    fn propose_with(request: &Request, state: &[u8]) -> Result<Outcome, Refusal>;

    /// Makes this policy's state of one that another policy kept; `policy.name` and `policy.digest` say which.
    ///
    /// # Errors
    /// [`Refusal`] when it cannot be read; then this policy does not take over.
    fn migrate(state: &[u8], from: &Attributes) -> Result<Vec<u8>, Refusal>;
}

/// What a policy that keeps a state answers a request with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The proposal.
    pub proposal: Proposal,
    /// What to keep from now on, if the proposal is accepted; without it, what was kept stays.
    pub state: Option<Vec<u8>>,
}

impl From<Outcome> for types::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self { proposal: outcome.proposal.into(), state: outcome.state, attributes: Vec::new() }
    }
}
