//! The promises, held against every answer: what an outside observer who only sees requests and replies may rely on.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Result, ensure};
use tenure_ledger::Book;
use tenure_types::{Moment, Owner};

/// What is known of an owner from the outside.
#[derive(Debug, Clone, Default)]
struct Known {
    /// The address of the last ADD that was answered, until something was sent that may end it.
    holds: Option<IpAddr>,
    /// When the DEL began that was answered, as long as no ADD that began later was sent: it holds nothing.
    deleted: Option<u64>,
    /// It may hold something that nobody was told of, or that a request that was never answered has ended.
    unsure: bool,
    /// When the last ADD was sent.
    last_add: u64,
    /// When the first ADD began that may have made what it holds; a DEL that began earlier does not mean it.
    first_add: Option<u64>,
}

/// Keeps a journal of requests and replies and says when a promise is broken.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    owners: BTreeMap<Owner, Known>,
    /// Replies that were held against the promises.
    pub(crate) replies: u64,
}

impl Oracle {
    fn known(&mut self, owner: &Owner) -> &mut Known {
        self.owners.entry(owner.clone()).or_default()
    }

    /// An ADD that began at a moment is sent: from now on it may or may not hold something, unless a DEL has overtaken it.
    pub(crate) fn add_sent(&mut self, owner: &Owner, began: Moment, now: Moment) {
        let known = self.known(owner);
        if known.deleted.is_some_and(|deleted| began.boot_ms <= deleted) {
            return;
        }
        known.deleted = None;
        known.last_add = now.boot_ms;
        known.first_add = Some(known.first_add.map_or(began.boot_ms, |first| first.min(began.boot_ms)));
    }

    /// A DEL or a GC that began at a moment is sent; it may end what began before it and nothing else.
    pub(crate) fn may_end(&mut self, owner: &Owner, began: Moment) {
        let known = self.known(owner);
        if known.first_add.is_some_and(|first| first <= began.boot_ms) {
            known.unsure |= known.holds.take().is_some();
        }
    }

    /// An ADD was answered. `current` when nothing that could end it was sent since.
    pub(crate) fn added(&mut self, owner: &Owner, address: IpAddr, current: bool) -> Result<()> {
        self.replies += 1;
        ensure!(
            self.known(owner).deleted.is_none(),
            "I5: a DEL overtook an ADD of {owner}, and it was given {address}"
        );
        if !current {
            self.known(owner).unsure = true;
            return Ok(());
        }
        let other = self.owners.iter().find(|(other, known)| *other != owner && known.holds == Some(address));
        ensure!(other.is_none(), "I1: {address} was given to {owner} while {other:?} holds it");
        let known = self.known(owner);
        ensure!(
            known.holds.is_none_or(|held| held == address),
            "I2: {owner} was told {:?}, and now {address}",
            known.holds
        );
        known.holds = Some(address);
        Ok(())
    }

    /// The process ended while an ADD of the owner was under way.
    pub(crate) fn cut_off(&mut self, owner: &Owner) {
        self.known(owner).unsure = true;
    }

    /// A DEL that began at a moment was answered; `current` when no ADD of the owner was sent since it was.
    pub(crate) fn deleted(&mut self, owner: &Owner, began: Moment, current: bool) {
        self.replies += 1;
        let known = self.known(owner);
        if current && known.last_add <= began.boot_ms {
            *known = Known { deleted: Some(began.boot_ms), last_add: known.last_add, ..Known::default() };
        }
    }

    /// The boot changed: every attachment has ended.
    pub(crate) fn rebooted(&mut self) {
        for known in self.owners.values_mut() {
            *known = Known { deleted: Some(0), ..Known::default() };
        }
    }

    /// Holds a book at rest against everything: also that nothing leaked, when every request has come to its end.
    pub(crate) fn check_at_rest(&self, book: Option<&Book>) -> Result<()> {
        self.check(book)?;
        let silent = self.owners.iter().filter(|(_, known)| known.holds.is_none() && !known.unsure);
        for (owner, _) in silent {
            let held = book.and_then(|book| book.owned_by(owner));
            ensure!(held.is_none(), "I3: nobody was told that {owner} holds {held:?}");
        }
        Ok(())
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
            ensure!(
                known.deleted.is_none() || held.is_none(),
                "I5: {owner} was deleted, the book says {address:?}"
            );
        }
        Ok(())
    }
}
