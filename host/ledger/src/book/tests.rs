use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;
use tenure_types::{
    ContainerId, Definition, InterfaceName, NetworkConfig, NetworkName, PolicyName, Pool, Range,
};

use super::*;

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

fn stamp() -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("test").unwrap(), digest: "00".into() }
}

/// A network of one pool with one /29: .2 to .6 beside its gateway .1.
fn network(cooling: Cooling) -> Network {
    let range = Range::new("192.168.1.0/29".parse().unwrap(), ip(1), ip(6), Some(ip(1)), 29).unwrap();
    Network {
        name: NetworkName::new("net").unwrap(),
        policy: stamp(),
        activated: false,
        config: NetworkConfig::default(),
        definition: Definition { pools: vec![Pool { ranges: vec![range] }], cooling },
        changed_at: None,
        importing: false,
    }
}

fn request(owner: Owner, requested: &[IpAddr], ms: u64) -> Request {
    Request {
        network: NetworkName::new("net").unwrap(),
        owner,
        requested: requested.to_vec(),
        pod: None,
        netns: String::new(),
        netns_seen: None,
        requested_at: at(ms),
    }
}

fn propose(book: &Book, number: u32, address: IpAddr) -> Result<Record, Violation> {
    let proposal = Proposal { addresses: vec![(0, address)] };
    let allocation = book.admit(&request(owner(number), &[], 0), &proposal, &stamp(), at(0))?;
    Ok(Record::Allocate(Arc::new(allocation)))
}

fn give(book: &mut Book, number: u32, address: IpAddr) {
    let record = propose(book, number, address).unwrap();
    book.apply(book.through() + 1, &record).unwrap();
}

fn free(book: &mut Book, number: u32, ms: u64) {
    let record = book.release(&owner(number), at(ms), "del").unwrap();
    book.apply(book.through() + 1, &record).unwrap();
}

