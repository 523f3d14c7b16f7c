//! A policy's answers: definitions and proposals, valid or not, interleaved in any order with other changes of the
//! book.
//!
//! Each byte of the input is a choice. A model tracks the owners, and checks what the book admits.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_ledger::{Book, Defined, Direction, LedgerFact, Shelf, Standing, check_definition};
use tenure_types::{
    AgentName, Allocation, AssignedAddress, Attributes, ClaimName, ContainerId, Cooling, DefinedPool,
    Definer, Definition, InterfaceName, InvalidName, Moment, Need, NetworkConfig, NetworkName, Owner,
    PolicyName, PolicyStamp, Pool, PoolName, Proposal, Range, Request, RequestContext, Sandbox, Supply,
};

use crate::input::Input;

/// Labels of which a question names none, the first, or both.
const SEVERAL: [(&str, &str); 2] = [("zone", "a"), ("interface", "eni-1")];

const COOLDOWN: Duration = Duration::from_secs(1);

/// Defines a network, then proposes, frees, waits and redefines as directed by the bytes.
///
/// # Panics
/// When an address gets two owners, comes from outside its pool, is assigned during its cooldown, or is miscounted.
pub fn policy_answer(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(definition) = definition(&mut input) else { return };
    let (Ok(name), Ok(policy)) = (NetworkName::new("net"), policy()) else { return };
    let book = Book::empty(&name);
    let mut world = World { book, policy, owners: BTreeMap::new(), had: BTreeMap::new(), clock: 0 };
    world.redefine(&definition);
    while !input.is_empty() {
        world.step(&mut input);
        world.check_count();
    }
}

/// A book and the model of it.
struct World {
    book: Book,
    policy: Arc<PolicyStamp>,
    owners: BTreeMap<IpAddr, Owner>,
    /// The addresses that each claim had when it was last released.
    had: BTreeMap<Owner, BTreeSet<IpAddr>>,
    clock: u64,
}

impl World {
    fn now(&self) -> Moment {
        Moment { boot_ns: self.clock * 1_000_000, wall_ms: 0 }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(10) {
            0..=2 => self.propose(input),
            3 => self.release(input),
            4 => {
                self.clock += u64::from(input.byte()) * 8;
                self.book.expire(self.now(), COOLDOWN);
            }
            5 => self.look(input),
            6 => {
                let restored = Book::restore(self.book.image());
                assert!(restored.is_ok(), "a book cannot be restored from its own image: {restored:?}");
                self.book = restored.unwrap_or_else(|_| self.book.clone());
            }
            7 => {
                if let Some(definition) = definition(input) {
                    self.redefine(&definition);
                }
            }
            _ => self.supply(input),
        }
    }

    /// Redefines the network. The book may refuse the definition because of ranges that the host supplies.
    fn redefine(&mut self, definition: &Definition) {
        let config = Arc::new(NetworkConfig::default());
        let defined = Defined { config: &config, definition, by: Definer::Request };
        let Ok(facts) = self.book.redefine(defined, self.now()) else { return };
        facts.iter().for_each(|fact| self.apply(fact));
        let again = self.book.redefine(defined, self.now());
        assert_eq!(again, Ok(Vec::new()), "redefining a network again changes something");
    }

    /// The host adds, drains or withdraws a range.
    fn supply(&mut self, input: &mut Input<'_>) {
        let Ok(pool) = PoolName::new(format!("p{}", input.below(4))) else { return };
        let known = self.book.network().pool_named(&pool);
        let name = known.and_then(|pool| {
            let which = usize::from(input.below(4));
            self.book.ranges(pool).nth(which).map(|view| view.range.name().clone())
        });
        let fact = match (input.below(3), name) {
            (0, _) => range(input).and_then(|range| self.book.supply(&pool, range, self.now()).ok()),
            (1, Some(name)) => self.book.drain(&pool, &name, input.below(2) == 0, self.now()).ok().flatten(),
            (2, Some(name)) => self.book.withdraw(&pool, &name, self.now()).ok().flatten(),
            _ => None,
        };
        if let Some(fact) = fact {
            self.apply(&fact);
        }
    }

    fn propose(&mut self, input: &mut Input<'_>) {
        let Ok(owner) = owner(input) else { return };
        let requested: Vec<IpAddr> = (0..input.below(3)).map(|_| self.address(input)).collect();
        let proposed = (0..input.below(4)).map(|_| (usize::from(input.below(4)), self.address(input)));
        let proposal = Proposal::of(proposed.collect::<Vec<_>>());
        let request = Request {
            network: self.book.network().name.clone(),
            owner,
            requested,
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: self.now(),
        };
        let Ok(allocation) = self.book.admit(&request, &proposal, &self.policy, self.now()) else { return };
        self.check_admitted(&request, &allocation);
        for assigned in &allocation.addresses {
            self.owners.insert(assigned.ip(), allocation.owner.clone());
        }
        self.apply(&LedgerFact::Allocated(Arc::new(allocation)));
    }

