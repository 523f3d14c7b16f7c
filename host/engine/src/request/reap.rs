//! Ending one specific allocation that is known to be over. A later owner, or a renewed allocation, is not affected.

use tenure_ledger::ClaimKey;
use tenure_types::{Allocation, End, Result};

use crate::engine::Engine;

impl Engine {
    /// Frees an allocation that is known to be over, if its owner still has it and has not renewed it. Returns
    /// whether it was freed.
    ///
    /// `words` is an operator's comment, appended to the reason in the log; it may be empty.
    ///
    /// # Errors
    /// As [`del`](Self::del).
    pub async fn reap(&self, gone: &Allocation, end: End, words: &str) -> Result<bool> {
        let reason = match (end.reason(), words) {
            (reason, "") => reason.to_owned(),
            (reason, words) => format!("{reason}: {words}"),
        };
        self.core
            .observed("reap", &gone.network, Some(&gone.owner), self.serve_reap(gone, end, &reason))
            .await
    }

    async fn serve_reap(&self, gone: &Allocation, end: End, reason: &str) -> Result<bool> {
        if !end.ends(&gone.owner) {
            return Ok(false);
        }
        let mut turn = self.core.admission.enter(&gone.network, &gone.owner).await?;
        let Some(slot) = self.core.networks.known(&gone.network) else { return Ok(false) };
        let alone = slot.alone().await;
        turn.place().await?;
        let ticket = {
            let mut state = alone.hold();
            let Some(served) = state.as_mut() else { return Ok(false) };
            let held = served.book.owned_by(&gone.owner);
            if held.is_none_or(|held| held.as_ref() != gone) {
                return Ok(false);
            }
            let ticket = self.release(served, &gone.owner, gone.requested_at, reason)?;
            // An awaited claim would be restored.
            ClaimKey::of(&gone.network, &gone.owner).inspect(|key| self.claims.give_up(key));
            ticket
        };
        ticket.durable().await?;
        self.delegates.is_untidy();
        self.links.may_be_left();
        Ok(true)
    }
}
