//! Scopes: the components of an agent that share its user, each with claims of its own.
//!
//! A claim's name is unique within its agent and network, whatever its scope; the scope says which component the claim belongs to. A
//! component neither gets, releases nor declares away what another one has. The scope is in the claim's wish, so it is as durable as the claim.

use tenure_ledger::{ClaimKey, Claimant};
use tenure_types::{Error, ErrorCode, Result, ScopeName};

use super::witnessed::AwaitedClaim;
use super::{Agent, AgentClaims};

impl Agent {
    /// Whether an awaited claim is the component's.
    pub(super) fn has(&self, key: &ClaimKey, AwaitedClaim { claimant, .. }: &AwaitedClaim) -> bool {
        key.agent == self.name && claimant.scope == self.scope
    }

    /// Whether a claim of this scope is the component's, or one that it takes over.
    pub(super) fn may_ask_for(&self, scope: Option<&ScopeName>) -> bool {
        scope == self.scope.as_ref() || self.from_scope.as_ref().is_some_and(|from| from.as_ref() == scope)
    }
}

impl AgentClaims {
    /// Refuses a claim that belongs to another scope than the one that calls, unless that takes it over.
    pub(super) fn check_scope(&self, agent: &Agent, key: &ClaimKey) -> Result<()> {
        match self.claimant_of(key) {
            Some(Claimant { scope, .. }) if !agent.may_ask_for(scope.as_ref()) => {
                Err(of_another(key, scope.as_ref()))
            }
            _ => Ok(()),
        }
    }

    /// The component and the run that a claim belongs to, also of one that is to be restored.
    pub(super) fn claimant_of(&self, key: &ClaimKey) -> Option<Claimant> {
        let known = self.core.committer.node().claims.get(key).map(|claim| claim.wish.claimant.clone());
        known.or_else(|| Some(self.witnessed.any()?.get(key)?.claimant.clone()))
    }
}

/// The error for a claim that belongs to another scope.
pub(super) fn of_another(key: &ClaimKey, scope: Option<&ScopeName>) -> Error {
    let whose = scope.map_or_else(|| "no scope".to_owned(), |scope| format!("scope {scope}"));
    Error::new(ErrorCode::ClaimOfAnotherScope, format_args!("{key} belongs to {whose}"))
}
