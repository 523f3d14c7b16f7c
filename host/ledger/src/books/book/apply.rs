//! Applying facts: the only changes of a book that its log records.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Allocation, AssignedAddress, Generation, Moment};

use super::Book;
use super::renewal::renewed;
use crate::books::changes::BookChange;
use crate::books::image::Remembrance;
use crate::books::stock::Change;
use crate::books::{Conflict, LedgerFact};

impl Book {
    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    ///
    /// # Errors
    /// [`Conflict`] when the fact contradicts the book; the book is then unchanged.
    pub fn apply(&mut self, place: u64, fact: &LedgerFact) -> Result<(), Conflict> {
        if *fact.network() != self.network.name {
            return Err(Conflict::Network(fact.network().clone(), self.network.name.clone()));
        }
        if place <= self.through {
            return Ok(());
        }
        match fact {
            LedgerFact::Defined(network) => self.define(network),
            LedgerFact::Removed { .. } => self.check_empty()?,
            LedgerFact::Importing { under_way, .. } => self.importing = *under_way,
            LedgerFact::RangeAdded { pool, range, .. } => {
                self.add_range(pool, range.as_ref().clone(), false)?;
            }
            LedgerFact::RangeDraining { pool, range, draining, .. } => {
                let (pool, in_use) = self.range_in_use(pool, range)?;
                self.stock.drain(pool, range, *draining, &in_use);
                self.changes.reset();
            }
            LedgerFact::RangeRemoved { pool, range, .. } => {
                let (pool, in_use) = self.range_in_use(pool, range)?;
                self.stock.remove(pool, range, &in_use);
                self.changes.reset();
            }
            LedgerFact::Allocated(allocation) => {
                self.check_allocated(allocation)?;
                self.insert(Arc::clone(allocation));
            }
            LedgerFact::Renewed { generation, .. } => self.renew(*generation, fact)?,
            LedgerFact::Released { generation, at, .. } => self.end(*generation, *at)?,
            LedgerFact::Quarantined { subject, mark, .. } => self.mark(*subject, mark.clone()),
            LedgerFact::QuarantineLifted { subject, at, .. } => self.unmark(*subject, *at),
        }
        self.through = place;
        Ok(())
    }

    fn check_empty(&self) -> Result<(), Conflict> {
        match self.allocations.first_key_value() {
            Some((generation, _)) => Err(Conflict::Held(*generation)),
            None => Ok(()),
        }
    }

    pub(super) fn check_allocated(&self, allocation: &Allocation) -> Result<(), Conflict> {
        let generation = allocation.generation;
        if generation < self.next_generation {
            return Err(Conflict::Generation(generation));
        }
        if self.owned_by(&allocation.owner).is_some() {
            return Err(Conflict::Owner(allocation.owner.clone(), generation));
        }
        for assigned in &allocation.addresses {
            let mut holders =
                self.holder(assigned.ip()).into_iter().chain(self.holders_inside(assigned.span()));
            if let Some(holder) = holders.find(|holder| !self.may_wait(allocation, holder)) {
                return Err(Conflict::Address(assigned.ip(), holder.generation, generation));
            }
        }
        Ok(())
    }

    pub(super) fn insert(&mut self, allocation: Arc<Allocation>) {
        let generation = allocation.generation;
        self.has_changed(&allocation, || BookChange::Held(Arc::clone(&allocation)));
        for (index, assigned) in allocation.addresses.iter().enumerate() {
            let address = assigned.ip();
            if let Some(claim) = allocation.origin.as_ref().and_then(|origin| origin.claim(index)) {
                self.takeover.unsettle(address, claim);
            }
            if self.by_address.contains_key(&address) {
                self.takeover.wait(address, generation);
                continue;
            }
            self.by_address.insert(address, generation);
            // The stock has an address in quarantine as held already.
            if !self.quarantine.bars(address) {
                self.warm(address);
                self.taken.insert(address);
                self.stock.change(address, Change::Hold);
            }
            self.occupy(assigned);
        }
        self.counts.add(&allocation);
        self.by_owner.insert(&allocation);
        self.allocations.insert(generation, allocation);
        self.next_generation = Generation(generation.0 + 1);
    }

    fn renew(&mut self, generation: Generation, fact: &LedgerFact) -> Result<(), Conflict> {
        let held = self.allocations.get(&generation).ok_or(Conflict::Unknown(generation))?;
        let renewed = Arc::new(renewed(held, fact));
        self.allocations.insert(generation, renewed);
        self.quarantine.forget(generation);
        Ok(())
    }

    pub(super) fn end(&mut self, generation: Generation, at: Moment) -> Result<(), Conflict> {
        let ended = self.allocations.remove(&generation).ok_or(Conflict::Unknown(generation))?;
        self.has_changed(&ended, || BookChange::Ended(Arc::clone(&ended), at));
        self.by_owner.remove(&ended);
        self.counts.remove(&ended);
        self.quarantine.forget(generation);
        self.remember(&ended, at);
        for (index, assigned) in ended.addresses.iter().enumerate() {
            if let Some(claim) = ended.origin.as_ref().and_then(|origin| origin.claim(index)) {
                self.takeover.settle(assigned.ip(), claim);
            }
            self.let_go(assigned.ip(), generation, at);
            self.vacate(assigned);
        }
        Ok(())
    }

    /// Tells those who follow the book of an allocation. While claims wait behind owners, only an outline says who holds what.
    fn has_changed(&mut self, allocation: &Allocation, change: impl FnOnce() -> BookChange) {
        match allocation.origin.is_none() && self.takeover.has_none_waiting() {
            true => self.changes.push(change),
            false => self.changes.reset(),
        }
    }

    /// Ends an allocation's hold of an address: it goes to the claim that waits for it, or cools down.
    fn let_go(&mut self, address: IpAddr, generation: Generation, at: Moment) {
        if self.takeover.stop_waiting(address, generation) {
            return;
        }
        if let Some(next) = self.takeover.next(address) {
            self.by_address.insert(address, next);
            return;
        }
        self.by_address.remove(&address);
        if !self.quarantine.bars(address) {
            self.stock.change(address, Change::LetGo);
            self.cool_from(address, at);
        }
    }

    fn remember(&mut self, ended: &Allocation, at: Moment) {
        let Some(name) = ended.lasting_name() else { return };
        let of = |address: &AssignedAddress| Some((address.source.pool.clone()?, address.ip()));
        let addresses = ended.addresses.iter().filter_map(of).collect();
        self.remembered.remember(Remembrance { name: name.into(), at, addresses });
    }
}
