//! What every policy does.

use crate::{Config, Definition, Proposal, Refusal, Request};

/// A policy. Each call is a fresh instance: what it keeps in memory is gone when it returns.
pub trait Policy {
    /// Makes pools of a network's configuration.
    ///
    /// # Errors
    /// [`Refusal::InvalidConfig`] when the configuration is wrong.
    fn define(config: &Config) -> Result<Definition, Refusal>;

    /// Proposes at most one address from each pool, and one from each that is always needed.
    ///
    /// # Errors
    /// [`Refusal`] when there is no address to propose.
    fn propose(request: &Request) -> Result<Proposal, Refusal>;
}
