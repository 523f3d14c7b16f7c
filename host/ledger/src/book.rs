//! One network's book.
//!
//! A book changes by [`apply`](Book::apply) and by the passing of time, [`expire`](Book::expire); everything else only
//! looks. [`admit`](Book::admit) and [`release`](Book::release) make the records that `apply` then takes.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_types::{
    Allocation, AssignedAddress, Cooling, Generation, Moment, Network, Owner, PolicyStamp, Proposal, Range,
    Record, Request,
};

use crate::chart::Chart;
use crate::runs::Runs;
use crate::takeover::Takeover;
use crate::{Conflict, Direction, Image, Standing, Usage, Violation};

/// Who owns which address of one network, and which addresses cool.
#[derive(Debug, Clone)]
pub struct Book {
    network: Arc<Network>,
    /// The place in the log that the book is true as of.
    through: u64,
    next_generation: Generation,
    allocations: BTreeMap<Generation, Arc<Allocation>>,
    by_owner: HashMap<Owner, Generation>,
    by_address: HashMap<IpAddr, Generation>,
    /// What was taken over from elsewhere and is over.
    pub(crate) takeover: Takeover,
    /// Held and cooling addresses, in and out of the present ranges: what a walk skips.
    taken: Runs,
    /// Cooling addresses in the order in which they were freed.
    cooling: BTreeMap<u64, (IpAddr, Moment)>,
    cooling_order: HashMap<IpAddr, u64>,
    /// The same for each pool, so that what a policy asks for costs what it gets; derived.
    cooling_of: Vec<BTreeMap<u64, IpAddr>>,
    /// Where each address lies; derived.
    chart: Chart,
    next_cooling: u64,
    /// For each pool, the address handed out last.
    last: Vec<Option<IpAddr>>,
    /// For each pool, what is in use; derived, so that counting costs nothing.
    usage: Vec<Usage>,
}

impl Book {
    /// The empty book of a network.
    #[must_use]
    pub fn new(network: Network) -> Self {
        let mut book = Self {
            network: Arc::new(network),
            through: 0,
            next_generation: Generation(1),
            allocations: BTreeMap::new(),
            by_owner: HashMap::new(),
            by_address: HashMap::new(),
            takeover: Takeover::default(),
            taken: Runs::default(),
            cooling: BTreeMap::new(),
            cooling_order: HashMap::new(),
            cooling_of: Vec::new(),
            chart: Chart::default(),
            next_cooling: 0,
            last: Vec::new(),
            usage: Vec::new(),
        };
        book.recount();
        book
    }

    /// The book that an image was made of.
    ///
    /// # Errors
    /// [`Conflict`] when the image contradicts itself.
    pub fn restore(image: Image) -> Result<Self, Conflict> {
        let mut book = Self::new(image.network);
        book.by_owner.reserve(image.allocations.len());
        book.by_address.reserve(image.allocations.len());
        for allocation in image.allocations {
            book.check_allocate(&allocation)?;
            book.insert(allocation);
        }
        for (address, since) in image.cooling {
            if book.holder(address).is_none() {
                book.cool(address, since);
            }
        }
        book.through = image.through;
        book.next_generation = book.next_generation.max(image.next_generation);
        book.last = image.last;
        book.takeover.restore(image.settled);
        book.recount();
        Ok(book)
    }

    /// The book as data.
    #[must_use]
    pub fn image(&self) -> Image {
        Image {
            through: self.through,
            network: self.network.as_ref().clone(),
            next_generation: self.next_generation,
            last: self.last.clone(),
            cooling: self.cooling.values().copied().collect(),
            allocations: self.allocations.values().cloned().collect(),
            settled: self.takeover.settled(),
        }
    }

    /// The place in the log that the book is true as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The live allocations, in the order in which they were made.
    pub fn allocations(&self) -> impl ExactSizeIterator<Item = &Arc<Allocation>> {
        self.allocations.values()
    }

