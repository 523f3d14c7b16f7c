//! Addresses of claims on this node.
//!
//! ```text
//!   a pod names a claim ──▶ asked ──▶ GET the claim: its block ──▶ a turn is drawn, and said in NodeIPAM
//!                                                                       │ GET the block: the turn is this node's; GET the space
//!                                                                       ▼
//!   said no longer ◀── record gone ◀── no pod has the address ◀── asked back ── held: recorded with the turn, and in the network
//! ```
//!
//! The loop of the agent does all of it, one thing after the other. An ADD only notes that its pod asks, and looks at what the ledger has: while the
//! claim's address is held here, it needs no API server.
//!
//! The two pods of a virtual machine that moves have a turn each, on two nodes. Once the machine runs in the pod here, the agent says so, and the
//! operator lets the turns change places.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::turn::{TakeCase, TakeRefusal, take};
use tenure_leases::node::MAX_HELD;
use tenure_leases::{BlockName, ClaimTurn, HolderIdentity, MarkId, TurnGuest, TurnId, TurnState};
use tenure_types::PodIdentity;
use tokio::time::sleep;

use crate::agent::accepting::AgentError;
use crate::agent::asked::{AskedClaim, ClaimAddress, ClaimLooks, ClaimWait, ClaimingPod};
use crate::agent::core::AgentCore;
use crate::agent::fetch::{self, ClaimedBlock};
use crate::agent::ranges::is_excluded;
use crate::agent::records::{HeldLease, LeaseTurn, overlapping};
use crate::agent::usage::labelled;
use crate::objects::node::PoolSettings;
use crate::pods::guest_of;
use crate::pools::ClaimName;

/// How long an ADD waits for the address of its claim. The runtime tries again.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The same while another node has it.
const LONGEST_WAIT_FOR_OTHERS: Duration = Duration::from_secs(3);

/// The same while the API server cannot be reached.
const FIRST_LOOK: Duration = Duration::from_millis(1500);

/// The hold of a lease that the node lets go of by itself: no operator has marked it.
const LETTING_GO: LeaseHold = LeaseHold::Cordoned(MarkId(0));

/// How often a waiting ADD looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long an address that was just taken waits for the ADD that asked for it, although others want it too.
const FIRST_USE: Duration = Duration::from_secs(2);

/// How long a turn that no pod asks for any more is still wanted.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// How long a pass looks at claims in the API server, at one at least. The blocks of all other pods wait meanwhile.
const LOOKS_FOR: Duration = Duration::from_secs(1);

