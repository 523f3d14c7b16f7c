//! The promises, held against every answer: what an outside observer who only sees requests and replies may rely on.
//!
//! Requests of one attachment count from when they began, whatever order they arrive in: a DEL or a GC ends what was last asked
//! for before it began, and nothing that was asked for, or asked for again, after that.

mod network;
mod register;

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context as _, Result, ensure};
use tenure_ledger::{Book, Choices};
use tenure_types::{Moment, NetworkName, Owner};

pub(crate) use self::network::{Supply, Whole};

/// What an owner was told it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    addresses: Vec<IpAddr>,
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

/// Who has, or may have, addresses.
pub(crate) type Key = (NetworkName, Owner);

/// An ADD as its caller knows it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) network: NetworkName,
    pub(crate) owner: Owner,
    pub(crate) began: Moment,
    pub(crate) netns: String,
    /// Whether whatever it is given must be new: it holds nothing, and nothing else is under way for it.
    pub(crate) is_new: bool,
}

impl Asked {
    pub(crate) fn key(&self) -> Key {
        (self.network.clone(), self.owner.clone())
    }
}

/// Keeps a journal of requests and replies and says when a promise is broken.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    owners: BTreeMap<Key, Known>,
    networks: BTreeMap<NetworkName, network::Known>,
    /// Replies that were held against the promises.
    pub(crate) replies: u64,
}

impl Oracle {
    fn known(&mut self, key: &Key) -> &mut Known {
        self.owners.entry(key.clone()).or_default()
    }

    fn network(&mut self, name: &NetworkName) -> &mut network::Known {
        self.networks.entry(name.clone()).or_default()
    }

    /// Whether it is known that nobody has anything by this name.
    pub(crate) fn is_new(&self, key: &Key) -> bool {
        self.owners.get(key).is_none_or(|known| known.holds.is_none() && !known.unsure)
    }

    /// An ADD is sent: from now on it may or may not hold something, unless a DEL has overtaken it.
    pub(crate) fn add_sent(&mut self, id: u64, asked: &Asked) {
        let known = self.known(&asked.key());
        known.added = known.added.max(Some(asked.began.boot_ns));
        self.network(&asked.network).asked(id);
    }

    /// A change of a network as a whole is sent.
    pub(crate) fn change_sent(&mut self, id: u64, network: &NetworkName, change: Whole) {
        self.network(network).sent(id, change);
    }

    /// A change of what the host supplies is sent.
    pub(crate) fn supply_sent(&mut self, id: u64, network: &NetworkName, block: usize, change: Supply) {
        self.network(network).supply_sent(id, block, change);
    }

    /// Whatever may change a network was answered, or given up.
    pub(crate) fn ended(&mut self, id: u64, network: &NetworkName, success: bool) {
        self.replies += u64::from(success);
        self.network(network).ended(id, success);
    }

    /// It was answered that there is no network to remove.
    pub(crate) fn none_to_remove(&mut self, id: u64, network: &NetworkName) -> Result<()> {
        self.replies += 1;
        let known = self.network(network);
        known.is_not_there(id)?;
        known.ended(id, false);
        Ok(())
    }

    /// Who holds what in a network.
    pub(crate) fn holders(&self, network: &NetworkName) -> Vec<(Key, Held)> {
        let of_network = self.owners.iter().filter(|((of, _), _)| of == network);
        of_network.filter_map(|(key, known)| Some((key.clone(), known.holds.clone()?))).collect()
    }

    /// A network was removed, which these held something in when that was asked.
    pub(crate) fn removed(&mut self, id: u64, network: &NetworkName, holders: &[(Key, Held)]) -> Result<()> {
        for (key, held) in holders {
            let holds = self.known(key).holds.as_ref();
            ensure!(holds != Some(held), "I2: {network} was removed while {key:?} held {held:?}");
        }
        self.ended(id, network, true);
        Ok(())
    }

    /// A DEL or a GC that began at a moment is sent; it may end what was asked for before it and nothing else.
    pub(crate) fn may_end(&mut self, key: &Key, began: Moment) {
        let known = self.known(key);
        known.ending = known.ending.max(Some(began.boot_ns));
        if known.holds.as_ref().is_some_and(|held| held.since <= began.boot_ns) {
            known.holds = None;
            known.unsure = true;
        }
    }

