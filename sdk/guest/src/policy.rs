//! The trait that every policy implements.

use crate::{Config, ConfigError, Definition, Proposal, Refusal, Request};

/// A policy. Each call runs in a fresh instance, so nothing stays in memory between calls.
///
/// ```
/// use tenure_sdk::ledger::{self, Direction};
/// use tenure_sdk::{Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration};
///
/// /// Assigns the highest free address of each pool, but keeps some of them free.
/// pub struct HighestFirst;
///
/// impl Policy for HighestFirst {
///     fn define(config: &Config) -> Result<Definition, ConfigError> {
///         config.root()?.get_count("spare")?; // a wrong value is refused here: "ipam.spare: must be ..."
///         Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Strict))
///     }
///
///     fn propose(_: &Request) -> Result<Proposal, Refusal> {
///         let spare = configuration::root()?.get_count("spare")?.unwrap_or(0);
///         let mut proposal = Proposal::new();
///         for pool in ledger::pools() {
///             let has_room = ledger::room(&pool.shelf().usage()) > spare;
///             let highest = pool.shelf().free(None, Direction::Descending, 1).first().copied().filter(|_| has_room);
///             let full = || Refusal::exhausted(format!("pool {} has only its spare addresses left", pool.name));
///             proposal.assign(pool.index, highest.ok_or_else(full)?);
///         }
///         Ok(proposal)
///     }
/// }
///
/// tenure_sdk::export!(HighestFirst);
/// ```
pub trait Policy {
    /// Makes a definition from a network's configuration.
    ///
    /// # Errors
    /// With the path of the wrong key.
    fn define(config: &Config) -> Result<Definition, ConfigError>;

    /// Proposes at most one address per pool, and one of each pool that is always needed.
    ///
    /// # Errors
    /// [`Refusal`] if there is no address to propose.
    fn propose(request: &Request) -> Result<Proposal, Refusal>;
}
