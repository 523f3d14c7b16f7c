mod longer;
mod model;
mod outline;
mod prefixes;
mod quarantined;
mod restored;
mod returning;
mod walks;

use std::net::IpAddr;
use std::time::Duration;

use tenure_types::{
    AssignedAddress, Attributes, ContainerId, Cooling, DefinedPool, Definer, Definition, InterfaceName, Need,
    PodIdentity, PolicyName, PolicyStamp, PoolName, Proposal, Range, RangeName, Request, RequestContext,
    Sandbox,
};

use super::*;
use crate::books::{Conflict, Image};
use crate::{Defined, Direction, Shelf, Standing, Usage, Violation};

const COOLDOWN: Duration = Duration::from_secs(30);

fn at(ms: u64) -> Moment {
    Moment { boot_ns: ms * 1_000_000, wall_ms: 0 }
}

fn owner(number: u32) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(format!("c{number}")).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([192, 168, 1, last])
}

fn stamp() -> Arc<PolicyStamp> {
    Arc::new(PolicyStamp { name: PolicyName::new("test").unwrap(), digest: "00".into() })
}

fn name() -> NetworkName {
    NetworkName::new("net").unwrap()
}

/// One /29: .2 to .6, with the gateway .1.
fn slash_29() -> Range {
    Range::new("192.168.1.0/29".parse().unwrap(), ip(1), ip(6), Some(ip(1)), 29).unwrap()
}

/// A book of configuration-supplied pools with these ranges.
fn book_of(cooling: Cooling, pools: Vec<Vec<Range>>) -> Book {
    let mut book = Book::empty(&name());
    define(&mut book, cooling, pools);
    book
}

fn define(book: &mut Book, cooling: Cooling, pools: Vec<Vec<Range>>) {
    let pools = pools.into_iter().enumerate();
    let pools = pools.map(|(index, ranges)| DefinedPool { pool: Pool::numbered(index), ranges });
    define_pools(book, cooling, pools.collect());
}

fn define_pools(book: &mut Book, cooling: Cooling, pools: Vec<DefinedPool>) {
    let definition = Definition { pools, cooling, ..Definition::default() };
    let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
    for fact in book.redefine(defined, at(0)).unwrap() {
        book.apply(book.through() + 1, &fact).unwrap();
    }
}

/// A book of one pool with one /29.
fn small(cooling: Cooling) -> Book {
    book_of(cooling, vec![vec![slash_29()]])
}

fn request(owner: Owner, requested: &[IpAddr], ms: u64) -> Request {
    let sandbox = Sandbox::default();
    Request {
        network: name(),
        owner,
        requested: requested.to_vec(),
        sandbox,
        supply_full: false,
        context: RequestContext::default(),
        requested_at: at(ms),
    }
}

fn propose(book: &Book, number: u32, address: IpAddr) -> Result<LedgerFact, Violation> {
    let proposal = Proposal::of([(0, address)]);
    let allocation = book.admit(&request(owner(number), &[], 0), &proposal, &stamp(), at(0))?;
    Ok(LedgerFact::Allocated(Arc::new(allocation)))
}

fn give(book: &mut Book, number: u32, address: IpAddr) {
    let fact = propose(book, number, address).unwrap();
    book.apply(book.through() + 1, &fact).unwrap();
}

fn free(book: &mut Book, number: u32, ms: u64) {
    let fact = book.release(&owner(number), at(ms), "del").unwrap();
    book.apply(book.through() + 1, &fact).unwrap();
}

#[test]
fn an_address_stands_as_what_it_is_and_cools_in_its_own_pool() {
    let range = Range::new(
        "192.168.2.0/29".parse().unwrap(),
        [192, 168, 2, 1].into(),
        [192, 168, 2, 6].into(),
        None,
        29,
    );
    let other = IpAddr::from([192, 168, 2, 1]);
    let mut book = book_of(Cooling::Strict, vec![vec![slash_29()], vec![range.unwrap()]]);
    assert_eq!(
        [ip(1), ip(7), ip(2)].map(|address| book.standing(address)),
        [Standing::Reserved, Standing::Outside, Standing::Free]
    );
    let proposal = Proposal::of([(0, ip(2)), (1, other)]);
    let allocation = book.admit(&request(owner(1), &[], 0), &proposal, &stamp(), at(0)).unwrap();
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
    assert_eq!(book.standing(other), Standing::Held);
    free(&mut book, 1, 0);
    assert_eq!(
        (book.cooling(Shelf::whole(0), 9), book.cooling(Shelf::whole(1), 9)),
        (vec![ip(2)], vec![other])
    );
}

