//! One pass of the agent: what the ledger needs by itself first, then what the API server is needed for.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_effects::budget::Jitter;
use tenure_leases::agent::compare::is_settled;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::tombstones::LeaseTombstones;
use tenure_leases::{BlockHint, BlockName, HolderIdentity, Uid};

use crate::agent::accepting::AgentError;
use crate::agent::core::{AgentCore, internal, is_lost};
use crate::agent::fetch;
use crate::agent::marks::{Executors, freeze_drained, mark};
use crate::agent::rebuilding::read_back;
use crate::agent::records::tombstone_key;
use crate::agent::saying::say;

/// The most tombstones that a pass writes, and forgets.
const AGED_AT_ONCE: usize = 100;

/// One agent at work.
pub(crate) struct AgentPass<'a> {
    pub(crate) core: &'a AgentCore,
    pub(crate) executors: &'a Executors,
    pub(crate) jitter: &'a mut Jitter,
}

impl AgentPass<'_> {
    /// Looks at everything once.
    pub(crate) async fn run(&mut self) -> Result<(), AgentError> {
        if is_lost(self.core.engine.conditions()) {
            // What is written now would take the place of the right ledger, which may be put back; and what the node has said stands.
            return Ok(());
        }
        self.end_returned().await?;
        // Before the first range of a pool that is kept for claims: until then, its addresses would be for everybody.
        self.core.keep_selectors().await?;
        self.supply().await?;
        self.note_idle().await;
        let me = self.identity().await?;
        if self.core.state().is_lost {
            read_back(self.core, &me).await?;
        }
        self.core.look_up_pools(self.jitter).await?;
        self.core.note_unsupplied().await;
        self.doubted_settings().await?;
        self.forget_pools();
        self.forget_blocks();
        if self.core.state().is_listed {
            self.core.keep_selectors().await?;
            self.hints(&me).await?;
            freeze_drained(self.core, self.executors).await?;
            self.compare(&me).await?;
            self.core.claims(&me).await?;
            self.core.give_up_unneeded().await?;
            self.end_returned().await?;
            self.supply().await?;
            self.core.answer_claims().await;
            // Without the operator's half, its call and its hints would be missing from the words.
            say(self.core, &me, self.jitter).await?;
        }
        Ok(())
    }

    /// Forgets the blocks whose lease is over, and the tombstones that are old enough.
    async fn end_returned(&self) -> Result<(), AgentError> {
        let dropped = self.core.dropped();
        for lease in self.core.leases().into_values() {
            if dropped.contains_key(&lease.uid) && self.core.giving_back(lease.cidr()).is_none() {
                self.core.forget(&lease.name).await?;
            }
        }
        self.age(&dropped).await
    }

    /// Forgets tombstones that are old enough, and notes the time by which the others age. Those of a version before there was that time count from now.
    async fn age(&self, dropped: &BTreeMap<Uid, Option<u64>>) -> Result<(), AgentError> {
        if dropped.is_empty() {
            return Ok(());
        }
        let (now, last) = self.core.time();
        let mut objects = Vec::new();
        let undated = dropped.iter().filter(|(_, ends)| ends.is_none()).map(|(uid, _)| *uid);
        let undated: Vec<Uid> = undated.take(AGED_AT_ONCE).collect();
        if !undated.is_empty() || now.is_note_due(last) {
            objects = self.core.tombstones(undated).map_err(internal)?;
        }
        let dated = dropped.iter().filter_map(|(uid, ends)| Some((*uid, (*ends)?)));
        let over = dated.collect::<LeaseTombstones>().expire(now.seconds);
        if !objects.is_empty() || !over.is_empty() {
            let over: Vec<_> = over.into_iter().take(AGED_AT_ONCE).map(tombstone_key).collect();
            self.core.engine.objects_seen(&objects, &over).await?;
        }
        Ok(())
    }

    async fn supply(&self) -> Result<(), AgentError> {
        self.core.leave_networks().await?;
        for network in self.core.settings.networks.keys() {
            self.core.supply(network).await?;
        }
        Ok(())
    }

    /// Notes since when blocks have been empty.
    async fn note_idle(&self) {
        let now = self.core.now();
        let mut empty = Vec::new();
        for lease in self.core.leases().into_values().filter(|lease| lease.turn.is_none()) {
            let book = self.core.book_of(&lease.pool.name).await;
            if book.is_some_and(|book| self.core.row(&lease, Some(&book)).usage.is_empty()) {
                empty.push(lease.cidr());
            }
        }
        let mut state = self.core.state();
        state.idle_since.retain(|cidr, _| empty.contains(cidr));
        for cidr in empty {
            state.idle_since.entry(cidr).or_insert(now);
        }
    }

    /// The node's identity: looked up once, and again when the operator does not know it.
    async fn identity(&self) -> Result<HolderIdentity, AgentError> {
        let known = {
            let state = self.core.state();
            let is_unknown = state.waits_for().is_some_and(|(reason, _)| reason == "NodeUnknown");
            state.identity.clone().filter(|_| !is_unknown)
        };
        match known {
            Some(me) => Ok(me),
            None => {
                let me = fetch::identity(&self.core.client, &self.core.settings).await?;
                self.core.state().identity = Some(me.clone());
                Ok(me)
            }
        }
    }

    /// Forgets the settings of pools that the operator no longer tells, and of which the node has no block.
    fn forget_pools(&self) {
        let leases = self.core.leases();
        let mut state = self.core.state();
        let Some(told) = state.object.as_ref().and_then(|object| object.status.as_ref()) else { return };
        let told: Vec<_> = told.pools.iter().filter_map(|pool| pool.uid.parse().ok()).collect();
        let is_held = |uid| leases.values().any(|lease| lease.pool.uid == uid);
        state.in_force.retain(|uid, _| told.contains(uid) || is_held(*uid));
    }

    /// Forgets what is about blocks that are gone, and the answers to marks that are settled.
    fn forget_blocks(&self) {
        let leases = self.core.leases();
        let mut guard = self.core.state();
        let state = &mut *guard;
        state.unapplied.retain(|cidr, _| leases.contains_key(cidr));
        state.compared.retain(|cidr, _| leases.contains_key(cidr));
        let is_hinted = |cidr: &IpNet| state.told.blocks.iter().any(|hint| hint.cidr == *cidr);
        state.leaving.retain(|cidr| leases.contains_key(cidr) || is_hinted(cidr));
        // The next pass answers again what is hinted at again.
        state.answers.retain(|uid, _| state.told.blocks.iter().any(|hint| hint.uid == *uid));
    }

    /// Reads the pools of which a lower generation is told than is in force: the store was restored, or the operator's word is an old one.
    async fn doubted_settings(&self) -> Result<(), AgentError> {
        let doubted = self.core.state().doubted_settings();
        for (uid, told) in doubted {
            let stored = fetch::pool(&self.core.client, &told.name).await?;
            let stored = stored.filter(|pool| pool.key.uid == uid);
            let mut state = self.core.state();
            match stored {
                Some(pool) => state.take_settings(uid, told, Some(pool.generation)),
                None => drop(state.doubted_pools.remove(&uid)),
            }
        }
        Ok(())
    }

    /// Accepts what the operator hints at, and answers its marks.
    async fn hints(&self, me: &HolderIdentity) -> Result<(), AgentError> {
        for (name, hint) in self.hinted() {
            let is_held = self.core.leases().values().any(|lease| lease.name == name);
            // One that leaves already is marked soon, and goes unused: its exclusions may be gone from the pool.
            let is_unwanted = {
                let (now, state) = (self.core.now(), self.core.state());
                state.is_lost
                    || state.hesitations.is_early(hint.uid, now)
                    || state.leaving.contains(&hint.cidr)
            };
            match hint.mark {
                Some(asked) => mark(self.core, self.executors, me, (&name, hint), asked).await?,
                None if !is_held && !is_unwanted => self.core.accept(me, &name, hint).await?,
                None => {}
            }
        }
        Ok(())
    }

    /// The hints, each with the name of its block.
    fn hinted(&self) -> Vec<(BlockName, BlockHint)> {
        let state = self.core.state();
        let entries = state.object.iter().flat_map(|object| &object.status).flat_map(|status| &status.blocks);
        let named = |hint: &BlockHint| {
            let cidr = hint.cidr.to_string();
            let entry = entries.clone().find(|entry| entry.cidr == cidr)?;
            Some((entry.name.parse().ok()?, *hint))
        };
        state.told.blocks.iter().filter_map(named).collect()
    }

    /// Compares the blocks that a relist, a hint or the wish for an address of a claim gives a reason to look at.
    async fn compare(&self, me: &HolderIdentity) -> Result<(), AgentError> {
        let now = self.core.now();
        let asked_back = self.core.asked_back();
        for lease in self.core.leases().into_values() {
            let cidr = lease.cidr();
            let row = self.core.row(&lease, None);
            let is_due = {
                let state = self.core.state();
                let hint = state.told.blocks.iter().find(|hint| hint.cidr == cidr);
                let hint = hint.map(|hint| (hint.uid, hint.mark.map(|mark| mark.id)));
                let is_early = state.compared.get(&cidr).is_some_and(|(next, _)| now < *next);
                // The operator hints at no block of a claim. It asks for the address where the turn is over, as after a fence of a node that lives.
                let is_asked_back = asked_back.contains(&lease.name.to_string());
                let is_usual = lease.turn.is_some() && lease.hold == LeaseHold::Open && !is_asked_back;
                let is_open = (is_settled(&row, hint) && !is_usual) || state.unconfirmed.contains(&cidr);
                state.to_compare.contains(&cidr) || (is_open && !is_early)
            };
            if is_due {
                self.core.compare(me, &lease).await?;
                self.core.state().to_compare.remove(&cidr);
            }
        }
        Ok(())
    }
}
