//! The book of one network.
//!
//! A book changes by [`apply`](Book::apply), by the passing of time ([`expire`](Book::expire)) and at a reboot
//! ([`enter_boot`](Book::enter_boot)); everything else only reads. [`admit`](Book::admit),
//! [`redefine`](Book::redefine) and [`release`](Book::release) make the facts that are then applied.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use tenure_types::{
    Allocation, AssignedAddress, Generation, Moment, Network, NetworkName, Owner, Pool, PoolName, Range,
    RangeName,
};

use super::cooling::CoolingQueue;
use super::counts::Counts;
use super::image::{Image, LastAddress, Remembrance, Supplied};
use super::remembered::Remembered;
use super::runs::Runs;
use super::stock::{Change, InUse, Shelf, Stock};
use super::takeover::Takeover;
use super::{Conflict, LedgerFact};

/// Who owns which address of one network, and which addresses are cooling down.
#[derive(Debug, Clone)]
pub struct Book {
    network: Arc<Network>,
    /// The place in the log that the book is current as of.
    through: u64,
    importing: bool,
    next_generation: Generation,
    allocations: BTreeMap<Generation, Arc<Allocation>>,
    by_owner: HashSet<ByOwner>,
    by_address: BTreeMap<IpAddr, Generation>,
    /// Claims imported from other IPAMs.
    pub(super) takeover: Takeover,
    /// Held and cooling addresses, inside and outside the present ranges; a search for free addresses skips them.
    taken: Runs,
    cooling: CoolingQueue,
    /// The ranges and their usage.
    stock: Stock,
    counts: Counts,
    remembered: Remembered,
}

/// An allocation, hashed by its owner, so that the owner is stored only once.
#[derive(Debug, Clone)]
struct ByOwner(Arc<Allocation>);

impl PartialEq for ByOwner {
    fn eq(&self, other: &Self) -> bool {
        self.0.owner == other.0.owner
    }
}

impl Eq for ByOwner {}

impl Hash for ByOwner {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.owner.hash(state);
    }
}

