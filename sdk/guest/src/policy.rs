//! The trait that every policy implements.

use crate::{Config, Definition, Proposal, Refusal, Request};

/// A policy. Each call runs in a fresh instance, so nothing stays in memory between calls.
pub trait Policy {
    /// Makes a definition from a network's configuration.
    ///
    /// # Errors
    /// [`Refusal::InvalidConfig`] if the configuration is wrong.
    fn define(config: &Config) -> Result<Definition, Refusal>;

    /// Proposes at most one address per pool, and one of each pool that is always needed.
    ///
    /// # Errors
    /// [`Refusal`] if there is no address to propose.
    fn propose(request: &Request) -> Result<Proposal, Refusal>;
}
