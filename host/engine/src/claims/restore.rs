//! Restoring the claims of a lost state, before another owner can get their addresses.
//!
//! ```text
//!  the state is lost            its network serves a request            its agent asks for it
//! ───────────────────▶ awaited ──────────────────────────────▶ reserved ──────────────────────▶ here
//!                         │ its agent declares others, or releases it; at a delegate, it does not come back in time
//!                         └──────────────────────────────────────────▶ none
//! ```
//!
//! An awaited claim is not in the ledger yet, because its network is not: a network is defined by the first request that needs it. What a delegate
//! gave is not restored: the delegate still knows it, and gives it to nobody else. Such a claim is awaited until its agent has asked for it, because
//! a GC must spare it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{Book, Claim, ClaimFact, ClaimKey, Fact, LedgerFact, Presence, Wish};
use tenure_types::{
    AgentName, AssignedAddress, Moment, NetworkName, Owner, PolicyStamp, Proposal, Request, RequestContext,
    Result, Sandbox,
};

use super::AgentClaims;
use super::witnessed::{AwaitedClaim, WitnessedChange, WitnessedClaim, WitnessedClaims};
use crate::network::slot::Alone;

impl AgentClaims {
    /// Serves [`Engine::await_claims`](crate::Engine::await_claims).
    pub(crate) fn await_claims(&self, claims: impl IntoIterator<Item = WitnessedClaim>) {
        let awaited = |claim: WitnessedClaim| {
            let WitnessedClaim { key, addresses, claimant, .. } = claim;
            (key, AwaitedClaim { addresses, claimant, delegated_since: None })
        };
        self.witnessed.change(|all| all.extend(claims.into_iter().map(awaited)));
    }

    /// Serves [`Engine::awaited_addresses`](crate::Engine::awaited_addresses).
    pub(crate) fn awaited_addresses(&self, network: &NetworkName) -> Vec<IpAddr> {
        self.witnessed.of(network).into_iter().flat_map(|(_, claim)| claim.addresses).collect()
    }

    /// The owners of a network's awaited claims.
    pub(crate) fn awaited_owners(&self, network: &NetworkName) -> Vec<Owner> {
        self.witnessed.of(network).into_iter().map(|(key, _)| key.owner()).collect()
    }

    /// Strikes a claim off that was given up: neither is it restored, nor was its agent heard of. The caller has its network's turn, so that a claim
    /// of this name that is made next is not meant.
    pub(crate) fn give_up(&self, key: &ClaimKey) {
        self.heard.forget(key);
        self.witnessed.retain(|other, _| other != key);
    }

    /// Serves [`Engine::give_up_awaited`](crate::Engine::give_up_awaited).
    pub(crate) async fn give_up_awaited(&self, key: &ClaimKey, apply: bool) -> Result<Option<Vec<IpAddr>>> {
        let _turn = self.core.turns.enter(&key.agent).await?;
        self.core.has_state()?;
        let awaited = self.witnessed.any().and_then(|all| Some(all.get(key)?.addresses.clone()));
        if apply {
            self.give_up_where(|other, _| other == key).await?;
        }
        Ok(awaited)
    }

    /// Strikes awaited claims off that are given up, and has the delegates of their networks take them back, which still know them although the ledger
    /// does not. The caller has the turn of their agent.
    ///
    /// # Errors
    /// Those of the checkpoint.
    pub(super) async fn give_up_where(
        &self,
        is_given_up: impl Fn(&ClaimKey, &AwaitedClaim) -> bool,
    ) -> Result<()> {
        let given_up: Vec<ClaimKey> = {
            let all = self.witnessed.any();
            let all = all.iter().flat_map(|all| all.iter());
            all.filter(|(key, claim)| is_given_up(key, claim)).map(|(key, _)| key.clone()).collect()
        };
        for key in given_up {
            let (network, owner) = (&key.network, key.owner());
            if let Some(delegate) = self.core.delegate_of(network)
                && let Some(book) = self.core.book(network).await
                && book.owned_by(&owner).is_none()
            {
                let ipam = book.network().config.ipam.as_str().into();
                self.delegates.suspect(network, &owner, delegate, ipam, "".into()).await?;
                self.delegates.is_untidy();
            }
            self.witnessed.retain(|other, _| *other != key);
        }
        Ok(())
    }

    /// Serves [`Engine::follow_claims`](crate::Engine::follow_claims).
    pub(crate) fn follow_claims(&self, witness: &mut WitnessedClaims) -> Vec<WitnessedChange> {
        let awaited = self.witnessed.any().map(|all| all.clone()).unwrap_or_default();
        let (changed, ended) = self.compare_with_witness(witness);
        let ended = ended.into_iter().filter(|key| !awaited.contains_key(key));
        let mut changes: Vec<WitnessedChange> = ended.map(WitnessedChange::Ended).collect();
        let mut present = Vec::new();
        for (network, claims) in changed {
            let slot = self.core.networks.get(&network);
            let state = slot.as_ref().map(|slot| slot.state());
            let book = state.as_ref().and_then(|state| state.as_ref()).map(|served| served.book.as_ref());
            for Claim { key, wish, generation, .. } in claims {
                let held = book.and_then(|book| book.owned_by(&key.owner()));
                match held.filter(|held| held.generation == generation) {
                    Some(held) => {
                        let addresses = held.addresses.iter().map(AssignedAddress::ip).collect();
                        let claimant = wish.claimant;
                        let claim = WitnessedClaim { key, addresses, is_awaited: false, claimant };
                        present.push((Some(generation), claim));
                    }
                    None if witness.known.contains_key(&key) => changes.push(WitnessedChange::Ended(key)),
                    None => {}
                }
            }
        }
        for (key, AwaitedClaim { addresses, claimant, .. }) in awaited {
            present.push((None, WitnessedClaim { key, addresses, is_awaited: true, claimant }));
        }
        for change in &changes {
            if let WitnessedChange::Ended(key) = change {
                witness.known.remove(key);
            }
        }
        let news = present.into_iter().filter(|(generation, claim)| witness.change(*generation, claim));
        changes.extend(news.map(|(_, claim)| WitnessedChange::Present(claim)));
        changes
    }

