//! Releasing a claim.

use tenure_ledger::ClaimKey;
use tenure_types::{Error, ErrorCode, Generation, HolderName, Result, ScopeName};

use super::AgentClaims;
use super::asking::BY_AGENT;
use super::scope::of_another;

/// The precondition of a release. An agent that terminates must not release a claim that its successor uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precondition {
    /// The scope that it has to belong to.
    pub scope: Option<ScopeName>,
    /// The allocation that it has to hold; `None` for any.
    pub generation: Option<Generation>,
    /// The holder that has to have asked for it last; `None` for any.
    pub holder: Option<HolderName>,
}

impl AgentClaims {
    /// Serves [`Engine::release_claim_if`](crate::Engine::release_claim_if).
    pub(crate) async fn release_claim_if(&self, key: &ClaimKey, precondition: &Precondition) -> Result<bool> {
        // The claim changes in its agent's turn only, except that it may end.
        let _turn = self.core.turns.enter(&key.agent).await?;
        self.core.has_state()?;
        self.restore_claims_of(&key.agent).await?;
        self.check_precondition(key, precondition)?;
        self.release_in_turn(key).await
    }

    fn check_precondition(&self, key: &ClaimKey, precondition: &Precondition) -> Result<()> {
        let Some(claimant) = self.claimant_of(key) else { return Ok(()) };
        let has = self.core.committer.node().claims.get(key).map(|claim| claim.generation);
        let Precondition { scope, generation, holder } = precondition;
        if claimant.scope != *scope {
            return Err(of_another(key, claimant.scope.as_ref()));
        }
        let superseded = |why: std::fmt::Arguments<'_>| {
            Err(Error::new(ErrorCode::ClaimSuperseded, format_args!("{key} {why}; it was not released")))
        };
        match (generation, holder, &claimant.holder) {
            (Some(meant), ..) if has != Some(*meant) => match has {
                Some(has) => superseded(format_args!("has generation {has} by now, and not {meant}")),
                None => superseded(format_args!("is to be restored, and no longer has generation {meant}")),
            },
            (_, Some(meant), Some(holder)) if meant != holder => {
                superseded(format_args!("was last asked for by holder {holder}, and not by {meant}"))
            }
            (_, Some(meant), None) => superseded(format_args!(
                "was last asked for by a caller that named no holder, and not by {meant}"
            )),
            _ => Ok(()),
        }
    }

    /// Serves [`Engine::release_claim`](crate::Engine::release_claim).
    pub(crate) async fn release_claim(&self, key: &ClaimKey) -> Result<bool> {
        let _turn = self.core.turns.enter(&key.agent).await?;
        self.core.has_state()?;
        self.release_in_turn(key).await
    }

    /// The caller has the agent's turn.
    async fn release_in_turn(&self, key: &ClaimKey) -> Result<bool> {
        let existed = self.end_claim(key, || Some(BY_AGENT.reason().to_owned())).await?;
        self.give_up_where(|other, _| other == key).await?;
        self.delegates.settle_quietly(&key.network, &key.owner()).await;
        Ok(existed)
    }

    /// Ends a claim in its network's turn, if there is a reason by then; durable when this returns. Returns whether it did.
    pub(super) async fn end_claim(
        &self,
        key: &ClaimKey,
        reason: impl FnOnce() -> Option<String>,
    ) -> Result<bool> {
        self.core.observed("unclaim", &key.network, Some(&key.owner()), self.serve_end(key, reason)).await
    }

    async fn serve_end(&self, key: &ClaimKey, reason: impl FnOnce() -> Option<String>) -> Result<bool> {
        // A release that is not durable yet may have ended it, and a removal its network.
        let ended = || (false, self.core.ports.journal.barrier());
        let (existed, ticket) = match self.core.networks.known(&key.network) {
            None => ended(),
            Some(slot) => match slot.lock().await.as_mut() {
                None => ended(),
                Some(served) => {
                    let reason = reason();
                    let facts = reason.map(|reason| self.ending(&served.book, key, self.core.now(), &reason));
                    match facts.unwrap_or_default() {
                        facts if facts.is_empty() => ended(),
                        facts => {
                            let ticket = self.core.committer.commit(&mut served.book, &facts)?.1;
                            self.give_up(key);
                            (true, ticket)
                        }
                    }
                }
            },
        };
        ticket.durable().await?;
        Ok(existed)
    }
}
