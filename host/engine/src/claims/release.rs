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
        let existed = self.end_claim(key, || Some(BY_AGENT.reason().to_owned())).await?;
        self.settle_quietly(&key.network, &key.owner()).await;
        self.witnessed.retain(|other| other != key);
        Ok(existed)
    }

    /// Ends a claim in its network's turn, if there is a reason by then; durable when this returns. Returns whether it did.
    pub(super) async fn end_claim(
        &self,
        key: &ClaimKey,
        reason: impl FnOnce() -> Option<String>,
    ) -> Result<bool> {
        self.observed("unclaim", &key.network, Some(&key.owner()), self.serve_end(key, reason)).await
    }

    async fn serve_end(&self, key: &ClaimKey, reason: impl FnOnce() -> Option<String>) -> Result<bool> {
        // A release that is not durable yet may have ended it, and a removal its network.
        let ended = || (false, self.ports.journal.barrier());
        let (existed, ticket) = match self.networks.known(&key.network) {
            None => ended(),
            Some(slot) => match slot.lock().await.as_mut() {
                None => ended(),
                Some(served) => {
                    let reason = reason();
                    let facts = reason.map(|reason| self.ending(&served.book, key, self.now(), &reason));
                    match facts.unwrap_or_default() {
                        facts if facts.is_empty() => ended(),
                        facts => {
                            let ticket = self.committer.commit(&mut served.book, &facts)?.1;
                            // In the turn: a claim of this name that is made next has been heard of.
                            self.heard.forget(key);
                            (true, ticket)
                        }
                    }
                }
            },
        };
        ticket.durable().await?;
        if existed {
            self.witnessed.retain(|other| other != key);
        }
        Ok(existed)
    }
}
