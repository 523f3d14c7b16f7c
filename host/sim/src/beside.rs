//! A chapter that exists only in the simulation: with every group of facts it records which facts were staged. The
//! other chapters do not know it.
//!
//! After any crash it must agree with each network's book, because facts that were staged together must be recovered
//! together. It also counts the accepted proposals of policies that count them in their state: after any crash, both counts
//! are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use tenure_checkpoint::chapters::{ChapterRefusal, RecoverChapter};
use tenure_checkpoint::{ChapterLine, ChapterLines, CheckpointJournal, Parts, Recovered, SnapshotSource};
use tenure_engine::ports::{Images, Journal, Ticket};
use tenure_ledger::{Fact, LedgerFact, StateFact};
use tenure_types::{End, Error, Moment, hold};

use crate::policies::{self, counts};

/// A fact: what the group changes of each network, and the distances, in places, to its last facts about choices, claims and
/// delegations.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Staged {
    networks: BTreeMap<String, OfNetwork>,
    choice: Option<u64>,
    claim: Option<u64>,
    delegation: Option<u64>,
}

/// The changes of a group to a network.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OfNetwork {
    /// The distance to the last fact about its book.
    book: Option<u64>,
    is_removal: bool,
    /// How many facts about states there are.
    states: u64,
    /// The allocations that a counting policy proposed, and those that were undone.
    admitted: Vec<u64>,
    undone: Vec<u64>,
}

/// The state, also stored as an item of a snapshot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// The last place that is part of this state.
    through: u64,
    /// For each network, the place of the last fact about its book, and whether that removed it.
    books: BTreeMap<String, (u64, bool)>,
    /// The place of the last fact about choices.
    choices: u64,
    /// The place of the last fact about claims.
    claims: u64,
    /// The place of the last fact about delegations.
    delegations: u64,
    /// The counts that the counting policies of each network must have reached.
    counts: BTreeMap<String, Counted>,
}

/// The counts that must be in a network's state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    version: u64,
    /// The allocations that counting policies proposed and that were not undone.
    admitted: BTreeSet<u64>,
}

impl Staged {
    fn of(facts: &[Fact]) -> Self {
        let mut staged = Self::default();
        for (fact, behind) in facts.iter().zip((1..=facts.len() as u64).rev()) {
            match fact {
                Fact::Choices(_) => staged.choice = Some(behind),
                Fact::Claims(_) => staged.claim = Some(behind),
                Fact::Delegations(_) => staged.delegation = Some(behind),
                _ => {}
            }
            if let Some(network) = fact.network() {
                staged.networks.entry(network.to_string()).or_default().count(fact, behind);
            }
        }
        staged
    }
}

impl OfNetwork {
    /// Adds a fact of a group that ends `behind` places after it.
    fn count(&mut self, fact: &Fact, behind: u64) {
        if let Fact::Ledger(fact) = fact {
            self.book = Some(behind);
            self.is_removal |= matches!(fact, LedgerFact::Removed { .. });
        }
        match fact {
            Fact::States(StateFact::Kept { .. } | StateFact::Undone { .. }) => self.states += 1,
            Fact::Ledger(LedgerFact::Allocated(allocation)) if counts(&allocation.policy.name) => {
                self.admitted.push(allocation.generation.0);
            }
            Fact::Ledger(LedgerFact::Released { generation, reason, .. })
                if **reason == *End::Undone.reason() =>
            {
                self.undone.push(generation.0);
            }
            _ => {}
        }
    }
}

impl Beside {
    fn take(&mut self, place: u64, staged: Staged) {
        if place <= self.through {
            return;
        }
        self.through = place;
        for (network, of) in staged.networks {
            if of.is_removal {
                self.counts.remove(&network);
            } else if of.states > 0 || !of.admitted.is_empty() || !of.undone.is_empty() {
                let counted = self.counts.entry(network.clone()).or_default();
                counted.version += of.states;
                counted.admitted.extend(of.admitted);
                of.undone.iter().for_each(|undone| _ = counted.admitted.remove(undone));
            }
            if let Some(behind) = of.book {
                self.books.insert(network, (place - behind, of.is_removal));
            }
        }
        if let Some(behind) = staged.claim {
            self.claims = place - behind;
        }
        if let Some(behind) = staged.delegation {
            self.delegations = place - behind;
        }
        if let Some(behind) = staged.choice {
            self.choices = place - behind;
        }
    }

