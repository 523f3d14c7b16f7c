//! Quarantine in a book: the facts that begin and end it, and what they change.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tenure_types::{Allocation, AssignedAddress, Generation, Moment};

use super::Book;
use crate::books::LedgerFact;
use crate::books::quarantine::{
    MOST_QUARANTINED, QuarantineMark, QuarantineRefusal, QuarantineSubject, QuarantinedAddress,
};
use crate::books::stock::Change;

impl Book {
    /// Makes the fact that puts an address into quarantine, or gives its quarantine another reason; `None` if it has it already.
    ///
    /// # Errors
    /// [`QuarantineRefusal`] if the address is not the network's, or too many are in quarantine.
    pub fn quarantine(
        &self,
        address: IpAddr,
        reason: &str,
        at: Moment,
    ) -> Result<Option<LedgerFact>, QuarantineRefusal> {
        let known = self.quarantine_of(address);
        if known.is_some_and(|mark| *mark.reason == *reason) {
            return Ok(None);
        }
        if self.pool_of(address).is_none() && self.holder(address).is_none() {
            return Err(QuarantineRefusal::Outside(address));
        }
        if known.is_none() && self.quarantine.addresses.len() >= MOST_QUARANTINED {
            return Err(QuarantineRefusal::TooMany);
        }
        let mark = QuarantineMark { since: at, reason: reason.into() };
        let (network, subject) = (self.name().clone(), QuarantineSubject::Address(address));
        Ok(Some(LedgerFact::Quarantined { network, subject, mark }))
    }

    /// Makes the fact that an allocation's owner is doubtful; `None` if the book does not have the allocation as it is here, or has
    /// the doubt already.
    #[must_use]
    pub fn doubt(&self, held: &Allocation, reason: &str, at: Moment) -> Option<LedgerFact> {
        let is_present = self.allocation(held.generation).is_some_and(|present| **present == *held);
        if !is_present || self.doubt_about(held.generation).is_some() {
            return None;
        }
        let mark = QuarantineMark { since: at, reason: reason.into() };
        let subject = QuarantineSubject::Allocation(held.generation);
        Some(LedgerFact::Quarantined { network: self.name().clone(), subject, mark })
    }

    /// Makes the fact that ends a quarantine; `None` if there is none.
    #[must_use]
    pub fn lift(&self, subject: QuarantineSubject, at: Moment, reason: &str) -> Option<LedgerFact> {
        self.quarantine.of(subject)?;
        let network = self.name().clone();
        Some(LedgerFact::QuarantineLifted { network, subject, at, reason: reason.into() })
    }

    /// The mark by which an address must not be handed out.
    #[must_use]
    pub fn quarantine_of(&self, address: IpAddr) -> Option<&QuarantineMark> {
        self.quarantine.addresses.get(&address)
    }

    /// The mark by which an allocation's owner may be gone.
    #[must_use]
    pub fn doubt_about(&self, generation: Generation) -> Option<&QuarantineMark> {
        self.quarantine.allocations.get(&generation)
    }

    /// The allocations whose owner may be gone, in order.
    pub fn doubts(&self) -> impl Iterator<Item = Generation> {
        self.quarantine.allocations.keys().copied()
    }

    /// Whether anything is in quarantine.
    #[must_use]
    pub fn has_quarantine(&self) -> bool {
        let marks = &self.quarantine;
        !marks.addresses.is_empty() || !marks.allocations.is_empty()
    }

    /// The addresses in quarantine, in order. An address that must not be handed out is listed as that, although its owner may be
    /// doubtful too.
    #[must_use]
    pub fn quarantined(&self) -> Vec<QuarantinedAddress> {
        let marks = &self.quarantine;
        let owner = |address| self.holder(address).map(|held| held.owner.clone());
        let mut all: BTreeMap<IpAddr, QuarantinedAddress> = BTreeMap::new();
        for (generation, mark) in marks.allocations.iter() {
            let Some(held) = self.allocation(*generation) else { continue };
            for address in held.addresses.iter().map(AssignedAddress::ip) {
                let (owner, mark) = (Some(held.owner.clone()), mark.clone());
                all.insert(address, QuarantinedAddress { address, owner, is_doubt: true, mark });
            }
        }
        for (address, mark) in marks.addresses.iter() {
            let (address, owner, mark) = (*address, owner(*address), mark.clone());
            all.insert(address, QuarantinedAddress { address, owner, is_doubt: false, mark });
        }
        all.into_values().collect()
    }

    /// The marked addresses, for a network that is removed.
    pub(in crate::books) fn marked_addresses(&self) -> impl Iterator<Item = (IpAddr, QuarantineMark)> {
        self.quarantine.addresses.iter().map(|(address, mark)| (*address, mark.clone()))
    }

    /// Marks the subject. An allocation that the book does not have is not marked.
    pub(super) fn mark(&mut self, subject: QuarantineSubject, mark: QuarantineMark) {
        self.changes.reset();
        match subject {
            QuarantineSubject::Allocation(generation) => {
                if self.allocation(generation).is_some() {
                    self.quarantine.allocations.insert(generation, mark);
                }
            }
            QuarantineSubject::Address(address) => {
                let is_new = self.quarantine.addresses.insert(address, mark).is_none();
                if is_new && self.holder(address).is_none() {
                    self.warm(address);
                    self.bar(address);
                }
            }
        }
    }

    /// Ends a quarantine. An address without an owner cools down from now on, as a freed one does.
    pub(super) fn unmark(&mut self, subject: QuarantineSubject, at: Moment) {
        self.changes.reset();
        match subject {
            QuarantineSubject::Allocation(generation) => self.quarantine.forget(generation),
            QuarantineSubject::Address(address) => {
                let was_marked = self.quarantine.addresses.remove(&address).is_some();
                if was_marked && self.holder(address).is_none() {
                    self.stock.change(address, Change::LetGo);
                    self.cool_from(address, at);
                }
            }
        }
    }

    /// Keeps an address in quarantine that a removed network had in quarantine.
    pub(in crate::books) fn stay_quarantined(&mut self, address: IpAddr, mark: QuarantineMark) {
        if !self.quarantine.bars(address) {
            self.mark(QuarantineSubject::Address(address), mark);
        }
    }
}
