//! The begin of a turn: said in NodeIPAM, answered in the block, recorded with the address.

use std::hash::{BuildHasher as _, RandomState};

use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::turn::{TakeCase, TakeRefusal, take};
use tenure_leases::node::MAX_HELD;
use tenure_leases::{BlockName, ClaimTurn, HolderIdentity, IpBlock, TurnId};
use tenure_types::PoolName;

use crate::agent::accepting::AgentError;
use crate::agent::asked::{AskedClaim, ClaimLooks, ClaimWait, ClaimingPod, ShownClaim};
use crate::agent::core::AgentCore;
use crate::agent::fetch::{self, ClaimedBlock};
use crate::agent::ranges::is_excluded;
use crate::agent::records::{HeldLease, LeaseTurn, overlapping};
use crate::agent::settings::PoolFamily;
use crate::agent::turns::pending;
use crate::objects::node::PoolSettings;
use crate::pools::ClaimName;

impl AgentCore {
    /// Goes one step further with a claim that a pod asks for; returns what it waits for.
    pub(super) async fn take_turns(
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
        // A lease of the claim before, which a pod has still, is not taken for one of this claim.
        if let Ok(uid) = blocks.uid.parse() {
            let shown = ShownClaim { uid, addresses: names.len() };
            self.state().shown.insert(claim.clone(), shown);
        }
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
            let is_its = lease.turn.as_ref().is_none_or(|turn| turn.claim == *claim);
            let is_usable = is_its && self.is_usable(&lease, wanted.pod).await;
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
                "the address of claim {claim} is not this node's yet: {}",
                self.why_unanswered(&found.block)
            )))),
            Err(TakeRefusal::Others | TakeRefusal::Leaving) => Ok(Some(ClaimWait::PreviousOwner(format!(
                "{} of claim {claim} is still {}",
                found.block.cidr.addr(),
                found.user
            )))),
        }
    }

    /// The operator's word about a pool of which the node gets no turn, or that there is none.
    fn why_unanswered(&self, block: &IpBlock) -> String {
        let name = format!("{}{}", block.pool.name, PoolFamily::of(block.cidr).suffix());
        let told = PoolName::new(name).ok().and_then(|pool| self.state().pool_waits_for(&pool));
        told.map_or_else(
            || "the operator has not answered".to_owned(),
            |(reason, message)| format!("AddressPool {}: {message} ({reason})", block.pool.name),
        )
    }

    /// The reason for which a pod cannot have the address of a claim that the ledger has.
    fn words_about(&self, claim: &ClaimName, lease: &HeldLease) -> String {
        let address = lease.cidr().addr();
        if let Some(before) = lease.turn.as_ref().filter(|turn| turn.claim != *claim) {
            return format!(
                "{address} of claim {claim} is still in use on this node by pod {} of claim {}, which had it before",
                before.pod, before.claim
            );
        }
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
            turn: Some(LeaseTurn {
                claim: claim.clone(),
                uid: found.claim_uid,
                turn,
                pod: pod.name,
                guest: pod.guest,
                addresses,
            }),
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