/// The addresses of a claim, once they are this node's: one, or one of each family.
///
/// # Errors
/// [`ClaimWait`] if they are not within seconds.
pub(crate) async fn addresses_of(
    core: &AgentCore,
    claim: &ClaimName,
    pod: &ClaimingPod,
) -> Result<Vec<ClaimAddress>, ClaimWait> {
    let begin = core.now();
    loop {
        if let Some(found) = core.held_claim(claim, pod).await {
            return Ok(found);
        }
        let (is_news, wait) = core.ask(claim, pod);
        if is_news {
            core.wake.notify_one();
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
        sleep(LOOK_EVERY).await;
    }
}

impl AgentCore {
    /// The claim's addresses, if the ledger has all of them and the pod may use them.
    async fn held_claim(&self, claim: &ClaimName, pod: &ClaimingPod) -> Option<Vec<ClaimAddress>> {
        let is_its = |lease: &HeldLease| lease.turn.as_ref().is_some_and(|turn| turn.claim == *claim);
        let leases: Vec<HeldLease> = self.leases().into_values().filter(is_its).collect();
        let all = leases.iter().flat_map(|lease| &lease.turn).map(|turn| turn.addresses).max()?;
        if leases.len() < all {
            return None;
        }
        let mut addresses = Vec::new();
        for lease in leases {
            if !self.is_usable(&lease, pod).await {
                return None;
            }
            let pool = lease.pool.name.to_string();
            addresses.push(ClaimAddress { address: lease.cidr().addr(), pool });
        }
        Some(addresses)
    }

    /// Whether a pod may use the address of a claim that the ledger has. One that the operator asks back is for nobody else than the pod of a
    /// virtual machine for which the turn began: the other pod of that machine has a turn of its own. The turn of one machine is for no other, since
    /// the block names the machine, and another pod of it may have the address too.
    async fn is_usable(&self, lease: &HeldLease, pod: &ClaimingPod) -> bool {
        let Some(turn) = &lease.turn else { return false };
        let is_for_pod = turn.guest.is_some() && turn.pod == pod.name;
        let is_asked_back = self.asked_back().contains(&lease.name.to_string());
        if lease.hold != LeaseHold::Open || turn.guest != pod.guest || (is_asked_back && !is_for_pod) {
            return false;
        }
        let Some(book) = self.book_of(&lease.pool.name).await else { return false };
        labelled(&book).any(|(_, view, cidr)| cidr == lease.cidr() && !view.draining)
    }

    /// Notes that a pod asks for a claim; returns whether that is news, and the answer so far.
    fn ask(&self, claim: &ClaimName, pod: &ClaimingPod) -> (bool, Option<ClaimWait>) {
        let now = self.now();
        let mut state = self.state();
        if let Some(asked) = state.asked.get_mut(claim) {
            asked.at = now;
            if asked.pod.guest != pod.guest {
                // A turn is one of the virtual machine for which it was said first.
                asked.turns.clear();
            }
            if asked.pod != *pod {
                asked.pod = pod.clone();
            }
            return (false, asked.wait.clone());
        }
        state.asked.insert(claim.clone(), AskedClaim::new(pod.clone(), now));
        (true, None)
    }

    /// The names of the claims' blocks that the operator asks back.
    fn asked_back(&self) -> BTreeSet<String> {
        let state = self.state();
        let status = state.object.iter().flat_map(|object| &object.status);
        status.flat_map(|status| &status.claims_asked_back).cloned().collect()
    }

    /// The turns to say: those of the ledger, and those that pods want.
    pub(crate) fn claim_turns(&self) -> Vec<ClaimTurn> {
        let held = self.leases().into_values().filter_map(|lease| {
            let guest = self.guest(lease.turn.as_ref()?);
            let LeaseTurn { turn, pod, .. } = lease.turn?;
            Some(ClaimTurn { block: lease.name, turn, state: TurnState::Held, pod, guest })
        });
        let mut turns: Vec<ClaimTurn> = held.collect();
        let state = self.state();
        for asked in state.asked.values() {
            for (block, turn) in &asked.turns {
                if turns.iter().all(|known| known.block != *block) {
                    let ClaimingPod { name: pod, guest } = asked.pod.clone();
                    let guest = guest.map(|uid| TurnGuest { uid, runs: false });
                    let (block, turn, state) = (block.clone(), *turn, TurnState::Wanted);
                    turns.push(ClaimTurn { block, turn, state, pod, guest });
                }
            }
        }
        turns
    }

    /// The virtual machine of a turn, and whether it runs in the turn's pod as far as the pod's labels are known.
    fn guest(&self, turn: &LeaseTurn) -> Option<TurnGuest> {
        let uid = turn.guest?;
        let (namespace, name) = turn.pod.split_once('/')?;
        let pod = PodIdentity { namespace: namespace.into(), name: name.into(), uid: "".into() };
        let labels = self.pods.as_ref().and_then(|pods| pods.known_labels(&pod));
        let guest = labels.and_then(|labels| guest_of(&labels, &self.settings.node));
        Some(TurnGuest { uid, runs: guest.is_some_and(|guest| guest.uid == uid && guest.runs) })
    }

    /// Ends turns that others wait for, and takes those that pods of this node wait for.
    pub(crate) async fn claims(&self, me: &HolderIdentity) -> Result<(), AgentError> {
        let now = self.now();
        {
            let mut state = self.state();
            state.asked.retain(|_, asked| asked.is_taking || now.saturating_sub(asked.at) < FORGET_AFTER);
            state.taken.retain(|_, (_, at)| now.saturating_sub(*at) < FIRST_USE);
        }
        let asked_back = self.asked_back();
        for lease in self.leases().into_values() {
            let Some(turn) = &lease.turn else { continue };
            let is_others = lease.hold == LeaseHold::Contested;
            let is_wanted = asked_back.contains(&lease.name.to_string()) || self.is_of_another_machine(turn);
            if is_others || (is_wanted && !self.is_about_to_use(turn)) {
                self.let_go(&lease).await?;
            }
        }
        if self.claim_turns().len() > MAX_HELD {
            self.has_room(&[]).await?;
        }
        let looks =
            |(claim, asked): (&ClaimName, &AskedClaim)| (asked.looks.next, claim.clone(), asked.pod.clone());
        let mut asked: Vec<_> = self.state().asked.iter().map(looks).collect();
        // What does not get its turn in this pass is first in the next one.
        asked.sort_by_key(|(next, ..)| *next);
        let begin = self.now();
        for (next, claim, pod) in asked {
            if self.held_claim(&claim, &pod).await.is_some() {
                self.state().asked.remove(&claim);
                continue;
            }
            let now = self.now();
            if next > now || now.saturating_sub(begin) >= LOOKS_FOR {
                continue;
            }
            if let Some(asked) = self.state().asked.get_mut(&claim) {
                asked.looks.looked(now);
            }
            let wait = match self.take_turns(me, &claim, &pod).await {
                // Neither the other claims nor the rest of the pass wait for this one.
                Err(AgentError::Fetch(error)) if error.is_of_one_object() => {
                    self.state().count_failure(error.call());
                    Some(pending(&claim, &error.to_string()))
                }
                wait => wait?,
            };
            if let Some(wait) = wait
                && let Some(asked) = self.state().asked.get_mut(&claim)
            {
                asked.wait = Some(wait);
            }
        }
        Ok(())
    }

    /// Whether the node can say turns with these blocks beside its others. If it cannot, turns go that no pod uses and none asks for, until it can.
    async fn has_room(&self, names: &[BlockName]) -> Result<bool, AgentError> {
        let is_other = |turn: &ClaimTurn| !names.contains(&turn.block);
        let has_room = || {
            let others = self.claim_turns().iter().filter(|turn| is_other(turn)).count();
            others.saturating_add(names.len()) <= MAX_HELD
        };
        for lease in self.leases().into_values() {
            if has_room() {
                return Ok(true);
            }
            let Some(turn) = &lease.turn else { continue };
            let is_asked_for = self.state().asked.contains_key(&turn.claim) || names.contains(&lease.name);
            // Of what is in doubt, and of what no network has, it is not known whether a pod uses it.
            let is_known =
                lease.hold != LeaseHold::Doubted && self.settings.network_of(&lease.pool.name).is_some();
            if is_known && !is_asked_for && !self.is_about_to_use(turn) {
                self.let_go(&lease).await?;
            }
        }
        Ok(has_room())
    }

    /// Whether the turn is one of another virtual machine than that of the pod that asks for the claim now.
    fn is_of_another_machine(&self, turn: &LeaseTurn) -> bool {
        self.state().asked.get(&turn.claim).is_some_and(|asked| asked.pod.guest != turn.guest)
    }

    /// Whether the pod for which a turn began still waits for the claim's other address, or got this one a moment ago.
    fn is_about_to_use(&self, turn: &LeaseTurn) -> bool {
        let (now, state) = (self.now(), self.state());
        let is_it = |pod: &str, at: Duration| pod == turn.pod && now.saturating_sub(at) < FIRST_USE;
        let asks = state.asked.get(&turn.claim).is_some_and(|asked| is_it(&asked.pod.name, asked.at));
        asks || state.taken.get(&turn.claim).is_some_and(|(pod, at)| is_it(pod, *at))
    }

    /// Lets go of an address that no pod has. Nothing is handed out between the look and the record.
    async fn let_go(&self, lease: &HeldLease) -> Result<(), AgentError> {
        if self.is_used(lease).await {
            return Ok(());
        }
        let Some(network) = self.settings.network_of(&lease.pool.name) else {
            return self.forget_turn(lease).await;
        };
        self.set_hold(lease, LETTING_GO).await?;
        self.supply(network).await?;
        if self.is_used(lease).await {
            self.set_hold(&HeldLease { hold: LETTING_GO, ..lease.clone() }, LeaseHold::Open).await?;
        } else {
            self.forget_turn(lease).await?;
        }
        Ok(self.supply(network).await?)
    }

    async fn forget_turn(&self, lease: &HeldLease) -> Result<(), AgentError> {
        tracing::info!(block = %lease.cidr(), "let go of the address of a claim");
        self.forget(&lease.name).await?;
        self.state().unconfirmed.remove(&lease.cidr());
        Ok(())
    }

    async fn is_used(&self, lease: &HeldLease) -> bool {
        let book = self.book_of(&lease.pool.name).await;
        let usage = self.row(lease, book.as_deref()).usage;
        usage.in_use > 0 || usage.promised > 0 || usage.quarantined > 0
    }

    /// Goes one step further with a claim that a pod asks for; returns what it waits for.
    async fn take_turns(
        &self,
        me: &HolderIdentity,
        claim: &ClaimName,
        pod: &ClaimingPod,
    ) -> Result<Option<ClaimWait>, AgentError> {
        let known = self.state().asked.get(claim).and_then(|asked| asked.blocks.clone());
        let blocks = match fetch::claim_blocks(&self.client, claim, known).await? {
            Ok(blocks) => blocks,
            Err(why) => return Ok(Some(pending(claim, &why))),
        };
        let names = blocks.names.clone();
        if let Some(asked) = self.state().asked.get_mut(claim) {
            asked.turns.retain(|block, _| names.contains(block));
            asked.blocks = Some(blocks);
        }
        if !self.has_room(&names).await? {
            let why = format!("this node has {MAX_HELD} addresses of claims, which is the most");
            return Ok(Some(pending(claim, &why)));
        }
        let mut wait = None;
        for name in &names {
            let wanted = WantedTurn { claim, pod, name, addresses: names.len() };
            let waits = self.take_turn(me, &wanted).await?;
            wait = wait.or(waits);
        }
        Ok(wait)
    }

    /// The same with one of its addresses.
    async fn take_turn(
        &self,
        me: &HolderIdentity,
        wanted: &WantedTurn<'_>,
    ) -> Result<Option<ClaimWait>, AgentError> {
        let WantedTurn { claim, name, .. } = *wanted;
        // A claim that was deleted and made again has another block; the turn with the old one ends by itself.
        if let Some(lease) = self.leases().into_values().find(|lease| lease.name == *name) {
            let is_usable = self.is_usable(&lease, wanted.pod).await;
            return Ok((!is_usable).then(|| ClaimWait::Pending(self.words_about(claim, &lease))));
        }
        if let Some(other) = overlapping(&self.leases(), name) {
            // Pods of both would have the same address; what was said of it is said no longer.
            if let Some(asked) = self.state().asked.get_mut(claim) {
                asked.turns.remove(name);
            }
            let why = format!(
                "{} is in {other}, which this node holds in another overlap group",
                name.cidr().addr()
            );
            return Ok(Some(pending(claim, &why)));
        }
        let Some(turn) = self.turn_with(claim, name) else { return Ok(None) };
        let is_said = |said: &ClaimTurn| said.block == *name && said.turn == turn;
        let has_said =
            self.state().written.as_ref().is_some_and(|written| written.claims.iter().any(is_said));
        if !has_said {
            return Ok(None);
        }
        let Some(found) = fetch::claimed_block(&self.client, name, turn).await? else {
            // It may get another one.
            if let Some(asked) = self.state().asked.get_mut(claim) {
                asked.blocks = None;
            }
            return Ok(Some(pending(claim, "its block is gone, and the operator makes it again")));
        };
        if found.claim != *claim {
            // The store was put back, and the address went to another claim.
            if let Some(asked) = self.state().asked.get_mut(claim) {
                asked.blocks = None;
            }
            return Ok(Some(pending(claim, "its block is another claim's by now")));
        }
        let space = match found.turn == Some(turn) {
            true => fetch::space(&self.client, name.group()).await?,
            false => None,
        };
        let case = TakeCase { me, turn, block: &found.block, active: found.turn, space: space.as_ref() };
        match take(&case) {
            Ok(()) => match self.out_of_bounds(found.block.cidr, &found.block.pool).await {
                Some(why) => Ok(Some(pending(claim, &why))),
                None => self.hold_turn(wanted, turn, &found).await,
            },
            Err(TakeRefusal::Space(error)) => Ok(Some(pending(claim, &error.to_string()))),
            Err(TakeRefusal::Unanswered) => Ok(Some(ClaimWait::Pending(format!(
                "the address of claim {claim} is not this node's yet: the operator has not answered"
            )))),
            Err(TakeRefusal::Others | TakeRefusal::Leaving) => Ok(Some(ClaimWait::PreviousOwner(format!(
                "{} of claim {claim} is still {}",
                found.block.cidr.addr(),
                found.user
            )))),
        }
    }

    /// The reason for which a pod cannot have the address of a claim that the ledger has.
    fn words_about(&self, claim: &ClaimName, lease: &HeldLease) -> String {
        let address = lease.cidr().addr();
        let excludes = |settings: &PoolSettings| is_excluded(lease.cidr(), address, settings);
        match self.state().in_force.get(&lease.pool.uid).is_some_and(excludes) {
            true => format!(
                "{address} of claim {claim} is excluded in AddressPool {}: take it out of the exclusions, or make the claim again",
                lease.pool.name
            ),
            false => format!("the address of claim {claim} is being confirmed, or passed on, by this node"),
        }
    }

    /// The turn to say for a claim's block: the one that was drawn for it, or another. `None` if no pod asks any more.
    fn turn_with(&self, claim: &ClaimName, block: &BlockName) -> Option<TurnId> {
        let mut state = self.state();
        let asked = state.asked.get_mut(claim)?;
        if let Some(turn) = asked.turns.get(block) {
            return Some(*turn);
        }
        // Each of these has keys of its own, which come from the kernel's random numbers.
        let drawn = TurnId(RandomState::new().hash_one(block));
        asked.turns.insert(block.clone(), drawn);
        // It is looked for once it is said.
        asked.looks = ClaimLooks::default();
        Some(drawn)
    }

    /// Records that the node has the address, and puts it into the network.
    async fn hold_turn(
        &self,
        wanted: &WantedTurn<'_>,
        turn: TurnId,
        found: &ClaimedBlock,
    ) -> Result<Option<ClaimWait>, AgentError> {
        let WantedTurn { claim, name, addresses, .. } = *wanted;
        let pool = &found.block.pool;
        let Some(network) = self.settings.network_of(&pool.name) else {
            return Ok(Some(ClaimWait::Pending(format!(
                "claim {claim} is of AddressPool {}, which no network of this node has",
                pool.name
            ))));
        };
        let pod = {
            let mut state = self.state();
            let wants = |asked: &&mut AskedClaim| asked.turns.get(name) == Some(&turn);
            let Some(asked) = state.asked.get_mut(claim).filter(wants) else { return Ok(None) };
            asked.is_taking = true;
            asked.pod.clone()
        };
        let lease = HeldLease {
            name: name.clone(),
            uid: found.block.uid,
            pool: pool.clone(),
            hold: LeaseHold::Open,
            boot: Some(self.settings.boot),
            turn: Some(LeaseTurn { claim: claim.clone(), turn, pod: pod.name, guest: pod.guest, addresses }),
        };
        let recorded = self.record(&lease).await;
        {
            let (now, mut state) = (self.now(), self.state());
            if let Some(asked) = state.asked.get_mut(claim) {
                asked.is_taking = false;
                // This turn never begins again.
                asked.turns.remove(name);
                let pod = asked.pod.name.clone();
                state.taken.insert(claim.clone(), (pod, now));
            }
        }
        recorded?;
        tracing::info!(block = %lease.cidr(), %claim, "the address of a claim is this node's");
        self.supply(network).await?;
        Ok(None)
    }
}

/// A turn that a pod waits for.
#[derive(Clone, Copy)]
struct WantedTurn<'a> {
    claim: &'a ClaimName,
    pod: &'a ClaimingPod,
    /// The claim's block.
    name: &'a BlockName,
    /// The number of addresses that the claim has.
    addresses: usize,
}

fn pending(claim: &ClaimName, why: &str) -> ClaimWait {
    ClaimWait::Pending(format!("claim {claim} has no address: {why}"))
}
