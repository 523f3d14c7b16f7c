//! Removing networks that have no allocations.

use std::sync::Arc;

use tenure_ledger::{ChoiceFact, LedgerFact};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use crate::engine::Engine;

impl Engine {
    /// Removes a network that has no allocations; durable when this returns. Returns whether the network existed.
    ///
    /// # Errors
    /// `NetworkInUse` when it has allocations or an unfinished import, `OutOfBounds` when the daemon's configuration
    /// defines it.
    pub async fn remove_network(&self, network: &NetworkName, apply: bool) -> Result<bool> {
        self.observed("remove", network, None, self.serve_remove(network, apply)).await
    }

    async fn serve_remove(&self, name: &NetworkName, apply: bool) -> Result<bool> {
        self.bounds().check_operator(name)?;
        let Some(slot) = self.networks.known(name) else { return Ok(false) };
        let ticket = {
            let mut state = slot.lock().await;
            let Some(served) = state.as_mut() else { return Ok(false) };
            let held = served.book.allocations().len();
            if held > 0 || served.book.is_importing() || Arc::strong_count(&served.imports) > 1 {
                let cause = match held {
                    0 => format!("an import of network {name} has not finished"),
                    held => format!("network {name} has {held} live allocations"),
                };
                return Err(Error::new(ErrorCode::NetworkInUse, cause));
            }
            if !apply {
                return Ok(true);
            }
            self.ports.journal.health()?;
            let (network, at) = (name.clone(), self.now());
            let removed = LedgerFact::Removed { network: network.clone(), at };
            let facts = [ChoiceFact::Forgotten { network, at }.into(), removed.into()];
            let (place, ticket) = self.committer.commit(&mut served.book, &facts)?;
            self.networks.bury(name, place);
            *state = None;
            tracing::info!(network = %name, "removed a network");
            ticket
        };
        ticket.durable().await?;
        Ok(true)
    }
}
