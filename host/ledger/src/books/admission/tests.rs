//! Cooling addresses and the owners that may get them, and the usage of ranges by label.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{
    Attributes, ContainerId, Cooling, DefinedPool, Definer, Definition, InterfaceName, Moment, NetworkName,
    Owner, PodIdentity, PolicyName, PolicyStamp, Pool, Proposal, Range, RangeName, Request, RequestContext,
    Sandbox, Supply,
};

use crate::{Book, Defined, LedgerFact, Shelf, Usage, Violation};

fn at(ms: u64) -> Moment {
    Moment { boot_ns: ms * 1_000_000, wall_ms: ms }
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// The book of one pool with a range of two addresses per rack.
fn racks(cooling: Cooling, supply: Supply, racks: &[(&str, u8)]) -> Book {
    let name = NetworkName::new("net").unwrap();
    let range = |(rack, first): &(&str, u8)| {
        let subnet = "10.0.0.0/24".parse().unwrap();
        let range = Range::new(subnet, ip(*first), ip(*first + 1), None, 24).unwrap();
        range.named(RangeName::new(rack).unwrap()).with(Attributes::new([("rack", *rack)]).unwrap())
    };
    let ranges: Vec<Range> = racks.iter().map(range).collect();
    let pool = Pool { supply, ..Pool::numbered(0) };
    let configured = if supply == Supply::Host { Vec::new() } else { ranges.clone() };
    let pools = vec![DefinedPool { pool, ranges: configured }];
    let definition = Definition { pools, cooling, ..Definition::default() };
    let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
    let mut book = Book::defined(&name, defined, at(0)).unwrap();
    if supply == Supply::Host {
        for range in ranges {
            let fact = book.supply(&Pool::numbered(0).name, range, at(0)).unwrap();
            apply(&mut book, &fact);
        }
    }
    book
}

fn apply(book: &mut Book, fact: &LedgerFact) {
    book.apply(book.through() + 1, fact).unwrap();
}

fn owner(container: &str) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

/// Assigns an address to a pod's container.
fn give(book: &mut Book, container: &str, pod: &str, address: IpAddr) -> Result<(), Violation> {
    let pod = Some(PodIdentity { namespace: "shop".into(), name: pod.into(), uid: "".into() });
    let request = Request {
        network: book.name().clone(),
        owner: owner(container),
        requested: Vec::new(),
        sandbox: Sandbox { pod, ..Sandbox::default() },
        supply_full: false,
        context: RequestContext::default(),
        requested_at: at(1),
    };
    let stamp = Arc::new(PolicyStamp { name: PolicyName::new("test").unwrap(), digest: "00".into() });
    let allocation = book.admit(&request, &Proposal::of([(0, address)]), &stamp, at(1))?;
    apply(book, &LedgerFact::Allocated(Arc::new(allocation)));
    Ok(())
}

fn release(book: &mut Book, container: &str) {
    let fact = book.release(&owner(container), at(2), "del").unwrap();
    apply(book, &fact);
}

#[test]
fn under_a_label_of_which_nothing_else_is_left_what_cools_yields() {
    for (cooling, yields) in [(Cooling::Preferred, Ok(())), (Cooling::Strict, Err(Violation::Cooling(ip(1))))]
    {
        let mut book = racks(cooling, Supply::Configuration, &[("a", 1), ("b", 11)]);
        give(&mut book, "c1", "p1", ip(1)).unwrap();
        release(&mut book, "c1");
        let cools = Err(Violation::Cooling(ip(1)));
        assert_eq!(give(&mut book, "c2", "p2", ip(1)), cools, "rack a has another address");
        give(&mut book, "c3", "p3", ip(2)).unwrap();
        assert_eq!(give(&mut book, "c2", "p2", ip(1)), yields, "rack a has no other address, but rack b has");
    }
}

#[test]
fn to_the_name_that_had_it_last_what_cools_yields() {
    for (cooling, yields) in [(Cooling::Preferred, Ok(())), (Cooling::Strict, Err(Violation::Cooling(ip(1))))]
    {
        let mut book = racks(cooling, Supply::Configuration, &[("a", 1)]);
        give(&mut book, "c1", "web-0", ip(1)).unwrap();
        release(&mut book, "c1");
        assert_eq!(give(&mut book, "c2", "web-1", ip(1)), Err(Violation::Cooling(ip(1))));
        assert_eq!(give(&mut book, "c3", "web-0", ip(1)), yields);
    }
}

#[test]
fn use_is_told_by_the_values_of_a_label_but_for_what_drains() {
    let mut book = racks(Cooling::Strict, Supply::Host, &[("b", 11), ("a", 1), ("c", 21)]);
    give(&mut book, "c1", "p1", ip(11)).unwrap();
    give(&mut book, "c2", "p2", ip(1)).unwrap();
    release(&mut book, "c2");
    let usage = |held, cooling| Usage { total: 2, held, cooling };
    let by = |after| book.usage_by(Shelf::whole(0), "rack", after).collect::<Vec<_>>();
    assert_eq!(by(None), [("a", usage(0, 1)), ("b", usage(1, 0)), ("c", usage(0, 0))]);
    assert_eq!(by(Some("a")), [("b", usage(1, 0)), ("c", usage(0, 0))]);
    assert_eq!(by(Some("bb")), [("c", usage(0, 0))]);
    assert_eq!(
        book.usage_by(Shelf::whole(0), "zone", None).count()
            + book.usage_by(Shelf::whole(1), "rack", None).count(),
        0
    );
    let rack_b = RangeName::new("b").unwrap();
    let fact = book.drain(&Pool::numbered(0).name, &rack_b, true, at(3)).unwrap().unwrap();
    apply(&mut book, &fact);
    assert_eq!(
        book.usage_by(Shelf::whole(0), "rack", None).map(|(rack, _)| rack).collect::<Vec<_>>(),
        ["a", "c"]
    );
}

#[test]
fn an_address_of_a_pool_that_was_not_offered_is_refused() {
    let book = racks(Cooling::Strict, Supply::Configuration, &[("a", 1)]);
    let mut request = Request {
        network: book.name().clone(),
        owner: owner("c1"),
        requested: Vec::new(),
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: at(1),
    };
    let proposal = Proposal::of([(0, ip(1))]);
    let pool = Pool::numbered(0).name;
    for (offered, expected) in [
        (None, Ok(())),
        (Some(vec![pool.clone()]), Ok(())),
        (Some(vec![Pool::numbered(1).name]), Err(Violation::NotOffered(ip(1), pool.clone()))),
        (Some(vec![]), Err(Violation::NotOffered(ip(1), pool))),
    ] {
        request.context.pools = offered.map(Into::into);
        assert_eq!(book.check(&request, &proposal), expected);
    }
}
