//! Policies that keep state: opaque bytes that change only together with an accepted proposal.

use crate::bindings::tenure::ipam::types;
use crate::{Attributes, Config, ConfigError, Definition, Proposal, Refusal, Request};

/// A policy that keeps state. It takes the place of [`Policy`](crate::Policy): the host refuses its requests where it may keep none.
///
/// Prefer to query the [`ledger`](crate::ledger): it always matches what is held, and needs no extra disk space.
///
/// ```
/// use tenure_sdk::{Attributes, Config, ConfigError, Cooling, Definition, Outcome, Proposal, Refusal, Request, Stateful};
///
/// pub struct Counting;
///
/// impl Stateful for Counting {
///     fn define(_: &Config) -> Result<Definition, ConfigError> {
///         Definition::configured(Cooling::Preferred)
///     }
///
///     fn propose(_: &Request, state: &[u8]) -> Result<Outcome, Refusal> {
///         let count = state.first().map_or(0, |count| count.wrapping_add(1));
///         let proposal = Proposal::of_each(|pool| pool.next_in_turn())?;
///         Ok(Outcome { proposal, state: Some(vec![count]) })
///     }
///
///     fn migrate(state: &[u8], _from: &Attributes) -> Result<Vec<u8>, Refusal> {
///         Ok(state.to_vec())
///     }
/// }
///
/// tenure_sdk::export_stateful!(Counting);
/// ```
pub trait Stateful {
    /// Makes a definition from a network's configuration.
    ///
    /// # Errors
    /// With the path of the wrong key.
    fn define(config: &Config) -> Result<Definition, ConfigError>;

    /// Proposes at most one address per pool, and one of each pool that is always needed. The state is empty until a proposal with a state
    /// has been accepted.
    ///
    /// # Errors
    /// [`Refusal`] if there is no address to propose; the state stays unchanged.
    fn propose(request: &Request, state: &[u8]) -> Result<Outcome, Refusal>;

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