    /// After any proposal, an allocation has at most one address from each pool, and none that is in use or
    /// reserved.
    fn check_admitted(&self, request: &Request, allocation: &Allocation) {
        assert!(
            !self.owners.values().any(|owner| *owner == request.owner),
            "an owner got a second allocation"
        );
        let from = |pool: &Pool| {
            let of = |assigned: &&AssignedAddress| assigned.source.pool.as_ref() == Some(&pool.name);
            allocation.addresses.iter().filter(of).count()
        };
        for pool in self.book.pools() {
            let count = from(pool);
            assert!(count <= 1, "{count} addresses from pool {}", pool.name);
            assert!(count == 1 || pool.need == Need::Optional, "no address from pool {}", pool.name);
        }
        assert!(!allocation.addresses.is_empty(), "an allocation without an address");
        for assigned in &allocation.addresses {
            self.check_assigned(request, assigned);
        }
        for wanted in &request.requested {
            assert!(allocation.addresses.iter().any(|assigned| assigned.ip() == *wanted));
        }
    }

    fn check_assigned(&self, request: &Request, assigned: &AssignedAddress) {
        let address = assigned.ip();
        assert!(!self.owners.contains_key(&address), "I1: {address} has two owners");
        let index = assigned.source.pool.as_ref().and_then(|pool| self.book.network().pool_named(pool));
        let mut ranges = index.into_iter().flat_map(|index| self.book.ranges(index));
        let view = ranges.find(|view| view.range.first() <= address && address <= view.range.last());
        assert!(view.is_some(), "I4: {address} is outside its pool's ranges");
        let (Some(view), Some(index)) = (view, index) else { return };
        let range = view.range;
        assert!(!view.draining, "{address} is from a draining range");
        assert!(range.subnet().contains(&address), "I4: {address} is outside its subnet");
        assert_ne!(range.gateway(), Some(address), "a gateway was assigned");
        assert_eq!(assigned.gateway(), range.gateway());
        assert_eq!(assigned.source.range.as_ref(), Some(range.name()));
        assert_eq!(IpNet::new(address, range.prefix_length()), Ok(assigned.address));
        if self.book.cooling_since(address).is_some() {
            let is_full = |shelf: Shelf<'_>| self.book.free(shelf, None, Direction::Ascending, 1).is_empty();
            let mut labels =
                range.attributes().iter().map(|(name, value)| Shelf::labelled(index, name, value));
            let nothing_else = is_full(Shelf::whole(index)) || labels.any(is_full);
            let had_last = self.had.get(&request.owner).is_some_and(|had| had.contains(&address));
            let yields = nothing_else || had_last || request.requested.contains(&address);
            assert_eq!(self.book.network().cooling, Cooling::Preferred, "{address} is still cooling down");
            assert!(yields, "{address} is still cooling down");
        }
    }

    fn release(&mut self, input: &mut Input<'_>) {
        let Ok(owner) = owner(input) else { return };
        let fact = self.book.release(&owner, self.now(), "del");
        let held = self.owners.values().any(|other| *other == owner);
        assert_eq!(fact.is_some(), held, "the book and the model disagree about {owner}");
        let Some(fact) = fact else { return };
        self.apply(&fact);
        if let Owner::Claim { .. } = owner {
            let had = self.owners.iter().filter(|(_, other)| **other == owner).map(|(address, _)| *address);
            self.had.insert(owner.clone(), had.collect());
        }
        self.owners.retain(|address, other| {
            let freed = *other == owner;
            assert!(!freed || self.book.cooling_since(*address).is_some(), "{address} is not cooling down");
            !freed
        });
    }

