//! A pod that asks for its claim: what the ledger has, and the wait for what it has not.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;
use tenure_leases::ClaimKind;
use tenure_leases::agent::ledger::LeaseHold;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::agent::asked::{AskedClaim, ClaimAddress, ClaimWait, ClaimingPod};
use crate::agent::core::AgentCore;
use crate::agent::fetch;
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::turns::pending;
use crate::agent::usage::labelled;
use crate::pools::ClaimName;

/// How long an ADD waits for the address of its claim. The runtime tries again.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The same while another node has it.
const LONGEST_WAIT_FOR_OTHERS: Duration = Duration::from_secs(3);

/// The same while the API server cannot be reached.
const FIRST_LOOK: Duration = Duration::from_millis(1500);

/// The addresses of a claim, once they are this node's: one, or one of each family.
///
/// # Errors
/// [`ClaimWait`] if they are not within seconds.
pub(crate) async fn addresses_of(
    core: &AgentCore,
    claim: &ClaimName,
    pod: &ClaimingPod,
) -> Result<Vec<ClaimAddress>, ClaimWait> {
    if core.held_claim(claim, pod).await.is_some() {
        core.look_at(claim).await;
        if let Some(found) = core.held_claim(claim, pod).await {
            return Ok(found);
        }
    }
    let begin = core.now();
    loop {
        let ClaimAnswer { is_news, wait, mut answered } = core.ask(claim, pod);
        if is_news {
            core.wake.notify_one();
        }
        // Only an answer after this look is a reason for another one: many pods may wait, and each look reads all leases.
        if let Some(found) = core.held_claim(claim, pod).await {
            return Ok(found);
        }
        let waited = core.now().saturating_sub(begin);
        let trouble = core.state().trouble.clone();
        let longest = match (&trouble, &wait) {
            (Some(_), _) => FIRST_LOOK,
            (None, Some(ClaimWait::PreviousOwner(_))) => LONGEST_WAIT_FOR_OTHERS,
            (None, _) => LONGEST_WAIT,
        };
        if waited >= longest {
            let unheard = || {
                let why = trouble.unwrap_or_else(|| "the API server has not answered yet".to_owned());
                ClaimWait::Pending(format!("the address of claim {claim} is not this node's yet: {why}"))
            };
            return Err(wait.unwrap_or_else(unheard));
        }
        let limits = [FIRST_LOOK, LONGEST_WAIT_FOR_OTHERS, LONGEST_WAIT];
        let next = limits.into_iter().find(|limit| *limit > waited).unwrap_or(LONGEST_WAIT);
        // Whether there is an answer, or the agent no longer waits for one, is seen by the next look.
        let _ = timeout(next.saturating_sub(waited), answered.changed()).await;
    }
}

/// The AddressPool of an AddressClaim: by the ledger, or else by one GET.
///
/// # Errors
/// [`ClaimWait`] if there is no answer within seconds, or no such claim.
pub(crate) async fn pool_of(core: &AgentCore, claim: &ClaimName) -> Result<String, ClaimWait> {
    let of_claim = |lease: &HeldLease| lease.turn.as_ref().is_some_and(|turn| turn.claim == *claim);
    if let Some(lease) = core.leases().into_values().find(of_claim) {
        return Ok(lease.pool.name.to_string());
    }
    let unknown = |why: &str| ClaimWait::Pending(format!("the pool of claim {claim} is not known: {why}"));
    if let Some(trouble) = core.state().trouble.clone() {
        return Err(unknown(&trouble));
    }
    match timeout(LONGEST_WAIT, fetch::pool_of_claim(&core.client, claim)).await {
        Ok(Ok(Some(pool))) => Ok(pool),
        Ok(Ok(None)) => Err(unknown("there is no AddressClaim of this name")),
        Ok(Err(error)) => Err(unknown(&error.to_string())),
        Err(_) => Err(unknown("the API server has not answered yet")),
    }
}

/// The state of a claim that a pod asks for.
pub(super) struct ClaimAnswer {
    /// Whether no pod of this node asked for it before.
    pub(super) is_news: bool,
    /// The answer so far.
    pub(super) wait: Option<ClaimWait>,
    /// Changes with each answer, and ends with the last one.
    pub(super) answered: watch::Receiver<()>,
}

impl AgentCore {
    /// The claim's addresses, if the ledger has all of them and the pod may use them.
    pub(super) async fn held_claim(&self, claim: &ClaimName, pod: &ClaimingPod) -> Option<Vec<ClaimAddress>> {
        self.held_of(&self.leases(), claim, pod).await
    }

