//! The chapter `moves`: networks that move over from other IPAMs, and the DELs that were answered for attachments that the
//! ledger did not have.
//!
//! A network moves over from each source separately. As long as one of its moves is open, the network refuses new owners: an
//! address that has not come over yet may be in use. The book says whether it does
//! ([`Book::is_importing`](crate::Book::is_importing)), as it did before there was this chapter; an open move of another book was
//! ended by an older program.
//!
//! ```text
//!                begun                        finished: all of its entries were answered
//!   no move ───────────────▶ open ──────────────────────────────────────────▶ a source of the network,
//!                           ▲  │ ▲                                            which is compared with the book
//!                     begun │  │ │ reached: some entries are durable          at each new owner
//!                     again └──┘ └─ ...
//!                              │ abandoned: an operator says that nothing is missing; what came over stays
//!                              ▼
//!                           no move, and the source is what it was before
//!
//!   a source, none of whose moves is open ── abandoned: an operator lets go of it ──▶ no source any more
//! ```
//!
//! An open move is under way while somebody imports, and cut off otherwise; only the engine knows which. A restart and a boot
//! leave it open. Only the same source or an operator ends it: another source says nothing about what is missing. Abandoning one
//! frees nothing. A network that is removed has no open moves, and its sources stay: the other IPAM may serve it for a while, and
//! the ledger knows nothing of that when it serves a network of the name again.
//!
//! A DEL that finds no allocation is remembered with the time at which it began, for any network: an import may bring the
//! attachment later, and then it is over, unless the other IPAM assigned its addresses after that. A DEL of an imported
//! attachment is remembered, too, for the time after its network was removed. The oldest are forgotten beyond a bound; an
//! attachment that comes then is held until its runtime, its leak or an operator ends it, which is safe.

mod fact;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_types::{Moment, NetworkName, Owner};

pub use self::fact::{Move, MoveEnd, MoveFact};

/// The maximum number of DELs remembered.
const MOST_DELETED: usize = 1 << 14;

/// By how much the time of another IPAM's file may lag behind the clock. A reservation this close to a DEL counts as later, which is safe.
const FILE_TICK_MS: u64 = 10;

/// The moves of a node, and the DELs that they are judged against.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moves {
    through: u64,
    /// By network and source.
    open: BTreeMap<NetworkName, BTreeMap<Arc<str>, Move>>,
    /// The sources of each network that moved over, and when.
    sources: BTreeMap<NetworkName, BTreeMap<Arc<str>, Moment>>,
    deleted: BTreeMap<(NetworkName, Owner), Moment>,
    /// The same by the wall clock, for the bound.
    oldest: BTreeSet<(u64, NetworkName, Owner)>,
}

impl Moves {
    /// Restores moves from a snapshot, which are current as of a place in the log. Add the rest with [`apply`](Self::apply) at
    /// that place's facts.
    #[must_use]
    pub fn restore(through: u64, facts: impl IntoIterator<Item = MoveFact>) -> Self {
        let mut moves = Self::default();
        facts.into_iter().for_each(|fact| moves.take(&fact));
        Self { through, ..moves }
    }

    /// The facts that [`restore`](Self::restore) the state.
    #[must_use]
    pub fn facts(&self) -> Vec<MoveFact> {
        let open = self.open.values().flat_map(BTreeMap::values).cloned().map(MoveFact::Begun);
        let sources = self.sources.iter().flat_map(|(network, sources)| {
            sources.iter().map(|(source, at)| MoveFact::Ended {
                network: network.clone(),
                source: Arc::clone(source),
                end: MoveEnd::Finished,
                why: Box::default(),
                at: *at,
            })
        });
        let deleted = self.deleted.iter().map(|((network, owner), at)| MoveFact::Deleted {
            network: network.clone(),
            owner: owner.clone(),
            at: *at,
        });
        // A source that moves over again is open, too.
        sources.chain(open).chain(deleted).collect()
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The open moves of a network, by source.
    pub fn open(&self, network: &NetworkName) -> impl Iterator<Item = &Move> {
        self.open.get(network).into_iter().flat_map(BTreeMap::values)
    }

    /// The sources from which a network has moved over.
    pub fn sources(&self, network: &NetworkName) -> impl Iterator<Item = &Arc<str>> {
        self.sources.get(network).into_iter().flat_map(BTreeMap::keys)
    }

    /// Returns the beginning of the last remembered DEL of an attachment.
    #[must_use]
    pub fn deleted(&self, network: &NetworkName, owner: &Owner) -> Option<Moment> {
        self.deleted.get(&(network.clone(), owner.clone())).copied()
    }

    /// Whether the reservation of an owner that another IPAM made then, in milliseconds since the Unix epoch, is over, since a DEL began after it was made.
    #[must_use]
    pub fn is_over(&self, network: &NetworkName, owner: &Owner, made_at_ms: Option<u64>) -> bool {
        let deleted = self.deleted(network, owner);
        deleted
            .zip(made_at_ms)
            .is_some_and(|(deleted, made)| deleted.wall_ms >= made.saturating_add(FILE_TICK_MS))
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &MoveFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        self.take(fact);
    }

    fn take(&mut self, fact: &MoveFact) {
        match fact {
            MoveFact::Begun(begun) => {
                let of_network = self.open.entry(begun.network.clone()).or_default();
                of_network.insert(Arc::clone(&begun.source), begun.clone());
            }
            MoveFact::Reached { network, source, reached, .. } => {
                let open = self.open.get_mut(network).and_then(|open| open.get_mut(source));
                if let Some(open) = open {
                    open.reached = *reached;
                }
            }
            MoveFact::Ended { network, source, end, at, .. } => {
                let was_open = take_out(&mut self.open, network, source);
                match end {
                    MoveEnd::Finished => {
                        let sources = self.sources.entry(network.clone()).or_default();
                        sources.insert(Arc::clone(source), *at);
                    }
                    MoveEnd::Abandoned if was_open => {}
                    // An older program never writes this, and leaves the source when it reads it.
                    MoveEnd::Abandoned => _ = take_out(&mut self.sources, network, source),
                }
            }
            MoveFact::Deleted { network, owner, at } => self.bury(network, owner, *at),
            MoveFact::Forgotten { network, .. } => {
                self.open.remove(network);
                self.sources.remove(network);
            }
        }
    }

    fn bury(&mut self, network: &NetworkName, owner: &Owner, at: Moment) {
        let key = (network.clone(), owner.clone());
        if let Some(before) = self.deleted.get(&key).copied() {
            if before.wall_ms >= at.wall_ms {
                return;
            }
            self.oldest.remove(&(before.wall_ms, network.clone(), owner.clone()));
        } else if self.deleted.len() >= MOST_DELETED
            && let Some((_, network, owner)) = self.oldest.pop_first()
        {
            self.deleted.remove(&(network, owner));
        }
        self.oldest.insert((at.wall_ms, network.clone(), owner.clone()));
        self.deleted.insert(key, at);
    }
}

/// Removes what a network has of a source; returns whether there was something.
fn take_out<T>(
    all: &mut BTreeMap<NetworkName, BTreeMap<Arc<str>, T>>,
    network: &NetworkName,
    source: &Arc<str>,
) -> bool {
    let Some(of_network) = all.get_mut(network) else { return false };
    let was_there = of_network.remove(source).is_some();
    if of_network.is_empty() {
        all.remove(network);
    }
    was_there
}

#[cfg(test)]
mod tests;