    /// Addresses that a policy is shown as free are free.
    fn look(&self, input: &mut Input<'_>) {
        let pool = usize::from(input.below(4));
        let after = (input.below(2) == 1).then(|| self.address(input));
        let direction = if input.below(2) == 0 { Direction::Ascending } else { Direction::Descending };
        let limit = usize::from(input.byte());
        let labels = usize::from(input.below(3));
        let shelf = Shelf::of(pool, SEVERAL.get(..labels).unwrap_or_default());
        let free = self.book.free(shelf, after, direction, limit);
        let distinct: BTreeSet<&IpAddr> = free.iter().collect();
        assert!(free.len() <= limit && distinct.len() == free.len(), "{free:?}");
        assert!(free.iter().all(|address| self.book.standing(*address) == Standing::Free));
        let in_shelf = |address: &IpAddr| {
            let (of, range) = self.book.locate(*address)?;
            Some(of == pool && shelf.has(range))
        };
        assert!(free.iter().all(|address| in_shelf(address) == Some(true)), "{free:?}");
        let cooling = self.book.cooling(shelf, limit);
        assert!(cooling.iter().all(|address| self.book.standing(*address) == Standing::Cooling));
    }

    fn apply(&mut self, fact: &LedgerFact) {
        let outcome = self.book.apply(self.book.through() + 1, fact);
        assert_eq!(outcome, Ok(()), "the book refuses its own fact");
    }

    fn check_count(&self) {
        for (address, owner) in &self.owners {
            let holder = self.book.holder(*address).map(|allocation| &allocation.owner);
            assert_eq!(holder, Some(owner), "{address} has another owner");
        }
        for pool in 0..self.book.pools().len() {
            self.check_shelf(Shelf::whole(pool));
            self.check_shelf(Shelf::labelled(pool, "zone", "a"));
            self.check_shelf(Shelf::of(pool, &SEVERAL));
        }
    }

    /// Compares a shelf's usage with a count address by address.
    fn check_shelf(&self, shelf: Shelf<'_>) {
        let ranges: Vec<&Range> = self
            .book
            .ranges(shelf.pool)
            .filter(|view| !view.draining)
            .map(|view| view.range)
            .filter(|range| shelf.has(range))
            .collect();
        let is_in = |address: &IpAddr| ranges.iter().any(|range| range.contains(*address));
        let usage = self.book.usage(shelf);
        let held = self.owners.keys().filter(|address| is_in(address)).count();
        assert_eq!(usize::try_from(usage.held), Ok(held), "{shelf:?} is miscounted");
        let cooling = self.book.cooling_addresses().filter(|(address, _)| is_in(address)).count();
        assert_eq!(usize::try_from(usage.cooling), Ok(cooling), "{shelf:?} is miscounted");
        let total = ranges.iter().fold(0, |total: u128, range| total.saturating_add(range.count()));
        assert_eq!(usage.total, u32::try_from(total).unwrap_or(u32::MAX), "{shelf:?} is miscounted");
    }

    /// An address near the beginning of a range, or any address.
    fn address(&self, input: &mut Input<'_>) -> IpAddr {
        let mut ranges = (0..self.book.pools().len()).flat_map(|pool| self.book.ranges(pool));
        let choice = usize::from(input.below(8));
        let Some(range) = ranges.nth(choice).map(|view| view.range) else { return input.address() };
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
    let pools = (0..input.below(4)).filter_map(|index| {
        let name = PoolName::new(format!("p{index}")).ok()?;
        let need = if input.below(3) == 0 { Need::Optional } else { Need::Always };
        let supply = if input.below(3) == 0 { Supply::Host } else { Supply::Configuration };
        let ranges: Vec<Range> = match supply {
            Supply::Host => Vec::new(),
            Supply::Configuration => (0..input.below(4)).filter_map(|_| range(input)).collect(),
        };
        Some(DefinedPool { pool: Pool { supply, need, ..Pool::new(name) }, ranges })
    });
    let definition = Definition { pools: pools.collect(), cooling, ..Definition::default() };
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
    // Usually the subnet's prefix length; sometimes any byte, as a policy may return.
    let prefix_length = if input.below(4) == 0 { input.byte() } else { subnet.prefix_len() };
    let range = Range::new(subnet, first, last, gateway, prefix_length).ok()?;
    let zone = ["a", "b"].get(usize::from(input.below(3)));
    Some(range.with(Attributes::new(zone.map(|zone| ("zone", *zone))).ok()?))
}

/// One of sixteen owners. Every fourth is a claim, which has a lasting name.
fn owner(input: &mut Input<'_>) -> Result<Owner, InvalidName> {
    let number = input.below(16);
    Ok(if number % 4 == 3 {
        Owner::Claim { agent: AgentName::new("agent")?, name: ClaimName::new(format!("c{number}"))? }
    } else {
        Owner::Attachment {
            container: ContainerId::new(format!("c{number}"))?,
            interface: InterfaceName::new("eth0")?,
        }
    })
}

fn policy() -> Result<Arc<PolicyStamp>, InvalidName> {
    Ok(Arc::new(PolicyStamp { name: PolicyName::new("fuzzed")?, digest: "00".into() }))
}
