//! Ending one allocation: what is meant is known to be gone, and neither a later owner is hit nor one that has asked again.

use tenure_types::{Allocation, Result};

use crate::engine::Engine;

impl Engine {
    /// Frees an allocation whose sandbox is gone, if it is still that allocation, not renewed since, which its owner has; says
    /// whether it was.
    ///
    /// # Errors
    /// As [`del`](Self::del).
    pub async fn reap(&self, gone: &Allocation, reason: &str) -> Result<bool> {
        self.observed("reap", &gone.network, Some(&gone.owner), self.serve_reap(gone, reason)).await
    }

    async fn serve_reap(&self, gone: &Allocation, reason: &str) -> Result<bool> {
        let _turn = self.admission.enter(&gone.network, &gone.owner).await?;
        let Some(slot) = self.networks.get(&gone.network) else { return Ok(false) };
        let mut slot = slot.lock().await;
        let Some(served) = slot.as_mut() else { return Ok(false) };
        let held = served.book.owned_by(&gone.owner);
        if held.is_none_or(|held| held.as_ref() != gone) {
            return Ok(false);
        }
        let ticket = self.release(served, &gone.owner, gone.requested_at, reason)?;
        drop(slot);
        ticket.durable().await?;
        Ok(true)
    }
}