#[test]
fn every_lie_is_refused() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    assert_eq!(propose(&book, 2, ip(2)), Err(Violation::Held(ip(2), owner(1))));
    assert_eq!(propose(&book, 2, ip(1)), Err(Violation::Reserved(ip(1), "the gateway")));
    assert_eq!(propose(&book, 2, ip(7)), Err(Violation::Outside(ip(7), "0".into())));
    let v6 = "2001:db8::2".parse().unwrap();
    assert_eq!(propose(&book, 2, v6), Err(Violation::Outside(v6, "0".into())));
    assert_eq!(propose(&book, 1, ip(3)), Err(Violation::OwnerHolds(owner(1), Generation(1))));
    let admit = |addresses: Vec<(usize, IpAddr)>, requested: &[IpAddr]| {
        book.admit(&request(owner(2), requested, 0), &Proposal::of(addresses), &stamp(), at(0))
    };
    let pool = PoolName::new("0").unwrap();
    assert_eq!(admit(vec![], &[]), Err(Violation::PoolMissing(pool.clone())));
    assert_eq!(admit(vec![(0, ip(3)), (0, ip(4))], &[]), Err(Violation::PoolTwice(pool)));
    assert_eq!(admit(vec![(0, ip(3)), (9, ip(4))], &[]), Err(Violation::NoSuchPool(9, 1)));
    assert_eq!(admit(vec![(0, ip(3))], &[ip(4)]), Err(Violation::RequestIgnored(ip(4))));
    let rules = [admit(vec![], &[]), admit(vec![(0, ip(2))], &[])].map(|refused| refused.unwrap_err().rule());
    assert_eq!(rules, ["pool-missing", "held"], "the names by which they are counted stay");
}

#[test]
fn a_check_is_as_strict_as_an_admission_but_for_the_owners_own_addresses() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    let check = |number, address| book.check(&request(owner(number), &[], 0), &Proposal::of([(0, address)]));
    assert_eq!(check(1, ip(3)), Ok(()), "as if it had none");
    assert_eq!(check(2, ip(2)), Err(Violation::Held(ip(2), owner(1))));
    assert_eq!(check(2, ip(7)), Err(Violation::Outside(ip(7), "0".into())));
}

#[test]
fn allocations_are_paged_by_generation() {
    let mut book = small(Cooling::Strict);
    (2..6).for_each(|last| give(&mut book, last.into(), ip(last)));
    let after = |generation| {
        let found = book.allocations_after(Generation(generation)).map(|allocation| allocation.generation.0);
        found.collect::<Vec<_>>()
    };
    assert_eq!((after(0), after(2), after(4)), (vec![1, 2, 3, 4], vec![3, 4], vec![]));
}

#[test]
fn an_import_is_known_until_it_ends() {
    let mut book = small(Cooling::Strict);
    let mut told = vec![book.is_importing()];
    for under_way in [true, false] {
        let fact = LedgerFact::Importing { network: name(), under_way, at: at(1) };
        book.apply(book.through() + 1, &fact).unwrap();
        told.push(book.is_importing());
    }
    assert_eq!(told, [false, true, false]);
}

#[test]
fn ends_of_the_subnet_are_never_handed_out_even_inside_the_range() {
    let whole = Range::new("192.168.1.0/29".parse().unwrap(), ip(0), ip(7), None, 29).unwrap();
    let book = book_of(Cooling::Strict, vec![vec![whole]]);
    assert_eq!(propose(&book, 1, ip(0)), Err(Violation::Reserved(ip(0), "the network address")));
    assert_eq!(propose(&book, 1, ip(7)), Err(Violation::Reserved(ip(7), "the broadcast address")));
    assert_eq!(book.free(Shelf::whole(0), None, Direction::Ascending, 9), [1, 2, 3, 4, 5, 6].map(ip));
}

