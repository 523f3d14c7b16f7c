//! Making the ranges of a network agree with the leases of the ledger.
//!
//! ```text
//!   a lease without ranges                          its ranges are added
//!   other settings than its ranges have             the ranges are replaced; an address that is held stays as its owner got it
//!   the pool no longer has the block's CIDR         the ranges keep their gateway, and what is not among them stays excluded: without ranges, all
//!   settings that cannot be applied, or that        the ranges stay as they are, and a condition says so
//!   the configuration does not allow
//!   ranges of a lease that is not open              they drain, and those of an open one do not
//!   an open lease of an earlier boot                they drain until it is confirmed
//!   a pool for claims that is not kept for them yet its ranges wait
//!   a block that is in use in another network       its ranges wait
//!   ranges without a lease, or with a dropped one   they are withdrawn
//!   a block that is being given back                its intent's own
//! ```

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_engine::Supply;
use tenure_leases::PoolKey;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_ledger::Book;
use tenure_types::{ErrorCode, NetworkName, PoolName, Range};

use crate::agent::core::AgentCore;
use crate::agent::ranges::{BlockRangeError, block_ranges, leaving_ranges};
use crate::agent::records::{HeldLease, not_dropped};
use crate::agent::selectors::is_kept;
use crate::agent::settings::PoolFamily;
use crate::agent::usage::labelled;

/// A range that a network has: its pool, the range, and whether it drains.
type KnownRange = (PoolName, Range, bool);

impl AgentCore {
    /// Makes the ranges of a network agree with the leases. Where a block cannot have its ranges, the other blocks and networks do not wait for it.
    pub(crate) async fn supply(&self, network: &NetworkName) -> tenure_types::Result<()> {
        let Some(book) = self.book(network).await else { return Ok(()) };
        let mut known: BTreeMap<IpNet, Vec<KnownRange>> = BTreeMap::new();
        for (pool, view, cidr) in labelled(&book) {
            known.entry(cidr).or_default().push((pool.name.clone(), view.range.clone(), view.draining));
        }
        let (mut of_leases, mut ended) = (Vec::new(), Vec::new());
        // The lease of a block that has just been given back may still be recorded: another node may have the block by now.
        for lease in not_dropped(self.leases(), &self.dropped()) {
            let present = known.remove(&lease.cidr()).unwrap_or_default();
            // What another network's pods use is handed out by none.
            let is_elsewhere = self.state().elsewhere.contains_key(&lease.cidr());
            if self.settings.network_of(&lease.pool.name) == Some(network)
                && !is_elsewhere
                && self.giving_back(lease.cidr()).is_none()
            {
                let drains = self.drains(&lease);
                let open = present.iter().filter(|(.., draining)| drains && !draining);
                ended.extend(open.map(|(pool, range, _)| drain(pool.clone(), range, true)));
                let changes = self.changes_of(&book, &lease, present).map_err(|error| error.to_string());
                of_leases.push((lease.cidr(), changes.and_then(|changes| self.in_bounds(network, changes))));
            }
        }
        let over = known.into_iter().filter(|(cidr, _)| self.giving_back(*cidr).is_none());
        ended.extend(over.flat_map(|(_, ranges)| ranges).map(|(pool, range, _)| withdraw(pool, &range)));
        drop(book);
        // Whether or not the rest can be done.
        if let Some(why) = self.supplied(network, &ended).await? {
            tracing::warn!(%network, why, "ranges cannot be drained or withdrawn yet");
        }
        // At once, so that an agent's claim that is restored finds its address, and takes no other.
        let all: Vec<Supply> =
            of_leases.iter().filter_map(|(_, changes)| changes.as_ref().ok()).flatten().cloned().collect();
        let are_done = self.supplied(network, &all).await?.is_none();
        for (cidr, changes) in of_leases {
            let why = match changes {
                Ok(_) if are_done => None,
                Ok(changes) => self.supplied(network, &changes).await?,
                // A mistake in the pool takes nothing from a running node.
                Err(why) => Some(why),
            };
            self.note(cidr, why);
        }
        Ok(())
    }

    /// The changes, if the configuration allows their ranges; or else why not.
    fn in_bounds(&self, network: &NetworkName, changes: Vec<Supply>) -> Result<Vec<Supply>, String> {
        let added = changes.iter().filter_map(|change| match change {
            Supply::Add { range, .. } => Some(Range::clone(range)),
            Supply::Drain { .. } | Supply::Withdraw { .. } => None,
        });
        let added: Vec<Range> = added.collect();
        self.engine.check_bounds(network, &added).map_err(|error| error.to_string())?;
        Ok(changes)
    }

    /// Makes changes, all or none; returns why the network cannot have them.
    ///
    /// # Errors
    /// Those of the journal.
    pub(crate) async fn supplied(
        &self,
        network: &NetworkName,
        changes: &[Supply],
    ) -> tenure_types::Result<Option<String>> {
        if changes.is_empty() {
            return Ok(None);
        }
        match self.engine.supply(network, changes).await {
            Ok(()) => Ok(None),
            Err(error) => match error.code {
                ErrorCode::OutOfBounds | ErrorCode::InvalidConfig | ErrorCode::UnknownNetwork => {
                    Ok(Some(error.to_string()))
                }
                _ => Err(error),
            },
        }
    }

