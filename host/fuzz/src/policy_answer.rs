//! What a policy answers: definitions and proposals, truthful or not, in any order with what else happens to a book.
//!
//! The input is bytes, each a choice. A model beside the book knows who owns what, and is asked whether what the book
//! admitted was right.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_ledger::{Book, Direction, Standing, check_definition};
use tenure_types::{
    Allocation, ContainerId, Cooling, Definition, InterfaceName, InvalidName, Moment, Network, NetworkConfig,
    NetworkName, Owner, PolicyName, PolicyStamp, Pool, Proposal, Range, Record, Request,
};

use crate::input::Input;

const COOLDOWN: Duration = Duration::from_secs(1);

/// Defines a network and then proposes, frees, waits and redefines as the bytes say.
///
/// # Panics
/// When an address gets two owners, comes from outside its pool or before its time, or the book loses count.
pub fn policy_answer(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(definition) = definition(&mut input) else { return };
    let Ok(network) = network(definition) else { return };
    let mut world = World { book: Book::new(network), owners: BTreeMap::new(), clock: 0 };
    while !input.is_empty() {
        world.step(&mut input);
        world.check_count();
    }
}

/// A book and what we know about it.
struct World {
    book: Book,
    owners: BTreeMap<IpAddr, Owner>,
    clock: u64,
}

impl World {
    fn now(&self) -> Moment {
        Moment { boot_ns: self.clock * 1_000_000, wall_ms: 0 }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(8) {
            0..=2 => self.propose(input),
            3 => self.release(input),
            4 => {
                self.clock += u64::from(input.byte()) * 8;
                self.book.expire(self.now(), COOLDOWN);
            }
            5 => self.look(input),
            6 => {
                let restored = Book::restore(self.book.image());
                assert!(restored.is_ok(), "a book's own image is refused: {restored:?}");
                self.book = restored.unwrap_or_else(|_| self.book.clone());
            }
            _ => {
                let Some(Ok(network)) = definition(input).map(network) else { return };
                self.apply(&Record::Network(Box::new(network)));
            }
        }
    }

    fn propose(&mut self, input: &mut Input<'_>) {
        let Ok(owner) = owner(input) else { return };
        let requested: Vec<IpAddr> = (0..input.below(3)).map(|_| self.address(input)).collect();
        let proposed = (0..input.below(4)).map(|_| (usize::from(input.below(4)), self.address(input)));
        let proposal = Proposal { addresses: proposed.collect() };
        let request = Request {
            network: self.book.network().name.clone(),
            owner,
            requested,
            pod: None,
            netns: String::new(),
            netns_seen: None,
            requested_at: self.now(),
        };
        let policy = self.book.network().policy.clone();
        let Ok(allocation) = self.book.admit(&request, &proposal, &policy, self.now()) else { return };
        self.check_admitted(&request, &allocation);
        for assigned in &allocation.addresses {
            self.owners.insert(assigned.address.addr(), allocation.owner.clone());
        }
        self.apply(&Record::Allocate(Arc::new(allocation)));
    }

    /// Whatever the policy proposed: each pool gives one address of its own, that is nobody's and nothing else's.
    fn check_admitted(&self, request: &Request, allocation: &Allocation) {
        let definition = &self.book.network().definition;
        assert_eq!(allocation.addresses.len(), definition.pools.len(), "not one address for each pool");
        assert!(
            !self.owners.values().any(|owner| *owner == request.owner),
            "an owner got a second allocation"
        );
        for (index, (pool, assigned)) in definition.pools.iter().zip(&allocation.addresses).enumerate() {
            let address = assigned.address.addr();
            assert!(!self.owners.contains_key(&address), "I1: {address} has two owners");
            let range = pool.ranges.iter().find(|range| range.first() <= address && address <= range.last());
            assert!(range.is_some(), "I4: {address} is outside pool {index}");
            let Some(range) = range else { continue };
            assert!(range.subnet().contains(&address), "I4: {address} is outside its subnet");
            assert_ne!(range.gateway(), Some(address), "a gateway was given away");
            assert_eq!(assigned.gateway, range.gateway());
            assert_eq!(IpNet::new(address, range.prefix_length()), Ok(assigned.address));
            if self.book.cooling_since(address).is_some() {
                let nothing_else = self.book.free(index, None, Direction::Ascending, 1).is_empty();
                assert_eq!(definition.cooling, Cooling::Preferred, "{address} still cools");
                assert!(nothing_else || request.requested.contains(&address), "{address} still cools");
            }
        }
        for wanted in &request.requested {
            assert!(allocation.addresses.iter().any(|assigned| assigned.address.addr() == *wanted));
        }
    }

