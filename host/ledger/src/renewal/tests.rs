use std::sync::Arc;

use tenure_types::{
    AssignedAddress, ContainerId, Definition, Generation, InterfaceName, Moment, Network, NetworkConfig,
    NetworkName, Owner, Place, PolicyName, PolicyStamp,
};

use super::*;

fn at(boot_ns: u64) -> Moment {
    Moment { boot_ns, wall_ms: boot_ns }
}

fn owner() -> Owner {
    Owner::Attachment {
        container: ContainerId::new("c").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

/// A book in which the owner has an address, asked for at a moment in a namespace that was seen.
fn book(requested_at: Moment, netns: &str) -> Book {
    let name = NetworkName::new("net").unwrap();
    let policy = PolicyStamp { name: PolicyName::new("any").unwrap(), digest: "".into() };
    let (config, definition) = (NetworkConfig::default(), Definition::default());
    let mut book = Book::new(Network {
        name: name.clone(),
        policy: policy.clone(),
        activated: false,
        config,
        definition,
        changed_at: None,
        importing: false,
    });
    let allocation = Allocation {
        network: name,
        generation: Generation(1),
        owner: owner(),
        addresses: vec![AssignedAddress { address: "10.0.0.2/24".parse().unwrap(), gateway: None }],
        pod: None,
        netns: netns.to_owned(),
        netns_seen: (!netns.is_empty()).then_some(Place { device: 1, inode: 2 }),
        policy,
        origin: None,
        requested_at,
        allocated_at: requested_at,
    };
    book.apply(1, &Record::Allocate(Arc::new(allocation))).unwrap();
    book
}

fn request(requested_at: Moment, netns: &str) -> Request {
    Request {
        network: NetworkName::new("net").unwrap(),
        owner: owner(),
        requested: Vec::new(),
        pod: None,
        netns: netns.to_owned(),
        netns_seen: None,
        requested_at,
    }
}

/// What the allocation is asked for since, where and whether that was seen, once a repeat is applied.
fn renewed(mut book: Book, request: &Request) -> (Moment, String, bool) {
    let Some(Repeat::Renews(record)) = book.repeat(request) else { panic!("no renewal") };
    book.apply(2, &record).unwrap();
    let held = book.owned_by(&owner()).unwrap();
    assert_eq!(held.generation, Generation(1), "it is the same allocation");
    (held.requested_at, held.netns.clone(), held.netns_seen.is_some())
}

#[test]
fn a_repeat_that_began_later_renews() {
    let asked = request(at(6), "/netns/a");
    assert_eq!(renewed(book(at(5), "/netns/a"), &asked), (at(6), "/netns/a".to_owned(), true));
}

#[test]
fn the_same_request_or_one_before_it_changes_nothing() {
    for began in [5, 4] {
        assert_eq!(book(at(5), "/netns/a").repeat(&request(at(began), "/netns/a")), Some(Repeat::Same));
    }
}

#[test]
fn another_namespace_is_news_unless_it_was_left() {
    let moved = |began| request(at(began), "/netns/b");
    for began in [5, 6] {
        let (since, netns, seen) = renewed(book(at(5), "/netns/a"), &moved(began));
        assert_eq!((since, netns.as_str(), seen), (at(began), "/netns/b", false));
    }
    assert_eq!(book(at(5), "/netns/a").repeat(&moved(4)), Some(Repeat::Outdated));
}

#[test]
fn an_import_learns_its_namespace_from_any_request() {
    let (since, netns, _) = renewed(book(at(5), ""), &request(at(4), "/netns/a"));
    assert_eq!((since, netns.as_str()), (at(5), "/netns/a"));
}

#[test]
fn a_renewal_of_what_is_not_there_is_a_conflict() {
    let mut other = book(at(5), "/netns/a");
    let Some(Repeat::Renews(record)) = other.repeat(&request(at(6), "/netns/a")) else { panic!() };
    let end = other.release(&owner(), at(7), "del").unwrap();
    other.apply(2, &end).unwrap();
    assert_eq!(other.apply(3, &record), Err(crate::Conflict::Unknown(Generation(1))));
}