    /// The claims that a witness does not know as the ledger has them, by network, and those that it knows and the ledger has no more.
    /// Each durable change of claims asks, before anybody is answered: what has not changed costs a comparison, as both are in order.
    fn compare_with_witness(
        &self,
        witness: &WitnessedClaims,
    ) -> (BTreeMap<NetworkName, Vec<Claim>>, Vec<ClaimKey>) {
        let (mut changed, mut ended) = (BTreeMap::<NetworkName, Vec<Claim>>::new(), Vec::new());
        let mut known = witness.known.iter().peekable();
        let node = self.core.committer.node();
        for claim in node.claims.all() {
            while let Some((key, _)) = known.next_if(|(key, _)| **key < claim.key) {
                ended.push(key.clone());
            }
            let same = known.next_if(|(key, _)| **key == claim.key);
            let is_known = same.is_some_and(|(_, (generation, known))| {
                *generation == Some(claim.generation) && known.claimant == claim.wish.claimant
            });
            if !is_known {
                changed.entry(claim.key.network.clone()).or_default().push(claim.clone());
            }
        }
        ended.extend(known.map(|(key, _)| key.clone()));
        (changed, ended)
    }

    /// Serves [`Engine::witnessed_version`](crate::Engine::witnessed_version).
    pub(crate) fn witnessed_version(&self) -> (u64, u64) {
        (self.core.committer.node().claims.through(), self.witnessed.version())
    }

    /// Restores the awaited claims of an agent, as far as their networks exist.
    pub(super) async fn restore_claims_of(&self, agent: &AgentName) -> Result<()> {
        let networks: BTreeSet<NetworkName> = {
            let all = self.witnessed.any();
            let own = |key: &&ClaimKey| key.agent == *agent;
            all.iter().flat_map(|all| all.keys().filter(own).map(|key| key.network.clone())).collect()
        };
        for network in networks {
            let Some(slot) = self.core.networks.known(&network) else { continue };
            self.restore_claims(&slot.alone().await, &network, self.core.now())?;
        }
        Ok(())
    }

    /// Restores the awaited claims of a network, before anybody is given an address of it. One whose address lies in no range yet, or
    /// still has another owner, stays awaited.
    pub(crate) fn restore_claims(&self, alone: &Alone<'_>, network: &NetworkName, now: Moment) -> Result<()> {
        let awaited = self.witnessed.of(network);
        if awaited.is_empty() || self.core.has_state().is_err() {
            return Ok(());
        }
        let is_delegated = self.core.delegate_of(network).is_some();
        let Some(choice) = self.core.committer.choice(network) else { return Ok(()) };
        let stamp = Arc::new(choice.policy);
        let mut state = alone.state();
        let Some(served) = state.as_mut() else { return Ok(()) };
        for (key, claim) in awaited {
            let addresses = &claim.addresses;
            if served.book.owned_by(&key.owner()).is_some() {
                self.witnessed.retain(|other, _| *other != key);
                continue;
            }
            if is_delegated {
                continue;
            }
            match restored(&served.book, &key, &claim, &stamp, now) {
                Ok(facts) => {
                    drop(self.core.committer.commit(&mut served.book, &facts)?);
                    self.witnessed.retain(|other, _| *other != key);
                    tracing::warn!(claim = %key, ?addresses, "restored a claim of the state that was lost");
                }
                Err(why) => tracing::debug!(claim = %key, ?addresses, why, "cannot restore a claim yet"),
            }
        }
        Ok(())
    }
}

/// The facts that restore a claim, reserved for its agent.
fn restored(
    book: &Book,
    key: &ClaimKey,
    AwaitedClaim { addresses, claimant, .. }: &AwaitedClaim,
    policy: &Arc<PolicyStamp>,
    now: Moment,
) -> Result<[Fact; 2], String> {
    let locate = |address: &IpAddr| match book.locate(*address) {
        Some((pool, _)) => Ok((pool, *address)),
        None => Err(format!("{address} is not in any range of network {}", key.network)),
    };
    let proposal = Proposal::of(addresses.iter().map(locate).collect::<Result<Vec<_>, _>>()?);
    let request = Request {
        network: key.network.clone(),
        owner: key.owner(),
        requested: addresses.clone(),
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: now,
    };
    let allocation = book
        .admit_living(&request, &proposal, policy, now, &[])
        .map_err(|violation| violation.to_string())?;
    let claim = Claim {
        key: key.clone(),
        wish: Wish { claimant: claimant.clone(), ..Wish::default() },
        generation: allocation.generation,
        made_at: now,
        presence: Presence::Reserved(now),
    };
    Ok([LedgerFact::Allocated(Arc::new(allocation)).into(), ClaimFact::Claimed(claim).into()])
}