#[test]
fn a_freed_address_cools() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    free(&mut book, 1, 1_000);
    assert_eq!(book.standing(ip(2)), Standing::Cooling);
    assert_eq!(propose(&book, 2, ip(2)), Err(Violation::Cooling(ip(2))));
    assert!(!book.has_expired(at(30_999), COOLDOWN));
    book.expire(at(30_999), COOLDOWN);
    assert_eq!(book.standing(ip(2)), Standing::Cooling);
    assert!(book.has_expired(at(31_000), COOLDOWN));
    book.expire(at(31_000), COOLDOWN);
    assert_eq!(book.standing(ip(2)), Standing::Free);
    give(&mut book, 2, ip(2));
}

#[test]
fn a_network_may_have_a_longer_cooldown_than_the_node_and_no_shorter_one() {
    let mut book = Book::empty(&name());
    let of = |book: &mut Book, seconds: &str| {
        let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![slash_29()] }];
        let attributes = Attributes::new([("cooldownSeconds", seconds)]).unwrap();
        let definition = Definition { pools, attributes, ..Definition::default() };
        let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
        for fact in book.redefine(defined, at(0)).unwrap() {
            book.apply(book.through() + 1, &fact).unwrap();
        }
        book.cooldown(COOLDOWN).as_secs()
    };
    assert_eq!((of(&mut book, "10"), of(&mut book, "60")), (30, 60));
    give(&mut book, 1, ip(2));
    free(&mut book, 1, 0);
    for (now, standing) in [(59_999, Standing::Cooling), (60_000, Standing::Free)] {
        assert_eq!(book.has_expired(at(now), COOLDOWN), standing == Standing::Free);
        book.expire(at(now), COOLDOWN);
        assert_eq!(book.standing(ip(2)), standing);
    }
}

#[test]
fn where_cooling_is_a_preference_it_yields_to_need_and_to_a_wish() {
    let mut book = small(Cooling::Preferred);
    for number in 2..=6 {
        give(&mut book, number, ip(u8::try_from(number).unwrap()));
    }
    free(&mut book, 5, 10);
    free(&mut book, 3, 20);
    assert_eq!(book.cooling(Shelf::whole(0), 9), [5, 3].map(ip), "least recently freed first");
    give(&mut book, 15, ip(5));
    free(&mut book, 4, 30);
    book.expire(at(30_020), COOLDOWN);
    assert_eq!(book.free(Shelf::whole(0), None, Direction::Ascending, 9), [ip(3)]);
    assert_eq!(propose(&book, 16, ip(4)), Err(Violation::Cooling(ip(4))), "another address is free");
    let wish = request(owner(16), &[ip(4)], 0);
    let proposal = Proposal::of([(0, ip(4))]);
    assert!(book.admit(&wish, &proposal, &stamp(), at(0)).is_ok());
}

#[test]
fn live_allocations_survive_a_narrower_definition() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    give(&mut book, 2, ip(4));
    let range = Range::new("192.168.1.0/29".parse().unwrap(), ip(4), ip(6), Some(ip(1)), 29).unwrap();
    define(&mut book, Cooling::Strict, vec![vec![range]]);
    let held = book.owned_by(&owner(1)).unwrap();
    assert!(book.is_outside(held));
    assert!(!book.is_outside(book.owned_by(&owner(2)).unwrap()));
    assert_eq!(book.standing(ip(2)), Standing::Held);
    assert_eq!(book.usage(Shelf::whole(0)), Usage { total: 3, held: 1, cooling: 0 });
}