    /// The same by leases that were read already.
    async fn held_of(
        &self,
        leases: &BTreeMap<IpNet, HeldLease>,
        claim: &ClaimName,
        pod: &ClaimingPod,
    ) -> Option<Vec<ClaimAddress>> {
        let is_its = |turn: &LeaseTurn| turn.claim == *claim && !self.is_of_claim_before(turn);
        let leases: Vec<&HeldLease> =
            leases.values().filter(|lease| lease.turn.as_ref().is_some_and(is_its)).collect();
        let known = leases.iter().flat_map(|lease| &lease.turn).map(|turn| turn.addresses).max()?;
        // What was read last counts, unless that was before the claim had its addresses.
        let shown = self.state().shown.get(claim).map(|shown| shown.addresses);
        if leases.len() < shown.filter(|addresses| *addresses > 0).unwrap_or(known) {
            return None;
        }
        let mut addresses = Vec::new();
        for lease in leases {
            if !self.is_usable(lease, pod).await {
                return None;
            }
            let pool = lease.pool.name.to_string();
            addresses.push(ClaimAddress { address: lease.cidr().addr(), pool });
        }
        Some(addresses)
    }

    /// Looks at an IPAMClaim whose address is this node's: without a finalizer, it may have been made again, and it may have got the address of another
    /// family. Without an answer, it is as it was.
    pub(super) async fn look_at(&self, claim: &ClaimName) {
        if claim.kind != ClaimKind::Ipam || self.state().trouble.is_some() {
            return;
        }
        if let Ok(Ok(Some(shown))) = timeout(FIRST_LOOK, fetch::shown_claim(&self.client, claim)).await {
            self.state().shown.insert(claim.clone(), shown);
        }
    }

    /// Whether a turn is with the address of a claim that was deleted, and made again under its name.
    pub(super) fn is_of_claim_before(&self, turn: &LeaseTurn) -> bool {
        let shown = self.state().shown.get(&turn.claim).copied();
        turn.uid.zip(shown).is_some_and(|(uid, shown)| uid != shown.uid)
    }

    /// Whether a pod may use the address of a claim that the ledger has. One that the operator asks back is for nobody else than the pod of a
    /// virtual machine for which the turn began: the other pod of that machine has a turn of its own. The turn of one machine is for no other, since
    /// the block names the machine, and another pod of it may have the address too.
    pub(super) async fn is_usable(&self, lease: &HeldLease, pod: &ClaimingPod) -> bool {
        let Some(turn) = &lease.turn else { return false };
        let is_for_pod = turn.guest.is_some() && turn.pod == pod.name;
        let is_asked_back = self.asked_back().contains(&lease.name.to_string());
        if lease.hold != LeaseHold::Open || turn.guest != pod.guest || (is_asked_back && !is_for_pod) {
            return false;
        }
        let Some(book) = self.book_of(&lease.pool.name).await else { return false };
        labelled(&book).any(|(_, view, cidr)| cidr == lease.cidr() && !view.draining)
    }

    /// Notes that a pod asks for a claim. A turn is one of the virtual machine for which it was said first: the pod of another one, or of none, waits until the
    /// first asks no more, and does not take the turn from it.
    pub(super) fn ask(&self, claim: &ClaimName, pod: &ClaimingPod) -> ClaimAnswer {
        let now = self.now();
        let mut state = self.state();
        let is_news = !state.asked.contains_key(claim);
        let asked = state.asked.entry(claim.clone()).or_insert_with(|| AskedClaim::new(pod.clone(), now));
        let answered = asked.answered.subscribe();
        if asked.pod.guest != pod.guest {
            let why = format!("pod {} asks for it, which is not of the same virtual machine", asked.pod.name);
            return ClaimAnswer { is_news, wait: Some(pending(claim, &why)), answered };
        }
        asked.at = now;
        if asked.pod != *pod {
            asked.pod = pod.clone();
        }
        ClaimAnswer { is_news, wait: asked.wait.clone(), answered }
    }

    /// Forgets that pods ask for claims whose addresses are theirs by now, which ends their wait.
    pub(crate) async fn answer_claims(&self) {
        let pods = |(claim, asked): (&ClaimName, &AskedClaim)| (claim.clone(), asked.pod.clone());
        let asked: Vec<_> = self.state().asked.iter().map(pods).collect();
        if asked.is_empty() {
            return;
        }
        let leases = self.leases();
        for (claim, pod) in asked {
            if self.held_of(&leases, &claim, &pod).await.is_some() {
                self.state().asked.remove(&claim);
            }
        }
    }
}
