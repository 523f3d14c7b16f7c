//! The claims of agents.

use std::net::IpAddr;

use tenure_ledger::{Claim, ClaimKey};
use tenure_types::{AgentName, NetworkName, Result};
use tokio::sync::watch;

use super::Engine;
use crate::claims::changes::Changes;
use crate::claims::contact::Asking;
use crate::claims::declare::Declared;
use crate::claims::filter::ClaimFilter;
use crate::claims::heard::Watching;
use crate::claims::release::Precondition;
use crate::claims::standing::{AgentStanding, ClaimFigures};
use crate::claims::view::Claimed;
use crate::claims::witnessed::{WitnessedChange, WitnessedClaim, WitnessedClaims};
use crate::claims::{Agent, Ask};

impl Engine {
    /// Notified when a claim of this agent, or any network's definition, has changed.
    #[must_use]
    pub fn claim_changes(&self, agent: &AgentName) -> watch::Receiver<u64> {
        self.claims.claim_changes(agent)
    }

    /// Notified when any network's definition has changed.
    #[must_use]
    pub fn network_changes(&self) -> watch::Receiver<u64> {
        self.claims.network_changes()
    }

    /// Returns the changes of an agent's claims since a version, or all of them; durable when this returns.
    ///
    /// # Errors
    /// `NotReady` while the state is lost, `CheckpointFailed` and `DiskFull`.
    pub async fn changes(&self, agent: &AgentName, version: Option<&str>) -> Result<Changes> {
        self.claims.changes(agent, version).await
    }

    /// Notes that a claim's agent is there, after a reboot, too; durable when this returns.
    ///
    /// # Errors
    /// `ClaimUnknown` if there is no such claim, `NotReady` while the state is lost.
    pub async fn confirm(&self, key: &ClaimKey) -> Result<()> {
        self.claims.confirm(key).await
    }

    /// Brings the claims of an agent's scope in line with its declaration; durable when this returns. Without `apply`, only says what
    /// it would do.
    ///
    /// The policies are asked in their own networks' turns, some claims at a time; then everything is carried out in the turns of
    /// all networks, if what was proposed still fits, and asked for again as far as it does not. More than 32 changes are
    /// carried out some at a time instead, so that no network is kept for long.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure), except that a claim which holds other addresses is made again; then nothing is changed, or the
    /// error says that some of many changes were carried out. `NotReady` if the networks change too fast.
    pub async fn declare(&self, agent: &Agent, asks: &[Ask], apply: bool) -> Result<Declared> {
        self.claims.declare(agent, asks, apply).await
    }

    /// Makes a claim, or returns the one that exists; durable when this returns. The same agent gets the same addresses,
    /// until the claim ends.
    ///
    /// # Errors
    /// `NotReady` while the state is lost, `UnknownNetwork` while the network does not exist, `ClaimDiffers` if the claim holds other addresses than it asks
    /// for now, `ClaimOfAnotherScope` if another component has it, `ClaimDenied` if the agent has too many; otherwise as an ADD.
    pub async fn ensure(&self, agent: &Agent, ask: &Ask) -> Result<Claimed> {
        self.claims.ensure(agent, ask).await
    }

    /// Ends the claims that have lapsed, and returns how many. Call it regularly.
    ///
    /// Two witnesses are needed: the time is over, and the agent neither watches nor is asking for the claim. Neither the
    /// agents' turns nor delegates are waited for, and no network waits for another: an agent's calls in progress do not delay the end of
    /// other agents' claims. What delegates have to take back is left to [`tidy`](Self::tidy).
    ///
    /// # Errors
    /// `CheckpointFailed` when a release is not durable; the next call tries again.
    pub async fn lapse(&self) -> Result<usize> {
        self.claims.lapse().await
    }

    /// Whether a claim ends by itself unless its agent is heard of.
    #[must_use]
    pub fn claims_may_lapse(&self) -> bool {
        self.claims.may_lapse()
    }

    /// Counts an agent as present until this is dropped, as far as these claims are concerned: for a call that makes several attempts.
    #[must_use]
    pub fn asking<'a>(&'a self, agent: &'a Agent, asks: &[Ask]) -> Asking<'a> {
        self.claims.asking_for(agent, asks)
    }

    /// Notes that an agent may have called, which could not be told from its credentials: that counts as contact with it.
    pub fn may_have_called(&self, agent: &AgentName) {
        self.claims.may_have_called(agent);
    }