    fn release(&mut self, input: &mut Input<'_>) {
        let Ok(owner) = owner(input) else { return };
        let record = self.book.release(&owner, self.now(), "del");
        let held = self.owners.values().any(|other| *other == owner);
        assert_eq!(record.is_some(), held, "the book and the model disagree about {owner}");
        let Some(record) = record else { return };
        self.apply(&record);
        self.owners.retain(|address, other| {
            let freed = *other == owner;
            assert!(!freed || self.book.cooling_since(*address).is_some(), "{address} does not cool");
            !freed
        });
    }

    /// What a policy is shown as free is free.
    fn look(&self, input: &mut Input<'_>) {
        let pool = usize::from(input.below(4));
        let after = (input.below(2) == 1).then(|| self.address(input));
        let direction = if input.below(2) == 0 { Direction::Ascending } else { Direction::Descending };
        let limit = usize::from(input.byte());
        let free = self.book.free(pool, after, direction, limit);
        let distinct: BTreeSet<&IpAddr> = free.iter().collect();
        assert!(free.len() <= limit && distinct.len() == free.len(), "{free:?}");
        assert!(free.iter().all(|address| self.book.standing(*address) == Standing::Free));
        let cooling = self.book.cooling(pool, limit);
        assert!(cooling.iter().all(|address| self.book.standing(*address) == Standing::Cooling));
    }

    fn apply(&mut self, record: &Record) {
        let outcome = self.book.apply(self.book.through() + 1, record);
        assert_eq!(outcome, Ok(()), "the book refuses its own record");
    }

    fn check_count(&self) {
        for (address, owner) in &self.owners {
            let holder = self.book.holder(*address).map(|allocation| &allocation.owner);
            assert_eq!(holder, Some(owner), "{address} has changed hands");
        }
        for pool in 0..self.book.network().definition.pools.len() {
            let held =
                self.owners.keys().filter(|address| self.book.pool_of(**address) == Some(pool)).count();
            assert_eq!(usize::try_from(self.book.usage(pool).held), Ok(held), "pool {pool} is miscounted");
            let cooling = self.book.cooling_addresses();
            let cooling = cooling.filter(|(address, _)| self.book.pool_of(*address) == Some(pool)).count();
            assert_eq!(
                usize::try_from(self.book.usage(pool).cooling),
                Ok(cooling),
                "pool {pool} is miscounted"
            );
        }
    }

    /// An address near the beginning of a range, or any.
    fn address(&self, input: &mut Input<'_>) -> IpAddr {
        let ranges = || self.book.network().definition.pools.iter().flat_map(|pool| &pool.ranges);
        let choice = usize::from(input.below(8));
        let Some(range) = ranges().nth(choice) else { return input.address() };
        let offset = input.byte();
        match range.first() {
            IpAddr::V4(first) => IpAddr::from(first.to_bits().wrapping_add(offset.into()).to_be_bytes()),
            IpAddr::V6(first) => IpAddr::from(first.to_bits().wrapping_add(offset.into()).to_be_bytes()),
        }
    }
}

/// A definition that the host accepts.
fn definition(input: &mut Input<'_>) -> Option<Definition> {
    let cooling = if input.below(2) == 0 { Cooling::Strict } else { Cooling::Preferred };
    let pools = (0..input.below(4)).map(|_| {
        let ranges = (0..input.below(4)).filter_map(|_| range(input));
        Pool { ranges: ranges.collect() }
    });
    let definition = Definition { pools: pools.collect(), cooling };
    check_definition(&definition).ok()?;
    let ranges: Vec<&Range> = definition.pools.iter().flat_map(|pool| &pool.ranges).collect();
    for (index, range) in ranges.iter().enumerate() {
        let apart = |other: &&Range| range.last() < other.first() || other.last() < range.first();
        assert!(ranges.iter().skip(index + 1).all(apart), "ranges overlap: {definition:?}");
    }
    Some(definition)
}

fn range(input: &mut Input<'_>) -> Option<Range> {
    let [first, last] = [input.address(), input.address()];
    let bits = if first.is_ipv4() { 32 } else { 128 };
    let subnet = IpNet::new(first, bits - input.below(bits + 1).min(bits)).ok()?.trunc();
    let gateway = (input.below(2) == 1).then(|| input.address());
    // Most prefix lengths are the subnet's own; any byte may come from a policy.
    let prefix_length = if input.below(4) == 0 { input.byte() } else { subnet.prefix_len() };
    Range::new(subnet, first, last, gateway, prefix_length).ok()
}

fn owner(input: &mut Input<'_>) -> Result<Owner, InvalidName> {
    Ok(Owner::Attachment {
        container: ContainerId::new(format!("c{}", input.below(16)))?,
        interface: InterfaceName::new("eth0")?,
    })
}

fn network(definition: Definition) -> Result<Network, InvalidName> {
    Ok(Network {
        name: NetworkName::new("net")?,
        policy: PolicyStamp { name: PolicyName::new("fuzzed")?, digest: "00".into() },
        activated: false,
        config: NetworkConfig::default(),
        definition,
        changed_at: None,
        importing: false,
    })
}