    /// A namespace was found to be gone; what was last asked for in it may be freed and nothing else.
    pub(crate) fn may_reap(&mut self, key: &Key, netns: &str) {
        let known = self.known(key);
        if known.holds.as_ref().is_some_and(|held| held.netns == netns) {
            known.holds = None;
            known.unsure = true;
        }
    }

    /// An ADD was answered. `lives` while its namespace does: else what it was given may be freed again already.
    pub(crate) fn added(&mut self, id: u64, asked: &Asked, addresses: &[IpAddr], lives: bool) -> Result<()> {
        let (key, began) = (asked.key(), asked.began.boot_ns);
        if asked.is_new {
            let network = self.network(&asked.network);
            let outside = addresses.iter().find(|address| !network.may_grant(id, **address));
            ensure!(outside.is_none(), "I4: {key:?} was given {outside:?}, which {network:?} did not grant");
        }
        self.ended(id, &asked.network, true);
        let known = self.known(&key);
        ensure!(
            known.deleted < Some(began),
            "I5: a DEL overtook an ADD of {key:?}, and it was given {addresses:?}"
        );
        if !lives || known.ending >= Some(began) {
            known.unsure = true;
            return Ok(());
        }
        let has = |known: &Known| {
            let holds = |held: &Held| held.addresses.iter().any(|address| addresses.contains(address));
            known.holds.as_ref().is_some_and(holds)
        };
        let mut others = self.owners.iter().filter(|(other, _)| other.0 == key.0 && **other != key);
        let other = others.find(|(_, known)| has(known));
        ensure!(other.is_none(), "I1: {addresses:?} were given to {key:?} while {other:?} holds some");
        let known = self.known(&key);
        let new = Held { addresses: addresses.to_vec(), since: began, netns: asked.netns.clone() };
        match &mut known.holds {
            Some(held) => {
                ensure!(held.addresses == addresses, "I2: {key:?} was told {held:?}, and now {addresses:?}");
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
        let (key, began) = (asked.key(), asked.began.boot_ns);
        let known = self.known(&key);
        ensure!(
            known.ending >= Some(began) || known.added > Some(began) || began < engine_began.boot_ns,
            "I5: an ADD of {key:?} that began after everything else was refused as superseded"
        );
        Ok(())
    }

    /// The process ended. What was under way was done or was not; so were the ADDs of these.
    pub(crate) fn cut_off(&mut self, under_way: &[Key]) {
        under_way.iter().for_each(|key| self.known(key).unsure = true);
        self.networks.values_mut().for_each(network::Known::cut_off);
    }

    /// A DEL that began at a moment was answered.
    pub(crate) fn deleted(&mut self, key: &Key, began: Moment) {
        self.replies += 1;
        let known = self.known(key);
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

    /// Holds the state at rest against everything: also that nothing leaked, when every request has come to its end.
    pub(crate) fn check_at_rest(&mut self, books: &[Book], choices: &Choices) -> Result<()> {
        self.check(books, choices)?;
        let silent = self.owners.iter().filter(|(_, known)| known.holds.is_none() && !known.unsure);
        for ((network, owner), _) in silent {
            let held = book_of(books, network).and_then(|book| book.owned_by(owner));
            ensure!(held.is_none(), "I3: nobody was told that {owner} of {network} holds {held:?}");
        }
        Ok(())
    }

    /// Holds the state that was recovered, or that is at rest, against everything that was answered.
    pub(crate) fn check(&mut self, books: &[Book], choices: &Choices) -> Result<()> {
        for (name, known) in &mut self.networks {
            let checked = known.check(book_of(books, name), choices.of(name));
            checked.with_context(|| format!("network {name}"))?;
        }
        for ((network, owner), known) in &self.owners {
            let held = book_of(books, network).and_then(|book| book.owned_by(owner));
            let addresses: Option<Vec<IpAddr>> =
                held.map(|held| held.addresses.iter().map(tenure_types::AssignedAddress::ip).collect());
            if let Some(expected) = &known.holds {
                ensure!(
                    addresses.as_ref() == Some(&expected.addresses),
                    "I2: {owner} of {network} was told {expected:?}, the book says {addresses:?}"
                );
            }
            ensure!(
                !known.holds_nothing() || held.is_none(),
                "I5: {owner} of {network} was deleted, the book says {addresses:?}"
            );
        }
        Ok(())
    }
}

fn book_of<'b>(books: &'b [Book], network: &NetworkName) -> Option<&'b Book> {
    books.iter().find(|book| book.name() == network)
}