    /// Counts an agent as present, as far as these of its claims are concerned, until this is dropped.
    #[must_use]
    pub fn watching(&self, agent: &AgentName, filter: ClaimFilter) -> Watching {
        self.claims.watching(agent, filter)
    }

    /// The number of an agent's open watches.
    #[must_use]
    pub fn open_watches(&self, agent: &AgentName) -> usize {
        self.claims.open_watches(agent)
    }

    /// As [`release_claim`](Self::release_claim), if the claim is still the one that is meant.
    ///
    /// # Errors
    /// `ClaimOfAnotherScope` and `ClaimSuperseded` if it is not; then nothing is changed.
    pub async fn release_claim_if(&self, key: &ClaimKey, precondition: &Precondition) -> Result<bool> {
        self.claims.release_claim_if(key, precondition).await
    }

    /// Ends an agent's claim; durable when this returns. Returns whether there was one.
    ///
    /// # Errors
    /// `CheckpointFailed` when the release is not durable: the caller has to retry. `NotReady` while the state is lost.
    pub async fn release_claim(&self, key: &ClaimKey) -> Result<bool> {
        self.claims.release_claim(key).await
    }

    /// Has these claims restored once their networks serve a request, unless the ledger has them.
    pub fn await_claims(&self, claims: impl IntoIterator<Item = WitnessedClaim>) {
        self.claims.await_claims(claims);
    }

    /// Ends what the ledger has and the claims that are [awaited](Self::await_claims) contradict: claims that are not among them, or have other
    /// addresses there, and pods that hold an address of one; durable when this returns. To be called when a lost state is confirmed, before
    /// anything is served from it, if all claims of this boot are awaited.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`; the next call does the rest.
    pub async fn end_unwitnessed(&self) -> Result<()> {
        self.claims.end_unwitnessed().await?;
        self.delegates.is_untidy();
        self.links.may_be_left();
        Ok(())
    }

    /// Gives up a claim that is awaited, and not in the ledger: it is not restored. Returns its addresses, if there is one; without `apply`, does only
    /// that.
    ///
    /// # Errors
    /// `NotReady` while the state is lost, `CheckpointFailed`.
    pub async fn give_up_awaited(&self, key: &ClaimKey, apply: bool) -> Result<Option<Vec<IpAddr>>> {
        self.claims.give_up_awaited(key, apply).await
    }

    /// The addresses of a network's claims that are still to be restored, whose agents may use them meanwhile. The ledger has none of them.
    #[must_use]
    pub fn awaited_addresses(&self, network: &NetworkName) -> Vec<IpAddr> {
        self.claims.awaited_addresses(network)
    }

    /// All claims that a witness has to know: those of the ledger, and those that are still to be restored.
    #[must_use]
    pub fn witnessed_claims(&self) -> Vec<WitnessedClaim> {
        let mut all = WitnessedClaims::default();
        self.claims.follow_claims(&mut all);
        all.iter().cloned().collect()
    }

    /// Brings what a witness knows in line with [`witnessed_claims`](Self::witnessed_claims); returns what has changed.
    pub fn follow_claims(&self, witness: &mut WitnessedClaims) -> Vec<WitnessedChange> {
        self.claims.follow_claims(witness)
    }

    /// Differs from before whenever [`witnessed_claims`](Self::witnessed_claims) may.
    #[must_use]
    pub fn witnessed_version(&self) -> (u64, u64) {
        self.claims.witnessed_version()
    }

    /// How a claim's agent stands to it.
    #[must_use]
    pub fn standing(&self, claim: &Claim) -> AgentStanding {
        self.claims.standing(claim)
    }

    /// The numbers of claims and watches.
    #[must_use]
    pub fn claim_figures(&self) -> ClaimFigures {
        self.claims.claim_figures()
    }

    /// Whether an agent is configured.
    #[must_use]
    pub fn has_agent(&self, agent: &AgentName) -> bool {
        self.core.settings().has_agent(agent)
    }

    /// The claims of an agent, or of all agents, by agent, network and name.
    #[must_use]
    pub fn claims_of(&self, agent: Option<&AgentName>) -> Vec<Claimed> {
        self.claims.claims_of(agent)
    }

    /// A claim; `None` if there is none, or it has just ended.
    #[must_use]
    pub fn claimed(&self, key: &ClaimKey) -> Option<Claimed> {
        self.claims.claimed(key)
    }
}
