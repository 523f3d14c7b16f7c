use std::sync::Arc;

use tenure_types::{
    AssignedAddress, Attributes, ContainerId, Generation, InterfaceName, Moment, NetworkName, Owner, Place,
    PolicyName, PolicyStamp, RequestContext,
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

/// A book in which the owner has an address, requested at the given time from a namespace that the daemon has seen.
fn book(requested_at: Moment, netns: &str) -> Book {
    let network = NetworkName::new("net").unwrap();
    let policy = Arc::new(PolicyStamp { name: PolicyName::new("any").unwrap(), digest: "".into() });
    let mut book = Book::empty(&network);
    let netns_seen = if netns.is_empty() { None } else { Place::new(1, 2) };
    let sandbox = Sandbox { netns: netns.into(), netns_seen, ..Sandbox::default() };
    let allocation = Allocation {
        network,
        generation: Generation(1),
        owner: owner(),
        addresses: [AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None)].into(),
        sandbox,
        tags: Attributes::default(),
        policy,
        origin: None,
        requested_at,
        allocated_at: requested_at,
    };
    book.apply(1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
    book
}

fn request(requested_at: Moment, netns: &str) -> Request {
    Request {
        network: NetworkName::new("net").unwrap(),
        owner: owner(),
        requested: Vec::new(),
        sandbox: Sandbox { netns: netns.into(), ..Sandbox::default() },
        supply_full: false,
        context: RequestContext::default(),
        requested_at,
    }
}

/// Applies a repeat; returns the allocation's request time, its namespace, and whether the daemon has seen that.
fn renewed(mut book: Book, request: &Request) -> (Moment, String, bool) {
    let Some(Repeat::Renews(fact)) = book.repeat(request) else { panic!("no renewal") };
    book.apply(2, &fact).unwrap();
    let held = book.owned_by(&owner()).unwrap();
    assert_eq!(held.generation, Generation(1), "the allocation stays the same");
    (held.requested_at, held.netns().to_owned(), held.netns_seen().is_some())
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
    let Some(Repeat::Renews(fact)) = other.repeat(&request(at(6), "/netns/a")) else { panic!() };
    let end = other.release(&owner(), at(7), "del").unwrap();
    other.apply(2, &end).unwrap();
    assert_eq!(other.apply(3, &fact), Err(crate::Conflict::Unknown(Generation(1))));
}