#[test]
fn a_definition_with_the_same_pools_leaves_their_use_as_it_is() {
    let mut book = small(Cooling::Strict);
    for (number, last) in (1..).zip(2..7) {
        give(&mut book, number, ip(last));
    }
    free(&mut book, 2, 5);
    let use_of = |book: &Book| {
        let pool = Shelf::whole(0);
        (book.usage(pool), book.last(pool), book.free(pool, None, Direction::Ascending, 9))
    };
    let (before, again) = (use_of(&book), request(owner(9), &[], 0));
    let admit = |book: &Book| book.admit(&again, &Proposal::of([(0, ip(3))]), &stamp(), at(6)).is_ok();
    assert!(!admit(&book), "the address cools");
    define(&mut book, Cooling::Preferred, vec![vec![slash_29()]]);
    assert!(admit(&book), "the rest of the definition is new");
    for book in [&book, &Book::restore(book.image()).unwrap()] {
        assert_eq!(use_of(book), before);
    }
}

#[test]
fn contradictions_are_refused_and_change_nothing() {
    let mut book = small(Cooling::Strict);
    let fact = propose(&book, 1, ip(2)).unwrap();
    let place = book.through() + 1;
    book.apply(place, &fact).unwrap();
    let before = book.image();
    assert_eq!(book.apply(place, &fact), Ok(()), "a fact applied before");
    assert_eq!(book.apply(place + 1, &fact), Err(Conflict::Generation(Generation(1))));
    let LedgerFact::Allocated(twice) = fact else { panic!() };
    let mut twice = twice.as_ref().clone();
    twice.generation = Generation(2);
    assert_eq!(
        book.apply(place + 1, &LedgerFact::Allocated(Arc::new(twice.clone()))),
        Err(Conflict::Owner(owner(1), Generation(2)))
    );
    twice.owner = owner(2);
    assert_eq!(
        book.apply(place + 1, &LedgerFact::Allocated(Arc::new(twice))),
        Err(Conflict::Address(ip(2), Generation(1), Generation(2)))
    );
    let (network, pool) = (name(), PoolName::new("0").unwrap());
    let unknown = LedgerFact::Released {
        network: network.clone(),
        generation: Generation(9),
        at: at(0),
        reason: "del".into(),
    };
    assert_eq!(book.apply(place + 1, &unknown), Err(Conflict::Unknown(Generation(9))));
    let apart = Range::new(
        "192.168.2.0/29".parse().unwrap(),
        [192, 168, 2, 1].into(),
        [192, 168, 2, 6].into(),
        None,
        29,
    );
    let same_name = apart.unwrap().named(slash_29().name().clone());
    let same_addresses = slash_29().named(RangeName::new("other").unwrap());
    for range in [slash_29(), same_name, same_addresses] {
        let (network, pool, range) = (network.clone(), pool.clone(), Box::new(range));
        let again = LedgerFact::RangeAdded { network, pool, range, at: at(0) };
        assert!(matches!(book.apply(place + 1, &again), Err(Conflict::Range(..))));
    }
    let range = RangeName::new("none").unwrap();
    let none = LedgerFact::RangeRemoved { network: network.clone(), pool, range, at: at(0) };
    assert!(matches!(book.apply(place + 1, &none), Err(Conflict::Range(..))));
    let removed = LedgerFact::Removed { network, at: at(0) };
    assert_eq!(book.apply(place + 1, &removed), Err(Conflict::Held(Generation(1))));
    assert_eq!(book.image(), before);
}

#[test]
fn a_snapshot_with_a_generation_twice_is_refused() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    give(&mut book, 2, ip(3));
    let mut image = book.image();
    let twice = Allocation { generation: Generation(1), ..image.allocations[1].as_ref().clone() };
    image.allocations[1] = Arc::new(twice);
    assert_eq!(Book::restore(image).err(), Some(Conflict::Generation(Generation(1))));
}

/// Assigns an address to a pod of a namespace, with a tag.
fn give_pod(book: &mut Book, number: u32, namespace: &str, address: IpAddr) {
    let pod = PodIdentity {
        namespace: namespace.into(),
        name: format!("pod-{number}").into(),
        uid: Box::default(),
    };
    let sandbox = Sandbox { pod: Some(pod), ..Sandbox::default() };
    let request = Request { sandbox, ..request(owner(number), &[], 0) };
    let tags = Attributes::new([("team", "red")]).unwrap();
    let proposal = Proposal { tags, ..Proposal::of([(0, address)]) };
    let allocation = book.admit(&request, &proposal, &stamp(), at(0)).unwrap();
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
}

