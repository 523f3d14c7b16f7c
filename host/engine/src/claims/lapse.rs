//! Claims whose agents are gone: a lease that was not renewed, or an agent that did not return after a reboot. Nothing else
//! ends a claim but its agent or an operator.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use tenure_ledger::{Claim, ClaimKey, Presence, Wish};
use tenure_types::{End, Error, ErrorCode, Generation, NetworkName, Result};

use super::AgentClaims;
use super::filter::ClaimFilter;
use super::heard::Watching;
use super::witnessed::AwaitedClaim;

impl AgentClaims {
    /// Serves [`Engine::lapse`](crate::Engine::lapse).
    pub(crate) async fn lapse(&self) -> Result<usize> {
        let now = self.core.now();
        self.heard.look_at_clocks(now, self.core.ports.clock.monotonic());
        if self.cannot_renew() {
            self.heard.restart(now);
            return Ok(0);
        }
        let mut by_network: BTreeMap<NetworkName, Vec<ClaimKey>> = BTreeMap::new();
        for Claim { key, .. } in self.lapsed() {
            by_network.entry(key.network.clone()).or_default().push(key);
        }
        let on_each = by_network.into_values().map(|keys| self.lapse_in_order(keys));
        let ended = join_all(on_each).await;
        let given_up = self.give_up_overdue().await?;
        ended.into_iter().try_fold(given_up, |all, ended| Ok(all + ended?))
    }

    /// Gives up the awaited claims at delegates for which their agents did not come back in time, as it ends those that were restored. Others wait for
    /// a network or a range of theirs, and are reserved from then on.
    async fn give_up_overdue(&self) -> Result<usize> {
        let awaited = self.witnessed.any().map(|all| all.clone()).unwrap_or_default();
        let mut given_up = 0;
        for (key, claim) in &awaited {
            if claim.delegated_since.is_none() && self.core.delegate_of(&key.network).is_some() {
                let now = self.core.now();
                let seen = |claim: &mut AwaitedClaim| claim.delegated_since = Some(now);
                self.witnessed.change(|all| all.get_mut(key).map_or((), seen));
            }
            // An agent that is calling just now is asked for at the next look.
            let Some(_turn) = self.core.turns.try_enter(&key.agent).filter(|_| self.is_overdue(key, claim))
            else {
                continue;
            };
            tracing::warn!(claim = %key, "giving up a claim of the state that was lost, whose agent is gone");
            self.give_up_where(|other, _| other == key).await?;
            given_up += 1;
        }
        Ok(given_up)
    }

    fn is_overdue(
        &self,
        key: &ClaimKey,
        AwaitedClaim { claimant, delegated_since, .. }: &AwaitedClaim,
    ) -> bool {
        let (Some(since), now) = (*delegated_since, self.core.now()) else { return false };
        let as_restored = Claim {
            key: key.clone(),
            wish: Wish { claimant: claimant.clone(), ..Wish::default() },
            generation: Generation(0),
            made_at: since,
            presence: Presence::Reserved(since),
        };
        let is_over = self.lapses_at(&as_restored).is_some_and(|at| at.boot_ns <= now.boot_ns);
        is_over && self.core.delegate_of(&key.network).is_some()
    }

    /// Serves [`Engine::claims_may_lapse`](crate::Engine::claims_may_lapse).
    pub(crate) fn may_lapse(&self) -> bool {
        if self.witnessed.any().is_some() {
            return true;
        }
        let node = self.core.committer.node();
        node.claims
            .all()
            .any(|claim| claim.wish.lease.is_some() || matches!(claim.presence, Presence::Reserved(_)))
    }

    /// Whether no agent can renew anything: a lost state may come back with claims that were renewed, and what cannot be recorded has not
    /// ended.
    fn cannot_renew(&self) -> bool {
        let is_broken = |error: &Error| error.code == ErrorCode::CheckpointFailed;
        self.core.has_state().is_err()
            || self.core.ports.journal.health().is_err_and(|error| is_broken(&error))
    }

    async fn lapse_in_order(&self, keys: Vec<ClaimKey>) -> Result<usize> {
        let mut ended = 0;
        for key in keys {
            ended += usize::from(self.end_claim(&key, || self.reason_to_lapse(&key)).await?);
            self.delegates.is_untidy();
        }
        Ok(ended)
    }

    /// The reason to end a claim now, if it has lapsed.
    fn reason_to_lapse(&self, key: &ClaimKey) -> Option<String> {
        // Its agent may have asked for it while this waited for the network's turn.
        let claim = self.core.committer.node().claims.get(key).cloned()?;
        let why = self.why_lapsed(&claim)?;
        tracing::warn!(claim = %key, why, "releasing a claim whose agent is gone");
        Some(format!("{}: {why}", End::Lapsed.reason()))
    }

    fn lapsed(&self) -> Vec<Claim> {
        let claims: Vec<Claim> = self.core.committer.node().claims.all().cloned().collect();
        claims.into_iter().filter(|claim| self.why_lapsed(claim).is_some()).collect()
    }

    fn why_lapsed(&self, claim: &Claim) -> Option<String> {
        self.lapses_at(claim).filter(|at| at.boot_ns <= self.core.now().boot_ns)?;
        Some(match (claim.presence, claim.wish.lease) {
            (Presence::Reserved(_), _) => "its agent did not return after the reboot".to_owned(),
            (Presence::Here(_), Some(lease)) => format!("its lease of {} s was not renewed", lease.as_secs()),
            (Presence::Here(_), None) => return None,
        })
    }

    /// Serves [`Engine::watching`](crate::Engine::watching).
    pub(crate) fn watching(&self, agent: &tenure_types::AgentName, filter: ClaimFilter) -> Watching {
        let clock = std::sync::Arc::clone(&self.core.ports.clock);
        self.heard.watch((agent.clone(), filter), move || clock.now())
    }

    /// Serves [`Engine::open_watches`](crate::Engine::open_watches).
    pub(crate) fn open_watches(&self, agent: &tenure_types::AgentName) -> usize {
        self.heard.watches(agent)
    }
}