    /// The live allocations behind one of them, in the order in which they were made.
    pub fn allocations_after(&self, after: Generation) -> impl Iterator<Item = &Arc<Allocation>> {
        self.allocations.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, allocation)| allocation)
    }

    /// An owner's allocation.
    #[must_use]
    pub fn owned_by(&self, owner: &Owner) -> Option<&Arc<Allocation>> {
        self.allocations.get(self.by_owner.get(owner)?)
    }

    /// The allocation that holds an address, inside or outside the present ranges.
    #[must_use]
    pub fn holder(&self, address: IpAddr) -> Option<&Arc<Allocation>> {
        self.allocations.get(self.by_address.get(&address)?)
    }

    /// Since when an address cools.
    #[must_use]
    pub fn cooling_since(&self, address: IpAddr) -> Option<Moment> {
        Some(self.cooling.get(self.cooling_order.get(&address)?)?.1)
    }

    /// The cooling addresses and since when, least recently freed first.
    pub fn cooling_addresses(&self) -> impl ExactSizeIterator<Item = (IpAddr, Moment)> {
        self.cooling.values().copied()
    }

    /// Whether an allocation has an address outside the present ranges. It stays its owner's.
    #[must_use]
    pub fn is_outside(&self, allocation: &Allocation) -> bool {
        allocation.addresses.iter().any(|address| self.pool_of(address.address.addr()).is_none())
    }

    /// How much of a pool is in use.
    #[must_use]
    pub fn usage(&self, pool: usize) -> Usage {
        self.usage.get(pool).copied().unwrap_or_default()
    }

    pub(crate) fn allocation(&self, generation: Generation) -> Option<&Arc<Allocation>> {
        self.allocations.get(&generation)
    }

    /// The number that the next allocation gets.
    #[must_use]
    pub fn next_generation(&self) -> Generation {
        self.next_generation
    }

    /// Lets every address that cools do so from now on.
    pub(crate) fn cool_anew(&mut self, now: Moment) {
        self.cooling.values_mut().for_each(|(_, since)| *since = now);
    }

    /// The cooling addresses of a pool, least recently freed first.
    pub(crate) fn cooling_in(&self, pool: usize) -> impl Iterator<Item = IpAddr> {
        self.cooling_of.get(pool).into_iter().flat_map(|cooling| cooling.values().copied())
    }

    /// The pool and the range that an address lies in.
    pub(crate) fn locate(&self, address: IpAddr) -> Option<(usize, &Range)> {
        let (pool, range) = self.chart.locate(address)?;
        Some((pool, self.network.definition.pools.get(pool)?.ranges.get(range)?))
    }

    pub(crate) fn taken(&self) -> &Runs {
        &self.taken
    }

    pub(crate) fn last_of(&self) -> &[Option<IpAddr>] {
        &self.last
    }

    /// Whether [`expire`](Self::expire) would change anything.
    #[must_use]
    pub fn has_expired(&self, now: Moment, cooldown: Duration) -> bool {
        self.cooling.first_key_value().is_some_and(|(_, (_, since))| is_over(*since, now, cooldown))
    }

    /// Lets addresses that have cooled long enough become free.
    ///
    /// Not a record: time passing is not a fact to keep, and replaying it later frees no less.
    pub fn expire(&mut self, now: Moment, cooldown: Duration) {
        while let Some(first) = self.cooling.first_entry() {
            let (address, since) = *first.get();
            if !is_over(since, now, cooldown) {
                break;
            }
            self.warm(address);
            self.taken.remove(address);
        }
    }

    /// Checks a proposal against the book and makes an allocation of it, for a record to be applied.
    ///
    /// # Errors
    /// [`Violation`] with the first rule that the proposal breaks.
    pub fn admit(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &PolicyStamp,
        now: Moment,
    ) -> Result<Allocation, Violation> {
        self.admitted(request, proposal, policy, now, None)
    }

    /// The same for addresses that their owner uses already, as another IPAM says: one that cools does so for nobody. These
    /// allocations are about to end, so they keep nothing from it.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn admit_living(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &PolicyStamp,
        now: Moment,
        ending: &[Generation],
    ) -> Result<Allocation, Violation> {
        self.admitted(request, proposal, policy, now, Some(ending))
    }

    fn admitted(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &PolicyStamp,
        now: Moment,
        living: Option<&[Generation]>,
    ) -> Result<Allocation, Violation> {
        if let Some(held) = self.owned_by(&request.owner) {
            return Err(Violation::OwnerHolds(request.owner.clone(), held.generation));
        }
        let definition = &self.network.definition;
        let pools = definition.pools.len();
        if pools == 0 {
            return Err(Violation::NoPools);
        }
        let proposed = proposal.addresses.len();
        let mut addresses = Vec::with_capacity(pools);
        for (index, pool) in definition.pools.iter().enumerate() {
            let mut of_pool = proposal.addresses.iter().filter(|(pool, _)| *pool == index);
            let (Some(&(_, address)), None) = (of_pool.next(), of_pool.next()) else {
                let times = proposal.addresses.iter().filter(|(pool, _)| *pool == index).count();
                return Err(Violation::NotOneForEachPool { proposed, pools, pool: index, times });
            };
            let range = pool.range_of(address).ok_or(Violation::Outside(address, index))?;
            self.may_hand_out(request, index, address, range, living)?;
            // The range has checked its prefix length, so this holds.
            let address =
                IpNet::new(address, range.prefix_length()).map_err(|_| Violation::Outside(address, index))?;
            addresses.push(AssignedAddress { address, gateway: range.gateway() });
        }
        if proposed != pools {
            return Err(Violation::NotOneForEachPool {
                proposed,
                pools,
                pool: pools,
                times: proposed - pools,
            });
        }
        let missed = |wanted: &&IpAddr| addresses.iter().all(|address| address.address.addr() != **wanted);
        if let Some(wanted) = request.requested.iter().find(missed) {
            return Err(Violation::RequestIgnored(*wanted));
        }
        Ok(Allocation {
            network: self.network.name.clone(),
            generation: self.next_generation,
            owner: request.owner.clone(),
            addresses,
            pod: request.pod.clone(),
            netns: request.netns.clone(),
            netns_seen: request.netns_seen,
            policy: policy.clone(),
            origin: None,
            requested_at: request.requested_at,
            allocated_at: now,
        })
    }

    fn may_hand_out(
        &self,
        request: &Request,
        pool: usize,
        address: IpAddr,
        range: &tenure_types::Range,
        living: Option<&[Generation]>,
    ) -> Result<(), Violation> {
        let ends = |holder: &Allocation| living.is_some_and(|ending| ending.contains(&holder.generation));
        if let Some(holder) = self.holder(address).filter(|holder| !ends(holder)) {
            return Err(Violation::Held(address, holder.owner.clone()));
        }
        if let Some(reason) = range.reserved(address) {
            return Err(Violation::Reserved(address, reason));
        }
        if living.is_some() {
            return Ok(());
        }
        let too_early = match self.network.definition.cooling {
            Cooling::Strict => true,
            Cooling::Preferred => {
                !request.requested.contains(&address)
                    && !self.free(pool, None, Direction::Ascending, 1).is_empty()
            }
        };
        if too_early && self.standing(address) == Standing::Cooling {
            return Err(Violation::Cooling(address));
        }
        Ok(())
    }

    /// Makes the record that ends an owner's allocation; `None` when it has none.
    #[must_use]
    pub fn release(&self, owner: &Owner, at: Moment, reason: &str) -> Option<Record> {
        Some(Record::Release {
            network: self.network.name.clone(),
            generation: *self.by_owner.get(owner)?,
            at,
            reason: reason.to_owned(),
        })
    }

    /// Applies a record. One that the book has seen already, by its place in the log, changes nothing.
    ///
    /// # Errors
    /// [`Conflict`] when the record contradicts the book, which is then as it was.
    pub fn apply(&mut self, place: u64, record: &Record) -> Result<(), Conflict> {
        if *record.network() != self.network.name {
            return Err(Conflict::Network(record.network().clone(), self.network.name.clone()));
        }
        if place <= self.through {
            return Ok(());
        }
        match record {
            Record::Network(network) => {
                self.network = Arc::new(network.as_ref().clone());
                self.recount();
            }
            Record::Allocate(allocation) => {
                self.check_allocate(allocation)?;
                self.insert(Arc::clone(allocation));
            }
            Record::Renew { generation, requested_at, netns, netns_seen, .. } => {
                let held = self.allocations.get_mut(generation).ok_or(Conflict::Unknown(*generation))?;
                let held = Arc::make_mut(held);
                (held.requested_at, held.netns_seen) = (*requested_at, *netns_seen);
                held.netns.clone_from(netns);
            }
            Record::Release { generation, at, .. } => self.end(*generation, *at)?,
        }
        self.through = place;
        Ok(())
    }

    fn check_allocate(&self, allocation: &Allocation) -> Result<(), Conflict> {
        let generation = allocation.generation;
        if generation < self.next_generation {
            return Err(Conflict::Generation(generation));
        }
        if self.by_owner.contains_key(&allocation.owner) {
            return Err(Conflict::Owner(allocation.owner.clone(), generation));
        }
        for address in &allocation.addresses {
            if let Some(holder) = self.holder(address.address.addr())
                && !self.may_wait(allocation, holder)
            {
                return Err(Conflict::Address(address.address.addr(), holder.generation, generation));
            }
        }
        Ok(())
    }

    fn insert(&mut self, allocation: Arc<Allocation>) {
        let generation = allocation.generation;
        for (index, address) in allocation.addresses.iter().enumerate() {
            let address = address.address.addr();
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
            if let Some(pool) = self.pool_of(address) {
                if let Some(usage) = self.usage.get_mut(pool) {
                    usage.held = usage.held.saturating_add(1);
                }
                if let Some(last) = self.last.get_mut(pool) {
                    *last = Some(address);
                }
            }
        }
        self.by_owner.insert(allocation.owner.clone(), generation);
        self.allocations.insert(generation, allocation);
        self.next_generation = Generation(generation.0 + 1);
    }

    pub(crate) fn end(&mut self, generation: Generation, at: Moment) -> Result<(), Conflict> {
        let ended = self.allocations.remove(&generation).ok_or(Conflict::Unknown(generation))?;
        self.by_owner.remove(&ended.owner);
        for (index, address) in ended.addresses.iter().enumerate() {
            let address = address.address.addr();
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
            if let Some(usage) = self.usage_of(address) {
                usage.held = usage.held.saturating_sub(1);
            }
            self.cool(address, at);
        }
        Ok(())
    }

    fn cool(&mut self, address: IpAddr, since: Moment) {
        self.warm(address);
        self.taken.insert(address);
        self.cooling.insert(self.next_cooling, (address, since));
        self.cooling_order.insert(address, self.next_cooling);
        if let Some(pool) = self.pool_of(address) {
            if let Some(usage) = self.usage.get_mut(pool) {
                usage.cooling = usage.cooling.saturating_add(1);
            }
            if let Some(cooling) = self.cooling_of.get_mut(pool) {
                cooling.insert(self.next_cooling, address);
            }
        }
        self.next_cooling += 1;
    }

    /// Ends an address's cooling; it is the caller's to say whether it is held or free now.
    fn warm(&mut self, address: IpAddr) {
        let Some(order) = self.cooling_order.remove(&address) else { return };
        self.cooling.remove(&order);
        let Some(pool) = self.pool_of(address) else { return };
        if let Some(usage) = self.usage.get_mut(pool) {
            usage.cooling = usage.cooling.saturating_sub(1);
        }
        if let Some(cooling) = self.cooling_of.get_mut(pool) {
            cooling.remove(&order);
        }
    }

    fn usage_of(&mut self, address: IpAddr) -> Option<&mut Usage> {
        let pool = self.pool_of(address)?;
        self.usage.get_mut(pool)
    }

    /// Counts anew what is in use: the definition has changed.
    fn recount(&mut self) {
        self.chart = Chart::of(&self.network.definition);
        let pools = &self.network.definition.pools;
        self.cooling_of = vec![BTreeMap::new(); pools.len()];
        self.last.resize(pools.len(), None);
        self.usage = pools
            .iter()
            .map(|pool| Usage {
                total: pool.ranges.iter().fold(0, |total: u32, range| total.saturating_add(range.size())),
                ..Usage::default()
            })
            .collect();
        let held: Vec<IpAddr> = self.by_address.keys().copied().collect();
        for address in held {
            if let Some(usage) = self.usage_of(address) {
                usage.held = usage.held.saturating_add(1);
            }
        }
        for (order, (address, _)) in &self.cooling {
            let Some((pool, _)) = self.chart.locate(*address) else { continue };
            if let Some(usage) = self.usage.get_mut(pool) {
                usage.cooling = usage.cooling.saturating_add(1);
            }
            if let Some(cooling) = self.cooling_of.get_mut(pool) {
                cooling.insert(*order, *address);
            }
        }
    }
}

fn is_over(since: Moment, now: Moment, cooldown: Duration) -> bool {
    now.since(since) >= cooldown
}

#[cfg(test)]
mod tests;