#[test]
fn what_allocations_carry_is_counted_and_what_a_name_had_is_remembered() {
    let mut book = small(Cooling::Strict);
    give_pod(&mut book, 1, "a", ip(2));
    give_pod(&mut book, 2, "a", ip(3));
    give(&mut book, 3, ip(4));
    for book in [&book, &Book::restore(book.image()).unwrap()] {
        let counts =
            [("pod.namespace", "a"), ("pod.namespace", "b"), ("owner.kind", "attachment"), ("team", "red")];
        assert_eq!(counts.map(|(name, value)| book.count(name, value)), [2, 0, 3, 2]);
    }
    assert_eq!(book.last_of("a/pod-1"), []);
    free(&mut book, 1, 5);
    let pool = PoolName::new("0").unwrap();
    for book in [&book, &Book::restore(book.image()).unwrap()] {
        assert_eq!((book.count("pod.namespace", "a"), book.count("team", "red")), (1, 1));
        assert_eq!(book.last_of("a/pod-1"), [(pool.clone(), ip(2))]);
    }
    book.enter_boot(at(6)).unwrap();
    assert_eq!(book.last_of("a/pod-2"), [(pool, ip(3))], "also of an allocation that ended at reboot");
    assert_eq!(book.count("owner.kind", "attachment"), 0);
}

#[test]
fn a_tag_has_no_name_of_the_hosts() {
    let book = small(Cooling::Strict);
    let tags = Attributes::new([("pod.namespace", "other")]).unwrap();
    let proposal = Proposal { tags, ..Proposal::of([(0, ip(2))]) };
    let admitted = book.admit(&request(owner(1), &[], 0), &proposal, &stamp(), at(0));
    assert_eq!(admitted, Err(Violation::HostsName("pod.namespace".into())));
}

#[test]
fn a_pool_that_not_every_grant_needs_may_be_left_out() {
    let range = |third: u8| {
        let subnet = format!("10.0.{third}.0/29").parse().unwrap();
        Range::new(subnet, [10, 0, third, 1].into(), [10, 0, third, 6].into(), None, 29).unwrap()
    };
    let optional = |text: &str| Pool { need: Need::Optional, ..Pool::new(PoolName::new(text).unwrap()) };
    let zones = ["a", "b"].into_iter().zip(1..);
    let mut pools: Vec<_> =
        zones.map(|(zone, third)| DefinedPool { pool: optional(zone), ranges: vec![range(third)] }).collect();
    let mut book = Book::empty(&name());
    define_pools(&mut book, Cooling::Strict, pools.clone());
    let admit = |book: &Book, addresses: Vec<(usize, IpAddr)>| {
        book.admit(&request(owner(1), &[], 0), &Proposal::of(addresses), &stamp(), at(0)).map(|held| {
            let of = |assigned: &AssignedAddress| (assigned.source.pool.clone(), assigned.ip());
            held.addresses.iter().map(of).collect::<Vec<_>>()
        })
    };
    let (a, b) = (IpAddr::from([10, 0, 1, 1]), IpAddr::from([10, 0, 2, 1]));
    let pool = |text: &str| Some(PoolName::new(text).unwrap());
    assert_eq!(admit(&book, vec![(1, b)]), Ok(vec![(pool("b"), b)]));
    assert_eq!(admit(&book, vec![(1, b), (0, a)]), Ok(vec![(pool("a"), a), (pool("b"), b)]));
    assert_eq!(admit(&book, vec![]), Err(Violation::NoAddress));
    assert_eq!(admit(&book, vec![(0, b)]), Err(Violation::Outside(b, "a".into())));
    pools[0].pool.need = Need::Always;
    define_pools(&mut book, Cooling::Strict, pools);
    assert_eq!(admit(&book, vec![(1, b)]), Err(Violation::PoolMissing(pool("a").unwrap())));
}
