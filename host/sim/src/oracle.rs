//! The promises, held against every answer: what an outside observer who only sees requests and replies may rely on.
//!
//! Requests of one attachment count from when they began, whatever order they arrive in: a DEL or a GC ends what was last asked
//! for before it began, and nothing that was asked for, or asked for again, after that.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Result, ensure};
use tenure_ledger::Book;
use tenure_types::{Moment, Owner};

/// What an owner was told it has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    address: IpAddr,
    /// When the last ADD began that was answered.
    since: u64,
    /// The network namespace that it named.
    netns: String,
}

/// What is known of an owner from the outside, in one boot.
#[derive(Debug, Clone, Default)]
struct Known {
    /// What it was told it has, until something was sent that may end it.
    holds: Option<Held>,
    /// It may hold something that nobody was told of, or that a request that was never answered has ended.
    unsure: bool,
    /// When the latest of the ADDs began that were sent.
    added: Option<u64>,
    /// When the latest of the DELs and GCs began that were sent.
    ending: Option<u64>,
    /// When the latest of the DELs began that were answered.
    deleted: Option<u64>,
}

impl Known {
    /// Every ADD that was sent began before a DEL that was answered.
    fn holds_nothing(&self) -> bool {
        self.deleted.is_some() && self.added <= self.deleted
    }
}

/// An ADD as its caller knows it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) owner: Owner,
    pub(crate) began: Moment,
    pub(crate) netns: String,
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

    /// An ADD is sent: from now on it may or may not hold something, unless a DEL has overtaken it.
    pub(crate) fn add_sent(&mut self, asked: &Asked) {
        let known = self.known(&asked.owner);
        known.added = known.added.max(Some(asked.began.boot_ns));
    }

    /// A DEL or a GC that began at a moment is sent; it may end what was asked for before it and nothing else.
    pub(crate) fn may_end(&mut self, owner: &Owner, began: Moment) {
        let known = self.known(owner);
        known.ending = known.ending.max(Some(began.boot_ns));
        if known.holds.as_ref().is_some_and(|held| held.since <= began.boot_ns) {
            known.holds = None;
            known.unsure = true;
        }
    }

    /// A namespace was found to be gone; what was last asked for in it may be freed and nothing else.
    pub(crate) fn may_reap(&mut self, owner: &Owner, netns: &str) {
        let known = self.known(owner);
        if known.holds.as_ref().is_some_and(|held| held.netns == netns) {
            known.holds = None;
            known.unsure = true;
        }
    }

    /// An ADD was answered. `lives` while its namespace does: else what it was given may be freed again already.
    pub(crate) fn added(&mut self, asked: &Asked, address: IpAddr, lives: bool) -> Result<()> {
        self.replies += 1;
        let (owner, began) = (&asked.owner, asked.began.boot_ns);
        let known = self.known(owner);
        ensure!(
            known.deleted < Some(began),
            "I5: a DEL overtook an ADD of {owner}, and it was given {address}"
        );
        if !lives || known.ending >= Some(began) {
            known.unsure = true;
            return Ok(());
        }
        let has = |known: &Known| known.holds.as_ref().is_some_and(|held| held.address == address);
        let other = self.owners.iter().find(|(other, known)| *other != owner && has(known));
        ensure!(other.is_none(), "I1: {address} was given to {owner} while {other:?} holds it");
        let known = self.known(owner);
        let new = Held { address, since: began, netns: asked.netns.clone() };
        match &mut known.holds {
            Some(held) => {
                ensure!(held.address == address, "I2: {owner} was told {held:?}, and now {address}");
                if held.since < began {
                    *held = new;
                }
            }
            None => known.holds = Some(new),
        }
        Ok(())
    }

    /// An ADD was refused since another request of its owner had overtaken it: then there was one.
    ///
    /// An engine knows nothing of what the engines before it were asked, so it may refuse what began before it did.
    pub(crate) fn superseded(&mut self, asked: &Asked, engine_began: Moment) -> Result<()> {
        self.replies += 1;
        let (owner, began) = (&asked.owner, asked.began.boot_ns);
        let known = self.known(owner);
        ensure!(
            known.ending >= Some(began) || known.added > Some(began) || began < engine_began.boot_ns,
            "I5: an ADD of {owner} that began after everything else was refused as superseded"
        );
        Ok(())
    }

    /// The process ended while an ADD of the owner was under way.
    pub(crate) fn cut_off(&mut self, owner: &Owner) {
        self.known(owner).unsure = true;
    }

    /// A DEL that began at a moment was answered.
    pub(crate) fn deleted(&mut self, owner: &Owner, began: Moment) {
        self.replies += 1;
        let known = self.known(owner);
        known.deleted = known.deleted.max(Some(began.boot_ns));
        if known.holds_nothing() {
            (known.holds, known.unsure) = (None, false);
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
            if let Some(expected) = &known.holds {
                ensure!(
                    address == Some(expected.address),
                    "I2: {owner} was told {expected:?}, the book says {address:?}"
                );
            }
            ensure!(
                !known.holds_nothing() || held.is_none(),
                "I5: {owner} was deleted, the book says {address:?}"
            );
        }
        Ok(())
    }
}
