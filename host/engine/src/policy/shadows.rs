//! The input of the shadows: for each shadowed network a bounded queue of its requests and facts, in the order of
//! its book.
//!
//! The map is behind a `std::sync::Mutex`, held to push and to take. As long as no network is shadowed, an atomic avoids
//! the lock. Where both are taken, the network's state is locked first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_ledger::{Fact, LedgerFact};
use tenure_types::{Error, NetworkName, Outcome, Request};

use super::verdicts;
use super::verdicts::{Decided, told};
use crate::lock::hold;

/// How many items may wait for a network's shadow. A shadow that falls further behind begins again with the present book.
const MOST_WAITING: usize = 4096;

/// Something that a shadow follows.
pub(crate) enum Item {
    /// A request and its outcome.
    Asked(Box<Asked>),
    /// A change of the book, with its place in the log.
    Changed(u64, LedgerFact),
}

/// A decided request.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) decided: Decided,
    /// The decision, in words.
    pub(crate) told: String,
    /// How long the serving policy took.
    pub(crate) took: Duration,
}

/// The queue of a network's shadow.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) items: VecDeque<Item>,
    /// Whether items were dropped, or the network changed in a way that a shadow does not follow.
    pub(crate) lost: bool,
}

/// The queues of all shadowed networks.
#[derive(Default)]
pub(crate) struct Shadows {
    any: AtomicBool,
    waiting: Mutex<BTreeMap<NetworkName, Waiting>>,
}

impl Shadows {
    /// Whether any network is shadowed.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Begins to collect for a network, from nothing.
    pub(crate) fn begin(&self, network: &NetworkName) {
        hold(&self.waiting).insert(network.clone(), Waiting::default());
        self.any.store(true, Ordering::Release);
    }

    /// Stops collecting for a network.
    pub(crate) fn end(&self, network: &NetworkName) {
        let mut waiting = hold(&self.waiting);
        waiting.remove(network);
        self.any.store(!waiting.is_empty(), Ordering::Release);
    }

    /// Takes what waits for a network.
    pub(crate) fn take(&self, network: &NetworkName) -> Option<(VecDeque<Item>, bool)> {
        let mut waiting = hold(&self.waiting);
        let of = waiting.get_mut(network)?;
        Some((std::mem::take(&mut of.items), std::mem::take(&mut of.lost)))
    }

    /// Notes a decided request; the caller has the network's turn and has not yet staged what follows from it.
    pub(crate) fn asked(&self, request: &Request, decided: &Result<Outcome, Error>, took: Duration) {
        self.push(&request.network, || {
            let error = decided.as_ref().err();
            let decided = verdicts::decided(decided);
            let told = told(&decided, error);
            Item::Asked(Box::new(Asked { request: request.clone(), decided, told, took }))
        });
    }

    /// Notes changes of a network's book; the caller holds the book's lock.
    pub(crate) fn changed(&self, network: &NetworkName, first: u64, facts: &[Fact]) {
        for (place, fact) in (first..).zip(facts) {
            if let Fact::Ledger(fact) = fact {
                self.push(network, || Item::Changed(place, fact.clone()));
            }
        }
    }

    fn push(&self, network: &NetworkName, item: impl FnOnce() -> Item) {
        let mut waiting = hold(&self.waiting);
        let Some(of) = waiting.get_mut(network) else { return };
        if of.items.len() >= MOST_WAITING {
            of.items.clear();
            of.lost = true;
        }
        if !of.lost {
            of.items.push_back(item());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_that_are_shadowed_are_collected_for() {
        let shadows = Shadows::default();
        let [one, other] = ["one", "other"].map(|name| NetworkName::new(name).unwrap());
        assert!(!shadows.any());
        shadows.begin(&one);
        shadows.begin(&other);
        shadows.end(&one);
        assert!(shadows.any() && shadows.take(&one).is_none() && shadows.take(&other).is_some());
        shadows.end(&other);
        assert!(!shadows.any() && shadows.take(&other).is_none());
    }
}
