//! Confirming a claim without making one.

use tenure_ledger::{ClaimKey, Fact};
use tenure_types::{Error, ErrorCode, Result};

use super::AgentClaims;
use super::asking::Held;
use crate::network::slot::no_book;

impl AgentClaims {
    /// Serves [`Engine::confirm`](crate::Engine::confirm).
    pub(crate) async fn confirm(&self, key: &ClaimKey) -> Result<()> {
        self.core.observed("confirm", &key.network, Some(&key.owner()), self.serve_confirm(key)).await
    }

    async fn serve_confirm(&self, key: &ClaimKey) -> Result<()> {
        let unknown = || Error::new(ErrorCode::ClaimUnknown, format_args!("there is no claim {key}"));
        let _asking = self.asking(None, [key.clone()]);
        let _turn = self.core.turns.enter(&key.agent).await?;
        self.core.has_state()?;
        let ticket = {
            let slot = self.core.networks.known(&key.network).ok_or_else(unknown)?;
            let mut state = slot.lock().await;
            let served = state.as_mut().ok_or_else(no_book)?;
            let wish = self.core.committer.node().claims.get(key).map(|claim| claim.wish.clone());
            match self.held(&served.book, key, &wish.ok_or_else(unknown)?, self.core.now()) {
                Held::Nothing | Held::Differs(_) => return Err(unknown()),
                // It may not be durable yet.
                Held::Agrees(None) => self.core.ports.journal.barrier(),
                Held::Agrees(Some(fact)) => {
                    self.core.ports.journal.health()?;
                    self.core.committer.commit(&mut served.book, &[Fact::from(fact)])?.1
                }
            }
        };
        ticket.durable().await
    }
}