    /// Checks that this chapter agrees with the others.
    pub(crate) fn check(&self, found: &Recovered) -> Result<()> {
        let through = found.state.node.choices.through();
        ensure!(
            self.choices == through,
            "a group is torn: choices are as of {through}, but the simulation's chapter has {self:?}"
        );
        let through = found.state.node.claims.through();
        ensure!(
            self.claims == through,
            "a group is torn: claims are as of {through}, but the simulation's chapter has {self:?}"
        );
        let through = found.state.node.delegations.through();
        ensure!(
            self.delegations == through,
            "a group is torn: delegations are as of {through}, but the simulation's chapter has {self:?}"
        );
        for (network, (place, is_removal)) in &self.books {
            let book = found.state.books.iter().find(|book| book.name().as_str() == network);
            let through = book.map(tenure_ledger::Book::through);
            let expected = (!is_removal).then_some(*place);
            ensure!(
                through == expected,
                "a group is torn: {network} is as of {through:?}, but the simulation's chapter has {self:?}"
            );
        }
        let states: BTreeMap<_, _> =
            found.state.node.states.all().map(|(name, memory)| (name.as_str(), memory)).collect();
        for (network, counted) in &self.counts {
            let now = states.get(network.as_str()).map(|memory| &memory.now);
            let count = now.map_or(Some(0), |now| policies::counted(&now.bytes, now.policy.name.as_str()));
            ensure!(
                count == Some(counted.admitted.len() as u64)
                    && now.map_or(0, |now| now.version) == counted.version,
                "a state does not agree with the allocations: {network} has {now:?}, expected {counted:?}"
            );
        }
        ensure!(
            states.keys().all(|network| self.counts.contains_key(*network)),
            "a state is not forgotten: {states:?}, expected {:?}",
            self.counts
        );
        for book in &found.state.books {
            ensure!(
                self.books.contains_key(book.name().as_str()),
                "a group is torn: the simulation's chapter has no record of {}",
                book.name()
            );
        }
        Ok(())
    }
}

fn line(json: &impl Serialize) -> ChapterLine {
    // These values always serialize to JSON.
    let json = serde_json::to_vec(json).unwrap_or_default();
    ChapterLine { chapter: "beside".into(), version: 1, optional: false, json }
}

fn read<'a, T: Deserialize<'a>>(version: u32, json: &'a str) -> Result<T, ChapterRefusal> {
    match version {
        1 => serde_json::from_str(json).map_err(|error| ChapterRefusal::Malformed(error.to_string())),
        _ => Err(ChapterRefusal::Version),
    }
}

impl RecoverChapter for Beside {
    fn name(&self) -> &'static str {
        "beside"
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), ChapterRefusal> {
        self.take(place, read(version, json)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), ChapterRefusal> {
        *self = read(version, json)?;
        Ok(())
    }

    fn enter_boot(&mut self, _: Moment) -> Result<usize, ChapterRefusal> {
        Ok(0)
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
        hold(&self.0)
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
        let staged = Staged::of(facts);
        let lines = facts.iter().map(ChapterLine::from).chain([line(&staged)]);
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

impl SnapshotSource for All {
    fn parts(&self, first: u64) -> Parts {
        let beside = self.beside.clone();
        let item =
            std::iter::once_with(move || Box::new(std::iter::once(line(&*beside.lock()))) as ChapterLines);
        // First, so that facts staged while the pages are made are on the pages but not in this item.
        Box::new(item.chain(self.images.parts(first)))
    }
}
