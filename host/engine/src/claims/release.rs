//! Releasing a claim.

use tenure_ledger::ClaimKey;
use tenure_types::Result;

use super::asking::BY_AGENT;
use crate::engine::Engine;

impl Engine {
    /// Ends an agent's claim; durable when this returns. Returns whether there was one.
    ///
    /// # Errors
    /// `CheckpointFailed` when the release is not durable: the caller has to retry. `NotReady` while the state is lost.
    pub async fn release_claim(&self, key: &ClaimKey) -> Result<bool> {
        let _turn = self.turns.enter(&key.agent).await?;
        self.has_state()?;
        self.end_claim(key, BY_AGENT.reason()).await
    }

    /// Ends a claim, whoever asked for it. The caller has the agent's turn.
    pub(super) async fn end_claim(&self, key: &ClaimKey, reason: &str) -> Result<bool> {
        self.observed("unclaim", &key.network, Some(&key.owner()), self.serve_end(key, reason)).await
    }

    async fn serve_end(&self, key: &ClaimKey, reason: &str) -> Result<bool> {
        // A release that is not durable yet may have ended it, and a removal its network.
        let ended = || (false, self.ports.journal.barrier());
        let (existed, ticket) = match self.networks.known(&key.network) {
            None => ended(),
            Some(slot) => match slot.lock().await.as_mut() {
                None => ended(),
                Some(served) => {
                    let facts = self.ending(&served.book, key, self.now(), reason);
                    match facts.is_empty() {
                        true => ended(),
                        false => (true, self.committer.commit(&mut served.book, &facts)?.1),
                    }
                }
            },
        };
        ticket.durable().await?;
        self.settle_quietly(&key.network, &key.owner()).await;
        self.heard.forget(key);
        self.witnessed.retain(|other| other != key);
        Ok(existed)
    }
}
