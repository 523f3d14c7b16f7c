//! The changes that an agent hears of when it watches its claims.

use tenure_ledger::ClaimKey;
use tenure_types::{AgentName, Result};
use tokio::sync::watch;

use super::AgentClaims;
use super::view::Claimed;
use crate::core::feed::Since;

/// Changes of an agent's claims.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The version after these changes; pass it to hear of later ones.
    pub version: String,
    /// Whether `claims` has all of the agent's claims, and everything else that it knew is gone.
    pub is_all: bool,
    /// The claims that have changed, or whose networks have.
    pub claims: Vec<Claimed>,
    /// The claims that have ended, with the reason.
    pub released: Vec<(ClaimKey, Box<str>)>,
}

impl AgentClaims {
    /// Serves [`Engine::claim_changes`](crate::Engine::claim_changes).
    pub(crate) fn claim_changes(&self, agent: &AgentName) -> watch::Receiver<u64> {
        self.core.committer.feed.subscribe(agent)
    }

    /// Serves [`Engine::network_changes`](crate::Engine::network_changes).
    pub(crate) fn network_changes(&self) -> watch::Receiver<u64> {
        self.core.committer.feed.subscribe_to_networks()
    }

    /// Serves [`Engine::changes`](crate::Engine::changes).
    pub(crate) async fn changes(&self, agent: &AgentName, version: Option<&str>) -> Result<Changes> {
        self.core.has_state()?;
        self.restore_claims_of(agent).await?;
        let feed = &self.core.committer.feed;
        // The version comes first: what changes after it is told again, rather than missed.
        let Since { version, is_all, is_quiet, after, mut released } = feed.since(agent, version);
        let keys = if is_quiet { Vec::new() } else { self.keys_of(agent) };
        let keys = if is_all { keys } else { feed.changed_after(keys, after) };
        let claims: Vec<Claimed> = keys.iter().filter_map(|key| self.claimed(key)).collect();
        // One that was released and claimed again is there.
        released.retain(|(key, _)| claims.iter().all(|claimed| claimed.claim.key != *key));
        // An agent that resumes and has missed nothing was told what is durable, and needs not wait for what others have staged since.
        if is_all || !claims.is_empty() || !released.is_empty() {
            self.core.ports.journal.barrier().durable().await?;
        }
        Ok(Changes { version, is_all, claims, released })
    }

    fn keys_of(&self, agent: &AgentName) -> Vec<ClaimKey> {
        self.core.committer.node().claims.of(agent).map(|claim| claim.key.clone()).collect()
    }
}
