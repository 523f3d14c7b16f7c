//! Claims whose agents are gone: a lease that was not renewed, or an agent that did not return after a reboot. Nothing else
//! ends a claim but its agent or an operator.

use tenure_ledger::{Claim, Presence};
use tenure_types::{End, Result};

use super::Watching;
use crate::engine::Engine;

impl Engine {
    /// Ends the claims that have lapsed, and returns how many. Call it regularly.
    ///
    /// Two witnesses are needed: the time is over, and the agent has no watch open.
    ///
    /// # Errors
    /// `CheckpointFailed` when a release is not durable; the next call tries again.
    pub async fn lapse(&self) -> Result<usize> {
        let mut ended = 0;
        if self.has_state().is_err() {
            return Ok(ended);
        }
        for claim in self.lapsed() {
            let _turn = self.turns.enter(&claim.key.agent).await?;
            // Its agent may have asked for it while this waited.
            let Some(now) = self.claimed(&claim.key).map(|claimed| claimed.claim) else { continue };
            if let Some(why) = self.why_lapsed(&now) {
                let reason = format!("{}: {why}", End::Lapsed.reason());
                tracing::warn!(claim = %claim.key, why, "releasing a claim whose agent is gone");
                ended += usize::from(self.end_claim(&claim.key, &reason).await?);
            }
        }
        Ok(ended)
    }

    fn lapsed(&self) -> Vec<Claim> {
        let claims: Vec<Claim> = self.committer.node().claims.all().cloned().collect();
        claims.into_iter().filter(|claim| self.why_lapsed(claim).is_some()).collect()
    }

    fn why_lapsed(&self, claim: &Claim) -> Option<String> {
        self.lapses_at(claim).filter(|at| at.boot_ns <= self.now().boot_ns)?;
        Some(match (claim.presence, claim.wish.lease) {
            (Presence::Reserved(_), _) => "its agent did not return after the reboot".to_owned(),
            (Presence::Here(_), Some(lease)) => format!("its lease of {} s was not renewed", lease.as_secs()),
            (Presence::Here(_), None) => return None,
        })
    }

    /// Counts an agent as present until this is dropped.
    #[must_use]
    pub fn watching(&self, agent: &tenure_types::AgentName) -> Watching {
        let clock = std::sync::Arc::clone(&self.ports.clock);
        self.heard.watch(agent, move || clock.now())
    }

    /// The number of an agent's open watches.
    #[must_use]
    pub fn open_watches(&self, agent: &tenure_types::AgentName) -> usize {
        self.heard.watches(agent)
    }
}