    /// The reason for which the configuration lets no address come from a block; `None` if it does, or if the block's ranges are not known yet.
    pub(crate) async fn out_of_bounds(&self, cidr: IpNet, pool: &PoolKey) -> Option<String> {
        let network = self.settings.network_of(&pool.name)?;
        let book = self.book(network).await?;
        let settings = self.state().in_force.get(&pool.uid).cloned()?;
        let ranges = block_ranges(cidr, &settings, &book.network().attributes).ok()?;
        self.engine.check_bounds(network, &ranges).err().map(|error| error.to_string())
    }

    /// The reason for which no address of a block that the node has just got could be handed out; `None` if some could, or if the block's ranges are not
    /// known yet.
    pub(crate) async fn unusable(&self, cidr: IpNet, pool: &PoolKey) -> Option<String> {
        let network = self.settings.network_of(&pool.name)?;
        let book = self.book(network).await?;
        let settings = self.state().in_force.get(&pool.uid).cloned()?;
        match block_ranges(cidr, &settings, &book.network().attributes) {
            Err(error) => Some(format!("the pool's settings cannot be applied to {cidr}: {error}")),
            Ok(ranges) if ranges.iter().all(|range| range.size() == 0) => {
                Some(format!("the pool excludes each address of {cidr} that could be handed out"))
            }
            Ok(ranges) => self.engine.check_bounds(network, &ranges).err().map(|error| error.to_string()),
        }
    }

    /// Notes that a block was given back at once.
    pub(crate) fn note_refused(&self, cidr: IpNet, pool: &PoolKey, why: String) {
        let (now, mut state) = (self.now(), self.state());
        let generation = state.in_force.get(&pool.uid).map(|settings| settings.generation);
        state.refused.note((cidr, pool), why, generation, now);
    }

    /// Whether the node asks for no further block of a pool and family now.
    pub(crate) async fn asks_for_none(&self, pool: &PoolKey, family: PoolFamily) -> bool {
        let refused = {
            let (now, state) = (self.now(), self.state());
            let generation = state.in_force.get(&pool.uid).map(|settings| settings.generation);
            state.refused.paused(pool, family, generation, now)
        };
        match refused {
            Some(cidr) => self.unusable(cidr, pool).await.is_some(),
            None => false,
        }
    }

    /// Whether no new address comes from a block.
    pub(crate) fn drains(&self, lease: &HeldLease) -> bool {
        lease.hold != LeaseHold::Open || self.state().unconfirmed.contains(&lease.cidr())
    }

    /// The changes to the ranges of a block besides its drain.
    fn changes_of(
        &self,
        book: &Book,
        lease: &HeldLease,
        present: Vec<KnownRange>,
    ) -> Result<Vec<Supply>, BlockRangeError> {
        let Some(pool) = lease.engine_pool().filter(|_| lease.is_wanted_in(book)) else {
            return Ok(Vec::new());
        };
        // Nothing is handed out of a block whose exclusions are not known, and nothing of one that is frozen.
        let settings = self.state().in_force.get(&lease.pool.uid).cloned();
        let is_frozen = matches!(lease.hold, LeaseHold::Frozen(_));
        let (Some(settings), false) = (settings, is_frozen && present.is_empty()) else {
            return Ok(Vec::new());
        };
        // Nor is anything handed out of a pool that is kept for claims before the ledger knows it: the settings may have come during this pass.
        if settings.for_claims && !is_kept(self.engine.objects().iter().map(AsRef::as_ref), &pool) {
            return Ok(Vec::new());
        }
        // The pool's settings of now are not about it. It hands out at most what it handed out before, which may be nothing.
        let leaves = self.state().leaves(lease);
        let wanted = match leaves {
            true => leaving_ranges(lease.cidr(), present.iter().map(|(_, range, _)| range), &settings)?,
            false => block_ranges(lease.cidr(), &settings, &book.network().attributes)?,
        };
        let drains = self.drains(lease);
        let mut changes = Vec::new();
        let mut kept = Vec::new();
        for (of, range, draining) in present {
            match wanted.contains(&range) && of == pool {
                false => changes.push(withdraw(of, &range)),
                true => {
                    let opens = draining && !drains;
                    changes.extend(opens.then(|| drain(of, &range, false)));
                    kept.push(range);
                }
            }
        }
        for range in wanted.into_iter().filter(|range| !kept.contains(range)) {
            let drained = drains.then(|| drain(pool.clone(), &range, true));
            changes.push(Supply::Add { pool: pool.clone(), range: Box::new(range) });
            changes.extend(drained);
        }
        Ok(changes)
    }

    /// Notes why a block's ranges stay as they are, or that they do not.
    fn note(&self, cidr: IpNet, why: Option<String>) {
        let mut state = self.state();
        let Some(words) = why else {
            state.unapplied.remove(&cidr);
            return;
        };
        if state.unapplied.insert(cidr, words.clone()).as_ref() != Some(&words) {
            tracing::error!(block = %cidr, error = words, "the pool's settings cannot be applied to a block, which stays as it is");
        }
    }
}

pub(crate) fn drain(pool: PoolName, range: &Range, draining: bool) -> Supply {
    Supply::Drain { pool, range: range.name().clone(), draining }
}

pub(crate) fn withdraw(pool: PoolName, range: &Range) -> Supply {
    Supply::Withdraw { pool, range: range.name().clone() }
}
