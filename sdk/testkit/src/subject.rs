//! The policy under test, native or as a component.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{
    Definition, Effect, Error, ErrorCode, NetworkConfig, NetworkName, Outcome, PlanState, Request,
};

/// A policy that can be called: natively, as [`Native`](crate::Native), or in a sandbox.
pub trait Subject {
    /// Makes a definition from a network's configuration.
    ///
    /// # Errors
    /// With the policy's refusal, or why it failed.
    fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error>;

    /// Proposes addresses for a request, and a new state if the policy keeps one. The state that it has kept is empty at
    /// first.
    ///
    /// # Errors
    /// With the policy's refusal, or why it failed.
    fn propose(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error>;

    /// Plans changes of the supply, which nothing carries out.
    ///
    /// # Errors
    /// With the policy's refusal, or why it failed; `Internal` if it does not plan.
    fn plan(&self, _: &PlanState, _: &Arc<Book>) -> Result<Vec<Effect>, Error> {
        Err(Error::new(ErrorCode::Internal, "this policy does not plan"))
    }
}