impl Borrow<Owner> for ByOwner {
    fn borrow(&self) -> &Owner {
        &self.0.owner
    }
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
            allocations: BTreeMap::new(),
            by_owner: HashSet::new(),
            by_address: BTreeMap::new(),
            takeover: Takeover::default(),
            taken: Runs::default(),
            cooling: CoolingQueue::default(),
            stock,
            counts: Counts::default(),
            remembered: Remembered::default(),
        }
    }

    /// Restores a book from its image.
    ///
    /// # Errors
    /// [`Conflict`] when the image contradicts itself.
    pub fn restore(image: Image) -> Result<Self, Conflict> {
        let mut book = Self::new(image.network);
        book.by_owner.reserve(image.allocations.len());
        for Supplied { pool, range, draining } in image.ranges {
            book.add_range(&pool, range, draining)?;
        }
        for allocation in image.allocations {
            book.check_allocated(&allocation)?;
            book.insert(allocation);
        }
        for (address, since) in image.cooling {
            if book.holder(address).is_none() {
                book.cool(address, since);
            }
        }
        book.through = image.through;
        book.importing = image.importing;
        book.next_generation = book.next_generation.max(image.next_generation);
        book.stock.forget_last();
        book.set_last(image.last);
        book.takeover.restore(image.settled);
        image.remembered.into_iter().for_each(|remembrance| book.remembered.remember(remembrance));
        Ok(book)
    }

    /// Returns the book as data.
    #[must_use]
    pub fn image(&self) -> Image {
        Image {
            through: self.through,
            network: Arc::clone(&self.network),
            importing: self.importing,
            ranges: self.supplied(),
            next_generation: self.next_generation,
            last: self.handed_out_last(),
            cooling: self.cooling.iter().collect(),
            allocations: self.allocations.values().cloned().collect(),
            settled: self.takeover.settled(),
            remembered: self.remembered.iter().cloned().collect(),
        }
    }

    /// A book with the same ranges and no allocations, to try a change of ranges on.
    #[must_use]
    pub fn without_owners(&self) -> Self {
        let mut draft = Self::new(Arc::clone(&self.network));
        for Supplied { pool, range, draining } in self.supplied() {
            // Ranges that are disjoint in this book are disjoint in the draft, so this cannot fail.
            let _ = draft.add_range(&pool, range, draining);
        }
        draft
    }

    fn supplied(&self) -> Vec<Supplied> {
        let of = |(index, pool): (usize, &Pool)| {
            let pool = pool.name.clone();
            self.stock.ranges_of(index).map(move |view| Supplied {
                pool: pool.clone(),
                range: view.range.clone(),
                draining: view.draining,
            })
        };
        self.network.pools.iter().enumerate().flat_map(of).collect()
    }

    fn handed_out_last(&self) -> Vec<LastAddress> {
        let last = self.stock.all_last().filter_map(|(shelf, address)| {
            let label = shelf.label.map(|(name, value)| (name.into(), value.into()));
            Some(LastAddress { pool: self.network.pools.get(shelf.pool)?.name.clone(), label, address })
        });
        last.collect()
    }

    fn set_last(&mut self, last: Vec<LastAddress>) {
        for LastAddress { pool, label, address } in last {
            let Some(pool) = self.network.pool_named(&pool) else { continue };
            let label = label.as_ref().map(|(name, value)| (&**name, &**value));
            self.stock.set_last(Shelf { pool, label }, Some(address));
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
        self.allocations.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, allocation)| allocation)
    }

    /// An owner's allocation.
    #[must_use]
    pub fn owned_by(&self, owner: &Owner) -> Option<&Arc<Allocation>> {
        self.by_owner.get(owner).map(|found| &found.0)
    }

    /// The allocation that holds an address, inside or outside the present ranges.
    #[must_use]
    pub fn holder(&self, address: IpAddr) -> Option<&Arc<Allocation>> {
        self.allocations.get(self.by_address.get(&address)?)
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

    /// Whether [`expire`](Self::expire) would change anything.
    #[must_use]
    pub fn has_expired(&self, now: Moment, cooldown: Duration) -> bool {
        self.cooling.first().is_some_and(|(_, since)| now.since(since) >= cooldown)
            || self.remembered.has_expired(now)
    }

    /// Frees addresses whose cooldown is over, and forgets the last addresses of owners that have been gone for long.
    ///
    /// This is not a fact: the passing of time need not be recorded, and expiring later frees the same addresses.
    pub fn expire(&mut self, now: Moment, cooldown: Duration) {
        while let Some((address, _)) = self.cooling.first().filter(|(_, since)| now.since(*since) >= cooldown)
        {
            self.warm(address);
            self.taken.remove(address);
        }
        self.remembered.expire(now);
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

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    ///
    /// # Errors
    /// [`Conflict`] when the fact contradicts the book; the book is then unchanged.
    pub fn apply(&mut self, place: u64, fact: &LedgerFact) -> Result<(), Conflict> {
        if *fact.network() != self.network.name {
            return Err(Conflict::Network(fact.network().clone(), self.network.name.clone()));
        }
        if place <= self.through {
            return Ok(());
        }
        match fact {
            LedgerFact::Defined(network) => self.define(network),
            LedgerFact::Removed { .. } => self.check_empty()?,
            LedgerFact::Importing { under_way, .. } => self.importing = *under_way,
            LedgerFact::RangeAdded { pool, range, .. } => {
                self.add_range(pool, range.as_ref().clone(), false)?;
            }
            LedgerFact::RangeDraining { pool, range, draining, .. } => {
                let (pool, in_use) = self.range_in_use(pool, range)?;
                self.stock.drain(pool, range, *draining, &in_use);
            }
            LedgerFact::RangeRemoved { pool, range, .. } => {
                let (pool, in_use) = self.range_in_use(pool, range)?;
                self.stock.remove(pool, range, &in_use);
            }
            LedgerFact::Allocated(allocation) => {
                self.check_allocated(allocation)?;
                self.insert(Arc::clone(allocation));
            }
            LedgerFact::Renewed { generation, .. } => self.renew(*generation, fact)?,
            LedgerFact::Released { generation, at, .. } => self.end(*generation, *at)?,
        }
        self.through = place;
        Ok(())
    }

    /// Replaces the network's pools. Pools whose name stays keep their ranges and the address handed out last.
    fn define(&mut self, network: &Arc<Network>) {
        let (ranges, last) = (self.supplied(), self.handed_out_last());
        self.network = Arc::clone(network);
        self.stock = Stock::new(network.pools.len());
        for Supplied { pool, range, draining } in ranges {
            // Fails only for ranges of a pool that no longer exists; those are dropped with it.
            let _ = self.add_range(&pool, range, draining);
        }
        self.set_last(last);
    }

    fn add_range(&mut self, pool: &PoolName, range: Range, draining: bool) -> Result<(), Conflict> {
        let index = self.pool_index(pool)?;
        if self.stock.named(index, range.name()).is_some() || self.stock.overlapping(&range).is_some() {
            return Err(Conflict::Range(pool.clone(), range.name().clone()));
        }
        let in_use = self.in_use(&range);
        let network = Arc::clone(&self.network);
        if let Some(of) = network.pools.get(index) {
            self.stock.add(index, of, range, draining, &in_use);
        }
        Ok(())
    }

    fn pool_index(&self, pool: &PoolName) -> Result<usize, Conflict> {
        self.network.pool_named(pool).ok_or_else(|| Conflict::Pool(pool.clone()))
    }

    /// Finds a range; returns its pool and its usage.
    fn range_in_use(&self, pool: &PoolName, name: &RangeName) -> Result<(usize, InUse), Conflict> {
        let index = self.pool_index(pool)?;
        let (range, _) =
            self.stock.named(index, name).ok_or_else(|| Conflict::Range(pool.clone(), name.clone()))?;
        Ok((index, self.in_use(range)))
    }

    fn in_use(&self, range: &Range) -> InUse {
        let mut in_use =
            InUse { cooling: self.cooling.between(range.first(), range.last()), ..InUse::default() };
        for (address, _) in self.by_address.range(range.first()..=range.last()) {
            in_use.held += 1;
            in_use.reserved += u64::from(range.reserved(*address).is_some());
        }
        in_use
    }

    fn check_empty(&self) -> Result<(), Conflict> {
        match self.allocations.first_key_value() {
            Some((generation, _)) => Err(Conflict::Held(*generation)),
            None => Ok(()),
        }
    }

    fn check_allocated(&self, allocation: &Allocation) -> Result<(), Conflict> {
        let generation = allocation.generation;
        if generation < self.next_generation {
            return Err(Conflict::Generation(generation));
        }
        if self.by_owner.contains(&allocation.owner) {
            return Err(Conflict::Owner(allocation.owner.clone(), generation));
        }
        for address in allocation.addresses.iter().map(AssignedAddress::ip) {
            if let Some(holder) = self.holder(address)
                && !self.may_wait(allocation, holder)
            {
                return Err(Conflict::Address(address, holder.generation, generation));
            }
        }
        Ok(())
    }

    fn insert(&mut self, allocation: Arc<Allocation>) {
        let generation = allocation.generation;
        for (index, address) in allocation.addresses.iter().map(AssignedAddress::ip).enumerate() {
            if let Some(claim) = allocation.origin.as_ref().and_then(|origin| origin.claim(index)) {
                self.takeover.unsettle(address, claim);
            }
            if self.by_address.contains_key(&address) {
                self.takeover.wait(address, generation);
                continue;
            }
            self.warm(address);
            self.taken.insert(address);
            self.by_address.insert(address, generation);
            self.stock.change(address, Change::Hold);
        }
        self.counts.add(&allocation);
        self.by_owner.insert(ByOwner(Arc::clone(&allocation)));
        self.allocations.insert(generation, allocation);
        self.next_generation = Generation(generation.0 + 1);
    }

    fn renew(&mut self, generation: Generation, fact: &LedgerFact) -> Result<(), Conflict> {
        let held = self.allocations.get(&generation).ok_or(Conflict::Unknown(generation))?;
        let renewed = Arc::new(super::renewal::renewed(held, fact));
        self.by_owner.replace(ByOwner(Arc::clone(&renewed)));
        self.allocations.insert(generation, renewed);
        Ok(())
    }

    pub(super) fn end(&mut self, generation: Generation, at: Moment) -> Result<(), Conflict> {
        let ended = self.allocations.remove(&generation).ok_or(Conflict::Unknown(generation))?;
        self.by_owner.remove(&ended.owner);
        self.counts.remove(&ended);
        self.remember(&ended, at);
        for (index, address) in ended.addresses.iter().map(AssignedAddress::ip).enumerate() {
            if let Some(claim) = ended.origin.as_ref().and_then(|origin| origin.claim(index)) {
                self.takeover.settle(address, claim);
            }
            if self.takeover.stop_waiting(address, generation) {
                continue;
            }
            if let Some(next) = self.takeover.next(address) {
                self.by_address.insert(address, next);
                continue;
            }
            self.by_address.remove(&address);
            self.stock.change(address, Change::LetGo);
            self.cool(address, at);
        }
        Ok(())
    }

    fn remember(&mut self, ended: &Allocation, at: Moment) {
        let Some(name) = ended.lasting_name() else { return };
        let of = |address: &AssignedAddress| Some((address.source.pool.clone()?, address.ip()));
        let addresses = ended.addresses.iter().filter_map(of).collect();
        self.remembered.remember(Remembrance { name: name.into(), at, addresses });
    }

    fn cool(&mut self, address: IpAddr, since: Moment) {
        self.warm(address);
        self.taken.insert(address);
        let place = self.cooling.push(address, since);
        self.stock.change(address, Change::Cool(place));
    }

    /// Ends an address's cooldown; the caller marks it as held or free.
    fn warm(&mut self, address: IpAddr) {
        if let Some(place) = self.cooling.remove(address) {
            self.stock.change(address, Change::Warm(place));
        }
    }

    /// Brings the book into a new boot: ends the allocations that end at reboot, and sets every time that is compared
    /// to `now`, because times of different boots cannot be compared. Returns how many allocations ended.
    ///
    /// # Errors
    /// [`Conflict`] when the book contradicts itself.
    pub fn enter_boot(&mut self, now: Moment) -> Result<usize, Conflict> {
        self.cooling.restart(now);
        self.remembered.restart(now);
        let (mut ended, mut staying) = (Vec::new(), Vec::new());
        for held in self.allocations.values() {
            let of = if tenure_types::End::Reboot.ends(&held.owner) { &mut ended } else { &mut staying };
            of.push(held.generation);
        }
        for generation in &ended {
            self.end(*generation, now)?;
        }
        for generation in staying {
            let Some(held) = self.allocations.get(&generation) else { continue };
            let again = Arc::new(Allocation { requested_at: now, ..held.as_ref().clone() });
            self.by_owner.replace(ByOwner(Arc::clone(&again)));
            self.allocations.insert(generation, again);
        }
        Ok(ended.len())
    }

    /// The pools, in the order of a grant's addresses.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.network.pools
    }

    /// The network's name.
    #[must_use]
    pub fn name(&self) -> &NetworkName {
        &self.network.name
    }
}

#[cfg(test)]
mod tests;
