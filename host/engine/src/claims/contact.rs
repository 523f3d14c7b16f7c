//! Contact with agents: they are there while they ask for their claims, and until they are answered, also with an error.

use tenure_ledger::{ClaimKey, Claimant};
use tenure_types::AgentName;

use super::{Agent, AgentClaims, Ask};

/// Requests for claims that are under way: until this is dropped, their agent is there, so their leases do not run out.
pub struct Asking<'a> {
    claims: &'a AgentClaims,
    /// The component that asks; `None` for the one that has the claims.
    agent: Option<&'a Agent>,
    keys: Vec<ClaimKey>,
}

impl AgentClaims {
    /// Counts an agent as present until this is dropped, as far as those of these claims are concerned that no other component has.
    pub(super) fn asking<'a>(
        &'a self,
        agent: Option<&'a Agent>,
        keys: impl IntoIterator<Item = ClaimKey>,
    ) -> Asking<'a> {
        let is_own = |key: &ClaimKey| agent.is_none_or(|agent| self.check_scope(agent, key).is_ok());
        let keys: Vec<ClaimKey> = keys.into_iter().filter(is_own).collect();
        self.heard.begin(&keys);
        Asking { claims: self, agent, keys }
    }

    /// Serves [`Engine::asking`](crate::Engine::asking).
    pub(crate) fn asking_for<'a>(&'a self, agent: &'a Agent, asks: &[Ask]) -> Asking<'a> {
        self.asking(Some(agent), asks.iter().map(|ask| ask.key(&agent.name)))
    }

    /// Serves [`Engine::may_have_called`](crate::Engine::may_have_called).
    pub(crate) fn may_have_called(&self, agent: &AgentName) {
        self.heard.may_have_called(agent, self.core.now());
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let Self { claims, agent, keys } = self;
        // Names of claims that do not exist are not remembered, so that an agent cannot fill the memory with them.
        let is_own = |key: &&ClaimKey| {
            let may_ask =
                |claimant: Claimant| agent.is_none_or(|agent| agent.may_ask_for(claimant.scope.as_ref()));
            claims.claimant_of(key).is_some_and(may_ask)
        };
        let had: Vec<ClaimKey> = keys.iter().filter(is_own).cloned().collect();
        claims.heard.end(keys, &had, claims.core.now());
    }
}
