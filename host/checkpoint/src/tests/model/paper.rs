//! One network noted on a sheet of paper: the ledger's rules once more, without its indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tenure_ledger::Image;
use tenure_types::{Cooling, Generation, Moment, Owner, Range};

use crate::tests::fixture::Wanted;

/// The cooldown of an address.
pub(super) const COOLDOWN: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(super) struct Paper {
    /// The place of the last fact on this sheet.
    through: u64,
    rule: Cooling,
    ranges: Vec<Range>,
    next_generation: u64,
    last: Option<IpAddr>,
    held: BTreeMap<Owner, (Generation, IpAddr)>,
    cooling: Vec<(IpAddr, Moment)>,
    /// Addresses whose cooldown is over; no fact records that, so the disk may still list them as cooling.
    cooled: BTreeSet<IpAddr>,
}

impl Paper {
    /// A network that does not exist yet.
    pub(super) fn new() -> Self {
        Self {
            through: 0,
            rule: Cooling::default(),
            ranges: Vec::new(),
            next_generation: 1,
            last: None,
            held: BTreeMap::new(),
            cooling: Vec::new(),
            cooled: BTreeSet::new(),
        }
    }

    /// Notes an image. It panics if two owners have one address, or an owner has two.
    pub(super) fn of(image: &Image) -> Self {
        let mut paper = Self::new();
        paper.through = image.through;
        paper.rule = image.network.cooling;
        paper.ranges = image.ranges.iter().map(|supplied| supplied.range.clone()).collect();
        paper.next_generation = image.next_generation.0;
        paper.last = image.last.first().map(|last| last.address);
        paper.cooling.clone_from(&image.cooling);
        for allocation in &image.allocations {
            let [address] = &allocation.addresses[..] else { panic!("{allocation:?}") };
            let address = address.ip();
            assert_eq!(paper.holder(address), None, "{address} has two owners");
            let before = paper.held.insert(allocation.owner.clone(), (allocation.generation, address));
            assert_eq!(before, None, "{} owns twice", allocation.owner);
        }
        paper
    }

    /// Whether nobody holds an address.
    pub(super) fn holds_nothing(&self) -> bool {
        self.held.is_empty()
    }

    /// The addresses that are cooling.
    pub(super) fn cooling(&self) -> Vec<(IpAddr, Moment)> {
        self.cooling.clone()
    }

    fn holder(&self, address: IpAddr) -> Option<&Owner> {
        self.held.iter().find_map(|(owner, (_, held))| (*held == address).then_some(owner))
    }

    fn cools(&self, address: IpAddr) -> bool {
        self.cooling.iter().any(|(cooling, _)| *cooling == address)
    }

    /// Whether an owner may get an address.
    pub(super) fn may_get(&self, owner: &Owner, address: IpAddr) -> bool {
        let [range] = &self.ranges[..] else { panic!("{self:?}") };
        let free = |address: IpAddr| self.holder(address).is_none() && !self.cools(address);
        let need = || {
            let mut all = (0..=u8::MAX).map(|last| beside(range.first(), last));
            self.rule == Cooling::Preferred && !all.any(|address| range.contains(address) && free(address))
        };
        range.contains(address)
            && !self.held.contains_key(owner)
            && self.holder(address).is_none()
            && (free(address) || need())
    }

    /// Notes that an owner got an address.
    pub(super) fn get(&mut self, place: u64, owner: Owner, address: IpAddr) {
        self.through = place;
        self.cooling.retain(|(cooling, _)| *cooling != address);
        self.cooled.remove(&address);
        self.held.insert(owner, (Generation(self.next_generation), address));
        self.next_generation += 1;
        self.last = Some(address);
    }

    /// Notes that an owner released its address; `false` if it has none.
    pub(super) fn give_back(&mut self, place: u64, owner: &Owner, now: Moment) -> bool {
        let Some((_, address)) = self.held.remove(owner) else { return false };
        self.through = place;
        self.cooling.push((address, now));
        true
    }

    /// Notes a new definition, with which addresses go on cooling that did so in an earlier network of the name.
    pub(super) fn define(&mut self, place: u64, wanted: &Wanted, cooling: &[(IpAddr, Moment)]) {
        assert!(self.cooling.iter().all(|(address, _)| cooling.iter().any(|(other, _)| address == other)));
        self.through = place;
        self.cooling = cooling.to_vec();
        self.rule = wanted.definition.cooling;
        self.ranges.clone_from(&wanted.definition.pools[0].ranges);
    }

    /// Notes that time has passed.
    pub(super) fn expire(&mut self, now: Moment) {
        let cools = |since: Moment| now.since(since) < COOLDOWN;
        self.cooled
            .extend(self.cooling.iter().filter(|(_, since)| !cools(*since)).map(|(address, _)| *address));
        self.cooling.retain(|(_, since)| cools(*since));
    }

    /// Whether two sheets are equal.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.is_besides_addresses(other) && self.held == other.held && self.cooling == other.cooling
    }

    fn is_besides_addresses(&self, other: &Self) -> bool {
        let facts = |paper: &Self| {
            (paper.through, paper.rule, paper.ranges.clone(), paper.next_generation, paper.last)
        };
        facts(self) == facts(other)
    }

    /// Whether a start in the same boot may find this.
    pub(super) fn may_be(&self, found: &Self, now: Moment) -> bool {
        let by_now = |paper: &Self| {
            let mut paper = paper.clone();
            paper.expire(now);
            paper
        };
        by_now(self).is(&by_now(found))
    }

    /// Whether a start in another boot may find this: nobody holds anything, and everything that may have been held
    /// or cooling is cooling from now on.
    pub(super) fn may_be_after_reboot(&self, found: &Self, ended: Moment, now: Moment) -> bool {
        let mut last = self.clone();
        last.expire(ended);
        let mut held: Vec<(Generation, IpAddr)> = last.held.values().copied().collect();
        held.sort_unstable();
        let must: Vec<IpAddr> = last
            .cooling
            .iter()
            .map(|(address, _)| *address)
            .chain(held.iter().map(|(_, address)| *address))
            .collect();
        let is = |(address, _): &(IpAddr, Moment)| must.contains(address).then_some(*address);
        self.is_besides_addresses(found)
            && found.held.is_empty()
            && found.cooling.iter().filter_map(is).collect::<Vec<_>>() == must
            && found.cooling.iter().all(|(address, since)| {
                *since == now && (must.contains(address) || last.cooled.contains(address))
            })
    }
}

/// The address beside this one with another last byte.
fn beside(address: IpAddr, last: u8) -> IpAddr {
    let IpAddr::V4(address) = address else { panic!("{address}") };
    let [a, b, c, _] = address.octets();
    [a, b, c, last].into()
}