#[test]
fn a_walk_starts_behind_the_last_and_goes_around() {
    let mut book = Book::new(network(Cooling::Preferred));
    let ascending = |book: &Book, after| book.free(0, after, Direction::Ascending, 9);
    assert_eq!(ascending(&book, None), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(ascending(&book, Some(ip(3))), [4, 5, 6, 2, 3].map(ip));
    assert_eq!(ascending(&book, Some(ip(6))), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(ascending(&book, Some(ip(200))), [2, 3, 4, 5, 6].map(ip));
    assert_eq!(book.free(0, None, Direction::Descending, 2), [6, 5].map(ip));
    assert_eq!(book.free(0, Some(ip(3)), Direction::Descending, 9), [2, 6, 5, 4, 3].map(ip));
    give(&mut book, 1, ip(4));
    assert_eq!(ascending(&book, book.last(0)), [5, 6, 2, 3].map(ip));
    assert_eq!(book.free(7, None, Direction::Ascending, 1), Vec::<IpAddr>::new());
}

#[test]
fn a_walk_goes_through_every_range_and_begins_in_the_one_of_the_last() {
    let range =
        |first, last| Range::new("192.168.1.0/24".parse().unwrap(), ip(first), ip(last), None, 24).unwrap();
    let mut network = network(Cooling::Strict);
    network.definition.pools = vec![Pool { ranges: vec![range(1, 2), range(11, 12)] }];
    let book = Book::new(network);
    let walk = |after, direction| book.free(0, after, direction, 9);
    assert_eq!(walk(None, Direction::Ascending), [1, 2, 11, 12].map(ip));
    assert_eq!(walk(None, Direction::Descending), [12, 11, 2, 1].map(ip));
    assert_eq!(walk(Some(ip(11)), Direction::Ascending), [12, 1, 2, 11].map(ip));
    assert_eq!(walk(Some(ip(11)), Direction::Descending), [2, 1, 12, 11].map(ip));
}

#[test]
fn a_walk_ends_with_its_family() {
    let (first, last) = (IpAddr::from([255, 255, 255, 254]), IpAddr::from([255, 255, 255, 255]));
    let mut network = network(Cooling::Strict);
    let range = Range::new("255.255.255.254/31".parse().unwrap(), first, last, None, 31).unwrap();
    network.definition.pools = vec![Pool { ranges: vec![range] }];
    assert_eq!(Book::new(network).free(0, Some(last), Direction::Ascending, 9), [first, last]);
}

#[test]
fn an_address_stands_as_what_it_is_and_cools_in_its_own_pool() {
    let mut two = network(Cooling::Strict);
    let range = Range::new(
        "192.168.2.0/29".parse().unwrap(),
        [192, 168, 2, 1].into(),
        [192, 168, 2, 6].into(),
        None,
        29,
    );
    two.definition.pools.push(Pool { ranges: vec![range.unwrap()] });
    let other = IpAddr::from([192, 168, 2, 1]);
    let mut book = Book::new(two);
    assert_eq!(
        [ip(1), ip(7), ip(2)].map(|address| book.standing(address)),
        [Standing::Reserved, Standing::Outside, Standing::Free]
    );
    let proposal = Proposal { addresses: vec![(0, ip(2)), (1, other)] };
    let allocation = book.admit(&request(owner(1), &[], 0), &proposal, &stamp(), at(0)).unwrap();
    book.apply(1, &Record::Allocate(Arc::new(allocation))).unwrap();
    assert_eq!(book.standing(other), Standing::Held);
    free(&mut book, 1, 0);
    assert_eq!((book.cooling(0, 9), book.cooling(1, 9)), (vec![ip(2)], vec![other]));
}

#[test]
fn every_lie_is_refused() {
    let mut book = Book::new(network(Cooling::Strict));
    give(&mut book, 1, ip(2));
    assert_eq!(propose(&book, 2, ip(2)), Err(Violation::Held(ip(2), owner(1))));
    assert_eq!(propose(&book, 2, ip(1)), Err(Violation::Reserved(ip(1), "the gateway")));
    assert_eq!(propose(&book, 2, ip(7)), Err(Violation::Outside(ip(7), 0)));
    let v6 = "2001:db8::2".parse().unwrap();
    assert_eq!(propose(&book, 2, v6), Err(Violation::Outside(v6, 0)));
    assert_eq!(propose(&book, 1, ip(3)), Err(Violation::OwnerHolds(owner(1), Generation(1))));
    let admit = |addresses: Vec<(usize, IpAddr)>, requested: &[IpAddr]| {
        book.admit(&request(owner(2), requested, 0), &Proposal { addresses }, &stamp(), at(0))
    };
    assert!(matches!(admit(vec![], &[]), Err(Violation::NotOneForEachPool { proposed: 0, times: 0, .. })));
    assert!(matches!(
        admit(vec![(0, ip(3)), (0, ip(4))], &[]),
        Err(Violation::NotOneForEachPool { proposed: 2, times: 2, .. })
    ));
    assert!(matches!(
        admit(vec![(0, ip(3)), (9, ip(4))], &[]),
        Err(Violation::NotOneForEachPool { proposed: 2, times: 1, .. })
    ));
    assert_eq!(admit(vec![(0, ip(3))], &[ip(4)]), Err(Violation::RequestIgnored(ip(4))));
}

#[test]
fn ends_of_the_subnet_are_never_handed_out_even_inside_the_range() {
    let mut network = network(Cooling::Strict);
    let whole = Range::new("192.168.1.0/29".parse().unwrap(), ip(0), ip(7), None, 29).unwrap();
    network.definition.pools = vec![Pool { ranges: vec![whole] }];
    let book = Book::new(network);
    assert_eq!(propose(&book, 1, ip(0)), Err(Violation::Reserved(ip(0), "the network address")));
    assert_eq!(propose(&book, 1, ip(7)), Err(Violation::Reserved(ip(7), "the broadcast address")));
    assert_eq!(book.free(0, None, Direction::Ascending, 9), [1, 2, 3, 4, 5, 6].map(ip));
}

#[test]
fn a_freed_address_cools() {
    let mut book = Book::new(network(Cooling::Strict));
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
    let mut book = Book::new(network(Cooling::Preferred));
    for number in 2..=6 {
        give(&mut book, number, ip(u8::try_from(number).unwrap()));
    }
    free(&mut book, 5, 10);
    free(&mut book, 3, 20);
    assert_eq!(book.cooling(0, 9), [5, 3].map(ip), "least recently freed first");
    give(&mut book, 15, ip(5));
    free(&mut book, 4, 30);
    book.expire(at(30_020), COOLDOWN);
    assert_eq!(book.free(0, None, Direction::Ascending, 9), [ip(3)]);
    assert_eq!(propose(&book, 16, ip(4)), Err(Violation::Cooling(ip(4))), "another is free");
    let wish = request(owner(16), &[ip(4)], 0);
    let proposal = Proposal { addresses: vec![(0, ip(4))] };
    assert!(book.admit(&wish, &proposal, &stamp(), at(0)).is_ok());
}

#[test]
fn live_allocations_survive_a_narrower_definition() {
    let mut book = Book::new(network(Cooling::Strict));
    give(&mut book, 1, ip(2));
    give(&mut book, 2, ip(4));
    let mut narrower = network(Cooling::Strict);
    let range = Range::new("192.168.1.0/29".parse().unwrap(), ip(4), ip(6), Some(ip(1)), 29).unwrap();
    narrower.definition.pools = vec![Pool { ranges: vec![range] }];
    book.apply(book.through() + 1, &Record::Network(Box::new(narrower))).unwrap();
    let held = book.owned_by(&owner(1)).unwrap();
    assert!(book.is_outside(held));
    assert!(!book.is_outside(book.owned_by(&owner(2)).unwrap()));
    assert_eq!(book.standing(ip(2)), Standing::Held);
    assert_eq!(book.usage(0), Usage { total: 3, held: 1, cooling: 0 });
}

#[test]
fn contradictions_are_refused_and_change_nothing() {
    let mut book = Book::new(network(Cooling::Strict));
    let record = propose(&book, 1, ip(2)).unwrap();
    book.apply(1, &record).unwrap();
    let before = book.image();
    assert_eq!(book.apply(1, &record), Ok(()), "a record seen already");
    assert_eq!(book.apply(2, &record), Err(Conflict::Generation(Generation(1))));
    let Record::Allocate(twice) = record else { panic!() };
    let mut twice = twice.as_ref().clone();
    twice.generation = Generation(2);
    assert_eq!(
        book.apply(2, &Record::Allocate(Arc::new(twice.clone()))),
        Err(Conflict::Owner(owner(1), Generation(2)))
    );
    twice.owner = owner(2);
    assert_eq!(
        book.apply(2, &Record::Allocate(Arc::new(twice))),
        Err(Conflict::Address(ip(2), Generation(1), Generation(2)))
    );
    let unknown = Record::Release {
        network: before.network.name.clone(),
        generation: Generation(9),
        at: at(0),
        reason: "del".into(),
    };
    assert_eq!(book.apply(2, &unknown), Err(Conflict::Unknown(Generation(9))));
    assert_eq!(book.image(), before);
}

#[test]
fn a_slash_8_and_a_v6_slash_64_are_walked_at_once() {
    let pools =
        [("10.0.0.0/8", "10.0.0.1", "10.255.255.254"), ("fd00::/64", "fd00::1", "fd00::ffff:ffff:ffff:ffff")];
    let mut network = network(Cooling::Strict);
    network.definition.pools = pools
        .map(|(subnet, first, last)| {
            let (first, last) = (first.parse().unwrap(), last.parse().unwrap());
            Pool { ranges: vec![Range::new(subnet.parse().unwrap(), first, last, None, 32).unwrap()] }
        })
        .to_vec();
    let book = Book::new(network);
    assert_eq!(book.free(0, None, Direction::Descending, 1), ["10.255.255.254".parse::<IpAddr>().unwrap()]);
    assert_eq!(
        book.free(1, Some("fd00::42".parse().unwrap()), Direction::Ascending, 1),
        ["fd00::43".parse::<IpAddr>().unwrap()]
    );
    assert_eq!(book.usage(1).total, u32::MAX);
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
    /// Against a model of three plain maps: who holds what, what cools, what is free.
    #[test]
    fn the_book_agrees_with_a_plain_model(steps in prop::collection::vec(step(), 0..80)) {
        let mut book = Book::new(network(Cooling::Preferred));
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
                    let record = propose(&book, number, address);
                    prop_assert_eq!(record.is_ok(), expected, "{:?}", record);
                    if let Ok(record) = record {
                        book.apply(book.through() + 1, &record).unwrap();
                        held.insert(number, address);
                        cooling.retain(|(other, _)| *other != address);
                    }
                }
                Step::Free { owner: number } => {
                    let record = book.release(&owner(number), at(now), "del");
                    prop_assert_eq!(record.is_some(), held.contains_key(&number));
                    if let Some(record) = record {
                        book.apply(book.through() + 1, &record).unwrap();
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
            prop_assert_eq!(book.free(0, None, Direction::Ascending, 9), expected);
            let order: Vec<IpAddr> = cooling.iter().map(|(address, _)| *address).collect();
            prop_assert_eq!(book.cooling(0, 9), order);
            let counts = Usage {
                total: 5,
                held: u32::try_from(held.len()).unwrap(),
                cooling: u32::try_from(cooling.len()).unwrap(),
            };
            prop_assert_eq!(book.usage(0), counts);
            for number in 0..8 {
                let addresses = book.owned_by(&owner(number)).map(|held| held.addresses[0].address.addr());
                prop_assert_eq!(addresses, held.get(&number).copied());
            }
        }
    }
}
