//! What an agent that watches its claims is told.

use tenure_ledger::ClaimKey;
use tenure_types::{AgentName, Result};
use tokio::sync::watch;

use super::view::Claimed;
use crate::core::feed::Since;
use crate::engine::Engine;

/// What has changed about an agent's claims.
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

impl Engine {
    /// Notified when a claim of this agent, or any network's definition, has changed.
    #[must_use]
    pub fn claim_changes(&self, agent: &AgentName) -> watch::Receiver<u64> {
        self.committer.feed.subscribe(agent)
    }

    /// Notified when any network's definition has changed.
    #[must_use]
    pub fn network_changes(&self) -> watch::Receiver<u64> {
        self.committer.feed.subscribe_to_networks()
    }

    /// What has changed about an agent's claims since a version, or all of them; durable when this returns.
    ///
    /// # Errors
    /// `NotReady` while the state is lost, `CheckpointFailed` and `DiskFull`.
    pub async fn changes(&self, agent: &AgentName, version: Option<&str>) -> Result<Changes> {
        self.has_state()?;
        self.restore_claims_of(agent).await?;
        let feed = &self.committer.feed;
        // The version comes first: what changes after it is told again, rather than missed.
        let Since { version, is_all, is_quiet, after, mut released } = feed.since(agent, version);
        let keys = if is_quiet { Vec::new() } else { self.keys_of(agent) };
        let keys = if is_all { keys } else { feed.changed_after(keys, after) };
        let claims: Vec<Claimed> = keys.iter().filter_map(|key| self.claimed(key)).collect();
        // One that was released and claimed again is there.
        released.retain(|(key, _)| claims.iter().all(|claimed| claimed.claim.key != *key));
        // An agent that resumes and has missed nothing was told what is durable, and needs not wait for what others have staged since.
        if is_all || !claims.is_empty() || !released.is_empty() {
            self.ports.journal.barrier().durable().await?;
        }
        Ok(Changes { version, is_all, claims, released })
    }

    fn keys_of(&self, agent: &AgentName) -> Vec<ClaimKey> {
        self.committer.node().claims.of(agent).map(|claim| claim.key.clone()).collect()
    }
}
