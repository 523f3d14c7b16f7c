//! A chapter that exists only in the simulation: with every group of facts it records which facts were staged. The
//! other chapters do not know it.
//!
//! After any crash it must agree with each network's book, because facts that were staged together must be recovered
//! together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use tenure_checkpoint::chapters::{Chapter, Refused};
use tenure_checkpoint::{CheckpointJournal, Line, Lines, Parts, Recovered, Source};
use tenure_engine::ports::{Images, Journal, Ticket};
use tenure_ledger::{Fact, LedgerFact};
use tenure_types::Error;

/// A fact: the distances, in places, to the group's last fact about the network's book and to the last about choices.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Staged {
    network: String,
    book: Option<u64>,
    is_removal: bool,
    choice: Option<u64>,
}

/// The state, also stored as an item of a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beside {
    through: u64,
    /// The place of the last fact about each network's book, and whether that removed it.
    books: BTreeMap<String, (u64, bool)>,
    /// The place of the last fact about choices.
    choices: u64,
}

impl Beside {
    fn take(&mut self, place: u64, staged: Staged) {
        if place <= self.through {
            return;
        }
        self.through = place;
        if let Some(behind) = staged.book {
            self.books.insert(staged.network, (place - behind, staged.is_removal));
        }
        if let Some(behind) = staged.choice {
            self.choices = place - behind;
        }
    }

    /// Checks that this chapter agrees with the others.
    pub(crate) fn check(&self, found: &Recovered) -> Result<()> {
        let through = found.choices.through();
        ensure!(
            self.choices == through,
            "a group is torn: choices are as of {through}, but the simulation's chapter has {self:?}"
        );
        for (network, (place, is_removal)) in &self.books {
            let book = found.books.iter().find(|book| book.name().as_str() == network);
            let through = book.map(tenure_ledger::Book::through);
            let expected = (!is_removal).then_some(*place);
            ensure!(
                through == expected,
                "a group is torn: {network} is as of {through:?}, but the simulation's chapter has {self:?}"
            );
        }
        for book in &found.books {
            ensure!(
                self.books.contains_key(book.name().as_str()),
                "a group is torn: the simulation's chapter has no record of {}",
                book.name()
            );
        }
        Ok(())
    }
}

fn line(json: &impl Serialize) -> Line {
    // These values always serialize to JSON.
    let json = serde_json::to_vec(json).unwrap_or_default();
    Line { chapter: "beside".into(), version: 1, optional: false, json }
}

fn read<'a, T: Deserialize<'a>>(version: u32, json: &'a str) -> Result<T, Refused> {
    match version {
        1 => serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string())),
        _ => Err(Refused::Version),
    }
}

impl Chapter for Beside {
    fn name(&self) -> &'static str {
        "beside"
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        self.take(place, read(version, json)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        *self = read(version, json)?;
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The chapter while the node runs; clones share it.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Beside>>);

impl Shared {
    pub(crate) fn of(beside: Beside) -> Self {
        Self(Arc::new(Mutex::new(beside)))
    }

    fn lock(&self) -> MutexGuard<'_, Beside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A journal that stages a fact of this chapter with every group.
pub(crate) struct WithBeside {
    pub(crate) journal: CheckpointJournal,
    pub(crate) beside: Shared,
}

impl Journal for WithBeside {
    fn stage(&self, facts: &[Fact]) -> (u64, Ticket) {
        let mut beside = self.beside.lock();
        let behind = |of: fn(&Fact) -> bool| {
            let last = facts.iter().rposition(of)?;
            Some((facts.len() - last) as u64)
        };
        let staged = Staged {
            network: facts.first().and_then(Fact::network).map(ToString::to_string).unwrap_or_default(),
            book: behind(|fact| matches!(fact, Fact::Ledger(_))),
            is_removal: facts.iter().any(|fact| matches!(fact, Fact::Ledger(LedgerFact::Removed { .. }))),
            choice: behind(|fact| matches!(fact, Fact::Choices(_))),
        };
        let lines = facts.iter().map(Line::from).chain([line(&staged)]);
        let (first, ticket) = self.journal.stage_lines(lines);
        beside.take(first + facts.len() as u64, staged);
        (first, ticket)
    }

    fn barrier(&self) -> Ticket {
        self.journal.barrier()
    }

    fn health(&self) -> Result<(), Error> {
        self.journal.health()
    }
}

/// The source of snapshots: the engine's pages and this chapter's item.
pub(crate) struct All {
    pub(crate) images: Arc<dyn Images>,
    pub(crate) beside: Shared,
}

impl Source for All {
    fn parts(&self, first: u64) -> Parts {
        let beside = self.beside.clone();
        let item = std::iter::once_with(move || Box::new(std::iter::once(line(&*beside.lock()))) as Lines);
        // First, so that facts staged while the pages are made are on the pages but not in this item.
        Box::new(item.chain(self.images.parts(first)))
    }
}
