//! The promises, held against every answer: what an outside observer who only sees requests and replies may rely on.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Result, ensure};
use tenure_ledger::Book;
use tenure_types::{Moment, Owner};

/// What is known of an owner from the outside.
#[derive(Debug, Clone, Default)]
struct Known {
    /// The address of the last ADD that was answered, until a DEL, a GC or a reboot may have ended it.
    holds: Option<IpAddr>,
    /// A DEL was answered and no ADD that began later was sent since: it holds nothing.
    empty: bool,
    /// When the last ADD was sent.
    last_add: u64,
}

/// Keeps a journal of requests and replies and says when a promise is broken.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    owners: BTreeMap<Owner, Known>,
    /// Replies that were held against the promises.
    pub(crate) replies: u64,
}

impl Oracle {
    /// An ADD is sent: from now on it may or may not hold something.
    pub(crate) fn add_sent(&mut self, owner: &Owner, at: Moment) {
        let known = self.owners.entry(owner.clone()).or_default();
        known.empty = false;
        known.last_add = at.boot_ms;
    }

    /// A DEL or a GC that may end what the owner holds is sent.
    pub(crate) fn may_end(&mut self, owner: &Owner) {
        self.owners.entry(owner.clone()).or_default().holds = None;
    }

    /// An ADD was answered. `current` when nothing that could end it was sent since.
    pub(crate) fn added(&mut self, owner: &Owner, address: IpAddr, current: bool) -> Result<()> {
        self.replies += 1;
        if !current {
            return Ok(());
        }
        let other = self.owners.iter().find(|(other, known)| *other != owner && known.holds == Some(address));
        ensure!(other.is_none(), "I1: {address} was given to {owner} while {other:?} holds it");
        let known = self.owners.entry(owner.clone()).or_default();
        ensure!(
            known.holds.is_none_or(|held| held == address),
            "I2: {owner} was told {:?}, and now {address}",
            known.holds
        );
        known.holds = Some(address);
        Ok(())
    }

    /// A DEL that began at a moment was answered; `current` when no ADD of the owner was sent since it was.
    pub(crate) fn deleted(&mut self, owner: &Owner, began: Moment, current: bool) {
        self.replies += 1;
        let known = self.owners.entry(owner.clone()).or_default();
        if current && known.last_add <= began.boot_ms {
            known.empty = true;
        }
    }

    /// The boot changed: every attachment has ended.
    pub(crate) fn rebooted(&mut self) {
        for known in self.owners.values_mut() {
            *known = Known { empty: true, ..Known::default() };
        }
    }

    /// Holds a book that was recovered, or that is at rest, against everything that was answered.
    pub(crate) fn check(&self, book: Option<&Book>) -> Result<()> {
        for (owner, known) in &self.owners {
            let held = book.and_then(|book| book.owned_by(owner));
            let address = held.and_then(|held| held.addresses.first()).map(|address| address.address.addr());
            if let Some(expected) = known.holds {
                ensure!(
                    address == Some(expected),
                    "I2: {owner} was told {expected}, the book says {address:?}"
                );
            }
            ensure!(!(known.empty && held.is_some()), "I5: {owner} was deleted, the book says {address:?}");
        }
        Ok(())
    }
}
