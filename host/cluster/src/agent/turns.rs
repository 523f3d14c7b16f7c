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

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::turn::{TakeCase, TakeRefusal, take};
use tenure_leases::node::MAX_HELD;
use tenure_leases::{BlockName, ClaimTurn, HolderIdentity, MarkId, TurnId, TurnState};
use tokio::time::sleep;

use crate::agent::accepting::AgentError;
use crate::agent::asked::{AskedClaim, ClaimAddress, ClaimWait};
use crate::agent::core::AgentCore;
use crate::agent::fetch::{self, ClaimedBlock};
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::usage::{labelled, usage};
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

/// How long a turn that no pod asks for any more is still wanted.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The address of a claim, once it is this node's.
///
/// # Errors
/// [`ClaimWait`] if it is not within seconds.
pub(crate) async fn address_of(
    core: &AgentCore,
    claim: &ClaimName,
    pod: &str,
) -> Result<ClaimAddress, ClaimWait> {
    let begin = core.now();
    loop {
        if let Some(found) = core.held_claim(claim).await {
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
    /// The claim's address, if the ledger has it and the operator does not ask for it back.
    async fn held_claim(&self, claim: &ClaimName) -> Option<ClaimAddress> {
        let is_its = |lease: &HeldLease| lease.turn.as_ref().is_some_and(|turn| turn.claim == *claim);
        let lease = self.leases().into_values().find(is_its)?;
        if lease.hold != LeaseHold::Open || self.asked_back().contains(&lease.name.to_string()) {
            return None;
        }
        let book = self.book_of(&lease.pool.name).await?;
        let is_open = labelled(&book).any(|(_, view, cidr)| cidr == lease.cidr() && !view.draining);
        is_open.then(|| ClaimAddress { address: lease.cidr().addr(), pool: lease.pool.name.to_string() })
    }

    /// Notes that a pod asks for a claim; returns whether that is news, and the answer so far.
    fn ask(&self, claim: &ClaimName, pod: &str) -> (bool, Option<ClaimWait>) {
        let now = self.now();
        let mut state = self.state();
        if let Some(asked) = state.asked.get_mut(claim) {
            (asked.at, asked.pod) = (now, pod.to_owned());
            return (false, asked.wait.clone());
        }
        let asked = AskedClaim { pod: pod.to_owned(), at: now, turn: None, wait: None, is_taking: false };
        state.asked.insert(claim.clone(), asked);
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
            let LeaseTurn { turn, pod, .. } = lease.turn?;
            Some(ClaimTurn { block: lease.name, turn, state: TurnState::Held, pod })
        });
        let mut turns: Vec<ClaimTurn> = held.collect();
        let state = self.state();
        for asked in state.asked.values() {
            let Some((block, turn)) = asked.turn.clone() else { continue };
            if turns.iter().all(|known| known.block != block) {
                turns.push(ClaimTurn { block, turn, state: TurnState::Wanted, pod: asked.pod.clone() });
            }
        }
        turns
    }

    /// Ends turns that others wait for, and takes those that pods of this node wait for.
    pub(crate) async fn claims(&self, me: &HolderIdentity) -> Result<(), AgentError> {
        let now = self.now();
        self.state().asked.retain(|_, asked| asked.is_taking || now.saturating_sub(asked.at) < FORGET_AFTER);
        let asked_back = self.asked_back();
        for lease in self.leases().into_values() {
            let is_others = lease.hold == LeaseHold::Contested;
            if lease.turn.is_some() && (is_others || asked_back.contains(&lease.name.to_string())) {
                self.let_go(&lease).await?;
            }
        }
        let asked: Vec<ClaimName> = self.state().asked.keys().cloned().collect();
        for claim in asked {
            if self.held_claim(&claim).await.is_some() {
                self.state().asked.remove(&claim);
            } else if let Some(wait) = self.take_turn(me, &claim).await?
                && let Some(asked) = self.state().asked.get_mut(&claim)
            {
                asked.wait = Some(wait);
            }
        }
        Ok(())
    }

    /// Lets go of an address that no pod has. Nothing is handed out between the look and the record.
    async fn let_go(&self, lease: &HeldLease) -> Result<(), AgentError> {
        let Some(network) = self.settings.network_of(&lease.pool.name) else {
            return self.forget_turn(lease).await;
        };
        if self.is_used(lease).await {
            return Ok(());
        }
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
        Ok(self.forget(&lease.name).await?)
    }

    async fn is_used(&self, lease: &HeldLease) -> bool {
        let Some(book) = self.book_of(&lease.pool.name).await else { return false };
        let usage = usage(&book, lease.cidr());
        usage.in_use > 0 || usage.promised > 0 || usage.quarantined > 0
    }

    /// Goes one step further with a claim that a pod asks for; returns what it waits for.
    async fn take_turn(
        &self,
        me: &HolderIdentity,
        claim: &ClaimName,
    ) -> Result<Option<ClaimWait>, AgentError> {
        let pending =
            |why: String| Ok(Some(ClaimWait::Pending(format!("claim {claim} has no address: {why}"))));
        let name = match fetch::claim(&self.client, claim).await? {
            Ok(block) => block,
            Err(why) => return pending(why),
        };
        // A claim that was deleted and made again has another block; the turn with the old one ends by itself.
        let is_held = self.leases().values().any(|lease| lease.name == name);
        if is_held {
            return Ok(Some(ClaimWait::Pending(format!(
                "the address of claim {claim} is being confirmed, or passed on, by this node"
            ))));
        }
        if self.claim_turns().len() >= MAX_HELD && !self.has_turn(claim) {
            return pending(format!("this node has {MAX_HELD} addresses of claims, which is the most"));
        }
        let Some(turn) = self.turn_with(claim, &name) else { return Ok(None) };
        let is_said = |said: &ClaimTurn| said.block == name && said.turn == turn;
        let has_said =
            self.state().written.as_ref().is_some_and(|written| written.claims.iter().any(is_said));
        if !has_said {
            return Ok(None);
        }
        let Some(found) = fetch::claimed_block(&self.client, &name).await? else {
            return pending("its block is gone, and the operator makes it again".to_owned());
        };
        let space = fetch::space(&self.client, name.group()).await?;
        let case = TakeCase { me, turn, block: &found.block, active: found.turn, space: space.as_ref() };
        match take(&case) {
            Ok(()) => self.hold_turn(claim, name, turn, &found).await,
            Err(TakeRefusal::Space(error)) => pending(error.to_string()),
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

    /// Whether a turn was drawn for a claim.
    fn has_turn(&self, claim: &ClaimName) -> bool {
        self.state().asked.get(claim).is_some_and(|asked| asked.turn.is_some())
    }

    /// The turn to say for a claim: the one that was drawn for its block, or another. `None` if no pod asks any more.
    fn turn_with(&self, claim: &ClaimName, block: &BlockName) -> Option<TurnId> {
        let mut state = self.state();
        let asked = state.asked.get_mut(claim)?;
        let known = asked.turn.take().filter(|(of, _)| of == block);
        // Each of these has keys of its own, which come from the kernel's random numbers.
        let drawn = || (block.clone(), TurnId(RandomState::new().hash_one(block)));
        Some(asked.turn.insert(known.unwrap_or_else(drawn)).1)
    }

    /// Records that the node has the address, and puts it into the network.
    async fn hold_turn(
        &self,
        claim: &ClaimName,
        name: BlockName,
        turn: TurnId,
        found: &ClaimedBlock,
    ) -> Result<Option<ClaimWait>, AgentError> {
        let pool = &found.block.pool;
        let Some(network) = self.settings.network_of(&pool.name) else {
            return Ok(Some(ClaimWait::Pending(format!(
                "claim {claim} is of AddressPool {}, which no network of this node has",
                pool.name
            ))));
        };
        let pod = {
            let mut state = self.state();
            let wanted =
                |asked: &&mut AskedClaim| asked.turn.as_ref().is_some_and(|(_, wanted)| *wanted == turn);
            let Some(asked) = state.asked.get_mut(claim).filter(wanted) else { return Ok(None) };
            asked.is_taking = true;
            asked.pod.clone()
        };
        let lease = HeldLease {
            name,
            uid: found.block.uid,
            pool: pool.clone(),
            hold: LeaseHold::Open,
            boot: Some(self.settings.boot),
            turn: Some(LeaseTurn { claim: claim.clone(), turn, pod }),
        };
        let recorded = self.record(&lease).await;
        if let Some(asked) = self.state().asked.get_mut(claim) {
            asked.is_taking = false;
        }
        recorded?;
        tracing::info!(block = %lease.cidr(), %claim, "the address of a claim is this node's");
        self.supply(network).await?;
        Ok(None)
    }
}
