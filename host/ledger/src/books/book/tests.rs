use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;
use tenure_types::{
    AssignedAddress, Attributes, ContainerId, Cooling, DefinedPool, Definer, Definition, InterfaceName, Need,
    PodIdentity, PolicyName, PolicyStamp, PoolName, Proposal, Range, RangeName, Request, Sandbox,
};

use super::*;
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
    Request { network: name(), owner, requested: requested.to_vec(), sandbox, requested_at: at(ms) }
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
fn a_walk_starts_behind_the_last_and_goes_around() {
    let mut book = small(Cooling::Preferred);
    let ascending = |book: &Book, after| book.free(Shelf::whole(0), after, Direction::Ascending, 9);
    assert_eq!(ascending(&book, None), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(ascending(&book, Some(ip(3))), [4, 5, 6, 2, 3].map(ip));
    assert_eq!(ascending(&book, Some(ip(6))), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(ascending(&book, Some(ip(200))), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(book.free(Shelf::whole(0), None, Direction::Descending, 2), [6, 5].map(ip));
    assert_eq!(book.free(Shelf::whole(0), Some(ip(3)), Direction::Descending, 9), [2, 6, 5, 4, 3].map(ip));
    give(&mut book, 1, ip(4));
    assert_eq!(ascending(&book, book.last(Shelf::whole(0))), [5, 6, 2, 3].map(ip));
    assert_eq!(book.free(Shelf::whole(7), None, Direction::Ascending, 1), Vec::<IpAddr>::new());
}

#[test]
fn a_walk_goes_through_every_range_and_begins_in_the_one_of_the_last() {
    let range =
        |first, last| Range::new("192.168.1.0/24".parse().unwrap(), ip(first), ip(last), None, 24).unwrap();
    let book = book_of(Cooling::Strict, vec![vec![range(1, 2), range(11, 12)]]);
    let walk = |after, direction| book.free(Shelf::whole(0), after, direction, 9);
    assert_eq!(walk(None, Direction::Ascending), [1, 2, 11, 12].map(ip));
    assert_eq!(walk(None, Direction::Descending), [12, 11, 2, 1].map(ip));
    assert_eq!(walk(Some(ip(11)), Direction::Ascending), [12, 1, 2, 11].map(ip));
    assert_eq!(walk(Some(ip(11)), Direction::Descending), [2, 1, 12, 11].map(ip));
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
    let range = Box::new(slash_29());
    let again = LedgerFact::RangeAdded { network: network.clone(), pool: pool.clone(), range, at: at(0) };
    assert!(matches!(book.apply(place + 1, &again), Err(Conflict::Range(..))));
    let range = RangeName::new("none").unwrap();
    let none = LedgerFact::RangeRemoved { network: network.clone(), pool, range, at: at(0) };
    assert!(matches!(book.apply(place + 1, &none), Err(Conflict::Range(..))));
    let removed = LedgerFact::Removed { network, at: at(0) };
    assert_eq!(book.apply(place + 1, &removed), Err(Conflict::Held(Generation(1))));
    assert_eq!(book.image(), before);
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

#[test]
fn a_thousand_full_ranges_are_passed_at_once_and_shelves_keep_count() {
    let range = |number: u16| {
        let [high, low] = number.to_be_bytes();
        let subnet = format!("10.{high}.{low}.0/30").parse().unwrap();
        let zone = if number.is_multiple_of(2) { "even" } else { "odd" };
        let range =
            Range::new(subnet, [10, high, low, 1].into(), [10, high, low, 1].into(), None, 30).unwrap();
        range.with(Attributes::new([("zone", zone)]).unwrap())
    };
    let mut book = book_of(Cooling::Preferred, vec![(0..1000).map(range).collect()]);
    let shelf = |zone: &'static str| Shelf::labelled(0, "zone", zone);
    for number in 0..999_u16 {
        let [high, low] = number.to_be_bytes();
        give(&mut book, number.into(), [10, high, low, 1].into());
    }
    let last = IpAddr::from([10, 3, 231, 1]);
    assert_eq!(book.free(Shelf::whole(0), book.last(Shelf::whole(0)), Direction::Ascending, 9), [last]);
    assert_eq!(book.free(shelf("odd"), None, Direction::Ascending, 9), [last]);
    assert_eq!(book.free(shelf("even"), None, Direction::Ascending, 9), Vec::<IpAddr>::new());
    assert_eq!(book.usage(shelf("even")), Usage { total: 500, held: 500, cooling: 0 });
    free(&mut book, 4, 1);
    let four = IpAddr::from([10, 0, 4, 1]);
    assert_eq!((book.cooling(shelf("even"), 9), book.cooling(shelf("odd"), 9)), (vec![four], vec![]));
    assert_eq!(book.last(shelf("even")), Some(IpAddr::from([10, 3, 230, 1])));
    assert_eq!(Book::restore(book.image()).unwrap().image(), book.image());
}

#[test]
fn a_slash_8_and_a_v6_slash_64_are_walked_at_once() {
    let pools =
        [("10.0.0.0/8", "10.0.0.1", "10.255.255.254"), ("fd00::/64", "fd00::1", "fd00::ffff:ffff:ffff:ffff")];
    let range = |(subnet, first, last): (&str, &str, &str)| {
        Range::new(subnet.parse().unwrap(), first.parse().unwrap(), last.parse().unwrap(), None, 32).unwrap()
    };
    let book = book_of(Cooling::Strict, pools.map(|pool| vec![range(pool)]).to_vec());
    assert_eq!(
        book.free(Shelf::whole(0), None, Direction::Descending, 1),
        ["10.255.255.254".parse::<IpAddr>().unwrap()]
    );
    assert_eq!(
        book.free(Shelf::whole(1), Some("fd00::42".parse().unwrap()), Direction::Ascending, 1),
        ["fd00::43".parse::<IpAddr>().unwrap()]
    );
    assert_eq!(book.usage(Shelf::whole(1)).total, u32::MAX);
}

/// A step of the model test.
#[derive(Debug, Clone)]
enum Step {
    Give { owner: u32, pick: usize },
    Free { owner: u32 },
    Pass { milliseconds: u64 },
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..8, any::<usize>()).prop_map(|(owner, pick)| Step::Give { owner, pick }),
        3 => (0u32..8).prop_map(|owner| Step::Free { owner }),
        1 => (0u64..20_000).prop_map(|milliseconds| Step::Pass { milliseconds }),
        1 => Just(Step::Restore),
    ]
}

proptest! {
    /// Compares the book with a simple model of held, cooling and free addresses.
    #[test]
    fn the_book_agrees_with_a_plain_model(steps in prop::collection::vec(step(), 0..80)) {
        let mut book = small(Cooling::Preferred);
        let mut held: BTreeMap<u32, IpAddr> = BTreeMap::new();
        let mut cooling: Vec<(IpAddr, u64)> = Vec::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Give { owner: number, pick } => {
                    let all: Vec<IpAddr> = (0..=8).map(ip).collect();
                    let address = all[pick % all.len()];
                    let usable = address >= ip(2) && address <= ip(6);
                    let taken = held.values().any(|other| *other == address);
                    let cools = cooling.iter().any(|(other, _)| *other == address);
                    let others = held.len() + cooling.len() < 5;
                    let yields = !cools || !others;
                    let expected = usable && !taken && yields && !held.contains_key(&number);
                    let fact = propose(&book, number, address);
                    prop_assert_eq!(fact.is_ok(), expected, "{:?}", fact);
                    if let Ok(fact) = fact {
                        book.apply(book.through() + 1, &fact).unwrap();
                        held.insert(number, address);
                        cooling.retain(|(other, _)| *other != address);
                    }
                }
                Step::Free { owner: number } => {
                    let fact = book.release(&owner(number), at(now), "del");
                    prop_assert_eq!(fact.is_some(), held.contains_key(&number));
                    if let Some(fact) = fact {
                        book.apply(book.through() + 1, &fact).unwrap();
                        cooling.push((held.remove(&number).unwrap(), now));
                    }
                }
                Step::Pass { milliseconds } => {
                    now += milliseconds;
                    book.expire(at(now), COOLDOWN);
                    cooling.retain(|(_, since)| now - since < 30_000);
                }
                Step::Restore => {
                    let restored = Book::restore(book.image()).unwrap();
                    prop_assert_eq!(restored.image(), book.image());
                    book = restored;
                }
            }
            let unavailable: BTreeSet<IpAddr> =
                held.values().copied().chain(cooling.iter().map(|(address, _)| *address)).collect();
            let expected: Vec<IpAddr> = (2..=6).map(ip).filter(|ip| !unavailable.contains(ip)).collect();
            prop_assert_eq!(book.free(Shelf::whole(0), None, Direction::Ascending, 9), expected);
            let order: Vec<IpAddr> = cooling.iter().map(|(address, _)| *address).collect();
            prop_assert_eq!(book.cooling(Shelf::whole(0), 9), order);
            let counts = Usage {
                total: 5,
                held: u32::try_from(held.len()).unwrap(),
                cooling: u32::try_from(cooling.len()).unwrap(),
            };
            prop_assert_eq!(book.usage(Shelf::whole(0)), counts);
            for number in 0..8 {
                let addresses = book.owned_by(&owner(number)).map(|held| held.addresses[0].ip());
                prop_assert_eq!(addresses, held.get(&number).copied());
            }
        }
    }
}
