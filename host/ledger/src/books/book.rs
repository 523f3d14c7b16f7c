//! The book of one network.
//!
//! A book changes by [`apply`](Book::apply), by the passing of time ([`expire`](Book::expire)) and at a reboot
//! ([`enter_boot`](Book::enter_boot)); everything else only reads. [`admit`](Book::admit),
//! [`redefine`](Book::redefine) and [`release`](Book::release) make the facts that are then applied.
//!
//! A copy of a book costs about the same at every size: everything that grows with the number of addresses is in maps whose copies
//! share what neither has changed.

mod apply;
mod outline;
mod owners;
mod prefixes;
mod quarantined;
mod ranges;
mod renewal;
mod restore;
mod takeover;
mod time;
mod withheld;

use std::net::IpAddr;
use std::ops::Bound;
use std::sync::Arc;

use tenure_types::{Allocation, Generation, Moment, Network, NetworkName, Owner, Pool};

use self::owners::{Allocations, OwnerIndex};
pub use self::renewal::Repeat;
use self::takeover::Takeover;
use super::LedgerFact;
use super::changes::BookChanges;
use super::cooling::CoolingQueue;
use super::counts::Counts;
use super::quarantine::QuarantineMarks;
use super::remembered::Remembered;
use super::runs::Runs;
use super::shared_map::SharedMap;
use super::stock::Stock;

/// The owner of each address of one network, and the addresses that are cooling down.
#[derive(Debug, Clone)]
pub struct Book {
    network: Arc<Network>,
    /// The place in the log that the book is current as of.
    through: u64,
    importing: bool,
    next_generation: Generation,
    allocations: Allocations,
    by_owner: OwnerIndex,
    by_address: SharedMap<IpAddr, Generation>,
    /// The prefixes that have an owner, by their first address, each with its last one.
    prefixes: SharedMap<IpAddr, IpAddr>,
    /// Claims imported from other IPAMs.
    takeover: Takeover,
    quarantine: QuarantineMarks,
    /// Held, cooling and quarantined addresses, inside and outside the present ranges; a search for free addresses skips them.
    taken: Runs,
    cooling: CoolingQueue,
    /// The ranges and their usage.
    stock: Stock,
    counts: Counts,
    remembered: Remembered,
    /// For those who follow the book.
    changes: BookChanges,
}

impl Book {
    /// Creates the empty book of a network that has no ranges yet.
    #[must_use]
    pub fn new(network: Arc<Network>) -> Self {
        let stock = Stock::new(network.pools.len());
        Self {
            network,
            through: 0,
            importing: false,
            next_generation: Generation(1),
            allocations: Allocations::default(),
            by_owner: OwnerIndex::default(),
            by_address: SharedMap::default(),
            prefixes: SharedMap::default(),
            takeover: Takeover::default(),
            quarantine: QuarantineMarks::default(),
            taken: Runs::default(),
            cooling: CoolingQueue::default(),
            stock,
            counts: Counts::default(),
            remembered: Remembered::default(),
            changes: BookChanges::default(),
        }
    }

    /// The place in the log that the book is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The network's name.
    #[must_use]
    pub fn name(&self) -> &NetworkName {
        &self.network.name
    }

    /// The pools, in the order of a grant's addresses.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.network.pools
    }

    /// Whether an import of the network is in progress or was interrupted.
    #[must_use]
    pub fn is_importing(&self) -> bool {
        self.importing
    }

    /// The live allocations, in the order in which they were made.
    pub fn allocations(&self) -> impl ExactSizeIterator<Item = &Arc<Allocation>> {
        self.allocations.values()
    }

    /// The live allocations made after the given one, in order.
    pub fn allocations_after(&self, after: Generation) -> impl Iterator<Item = &Arc<Allocation>> {
        self.allocations
            .range::<Generation, _>((Bound::Excluded(after), Bound::Unbounded))
            .map(|(_, allocation)| allocation)
    }

    /// An owner's allocation.
    #[must_use]
    pub fn owned_by(&self, owner: &Owner) -> Option<&Arc<Allocation>> {
        self.by_owner.find(owner, &self.allocations)
    }

    /// The allocation that holds an address, or a prefix around it, inside or outside the present ranges.
    #[must_use]
    pub fn holder(&self, address: IpAddr) -> Option<&Arc<Allocation>> {
        let around = || self.by_address.get(&self.prefix_around(address)?);
        self.allocations.get(self.by_address.get(&address).or_else(around)?)
    }

    /// The generation of the next allocation.
    #[must_use]
    pub fn next_generation(&self) -> Generation {
        self.next_generation
    }

    pub(super) fn allocation(&self, generation: Generation) -> Option<&Arc<Allocation>> {
        self.allocations.get(&generation)
    }

    pub(super) fn stock(&self) -> &Stock {
        &self.stock
    }

    pub(super) fn marks(&self) -> &QuarantineMarks {
        &self.quarantine
    }

    pub(super) fn taken(&self) -> &Runs {
        &self.taken
    }

    pub(super) fn cooling_queue(&self) -> &CoolingQueue {
        &self.cooling
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn remembered(&self) -> &Remembered {
        &self.remembered
    }

    /// Makes the fact that ends an owner's allocation; `None` when it has none.
    #[must_use]
    pub fn release(&self, owner: &Owner, at: Moment, reason: &str) -> Option<LedgerFact> {
        Some(LedgerFact::Released {
            network: self.network.name.clone(),
            generation: self.owned_by(owner)?.generation,
            at,
            reason: reason.into(),
        })
    }
}

#[cfg(test)]
mod tests;
