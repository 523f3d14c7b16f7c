use std::net::IpAddr;

use tenure_ledger::{Defined, LedgerFact, Repeat};
use tenure_types::{
    AgentName, ClaimName, ContainerId, DefinedPool, Definer, Definition, InterfaceName, Moment,
    NetworkConfig, Owner, PolicyName, PolicyStamp, Pool, Proposal, Range, Request, RequestContext, Sandbox,
};

use super::*;

fn at(boot_ns: u64) -> Moment {
    Moment { boot_ns, wall_ms: 0 }
}

fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

/// A book with room for ten.
fn empty() -> Book {
    let [first, last] = [[10, 0, 0, 2], [10, 0, 0, 11]].map(IpAddr::from);
    let range = Range::new("10.0.0.0/24".parse().unwrap(), first, last, None, 24).unwrap();
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![range] }];
    let definition = Definition { pools, ..Definition::default() };
    let config = Arc::new(NetworkConfig::default());
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    Book::defined(&network(), defined, at(0)).unwrap()
}

fn pod(number: u8) -> Owner {
    let container = ContainerId::new(format!("c{number}")).unwrap();
    Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() }
}

fn agent() -> Owner {
    Owner::Claim { agent: AgentName::new("cilium").unwrap(), name: ClaimName::new("router").unwrap() }
}

fn request(owner: &Owner, now: u64) -> Request {
    Request {
        network: network(),
        owner: owner.clone(),
        requested: Vec::new(),
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: at(now),
    }
}

/// Changes an owner: it gets an address, asks again, or goes.
fn step(book: &Book, owner: &Owner, last: u8, goes: bool, now: u64) -> Book {
    let fact = match book.owned_by(owner) {
        None => {
            let proposal = Proposal::of([(0, IpAddr::from([10, 0, 0, last]))]);
            let policy = Arc::new(PolicyStamp { name: PolicyName::new("p").unwrap(), digest: "00".into() });
            let admitted = book.admit_living(&request(owner, now), &proposal, &policy, at(now), &[]).unwrap();
            Some(LedgerFact::Allocated(Arc::new(admitted)))
        }
        Some(_) if goes => book.release(owner, at(now), "del"),
        Some(_) => match book.repeat(&request(owner, now)) {
            Some(Repeat::Renews(fact)) => Some(fact),
            _ => None,
        },
    };
    let mut book = book.clone();
    if let Some(fact) = fact {
        book.apply(book.through() + 1, &fact).unwrap();
    }
    book
}

/// The books after each of 40 steps of a busy network.
fn history() -> Vec<Book> {
    let mut books = vec![empty()];
    for now in 1..40_u64 {
        let number = u8::try_from(now * 7 % 5).unwrap();
        let next = step(books.last().unwrap(), &pod(number), 2 + number, now % 3 != 0, now);
        books.push(next);
    }
    books
}

fn found(before: &Book, on_disk: &Book, after: &Book) -> Vec<MissingAllocation> {
    let [before, after] = [before, after].map(|book| [Arc::new(book.clone())]);
    missing(ComparedBooks { before: &before, on_disk: std::slice::from_ref(on_disk), after: &after }).1
}

#[test]
fn nothing_is_missing_however_much_happens_while_disk_and_memory_are_read() {
    let books = history();
    for (first, before) in books.iter().enumerate() {
        for (second, on_disk) in books.iter().enumerate().skip(first) {
            for (third, after) in books.iter().enumerate().skip(second) {
                assert_eq!(found(before, on_disk, after), [], "{first} {second} {third}");
            }
        }
    }
    let none: [Arc<Book>; 0] = [];
    let new = [Arc::new(books[3].clone())];
    assert_eq!(
        missing(ComparedBooks { before: &none, on_disk: &books[..1], after: &new }).1,
        [],
        "just defined"
    );
}

#[test]
fn what_the_disk_lacks_or_has_too_much_is_found() {
    let one = step(&empty(), &pod(1), 2, false, 1);
    let held = Arc::clone(one.owned_by(&pod(1)).unwrap());
    assert_eq!(found(&one, &empty(), &one), [MissingAllocation::FromDisk(Arc::clone(&held))]);
    let ended = step(&one, &pod(1), 2, true, 2);
    assert_eq!(found(&ended, &one, &ended), [MissingAllocation::FromMemory(Arc::clone(&held))]);
    let none: [Arc<Book>; 0] = [];
    let only = missing(ComparedBooks { before: &none, on_disk: std::slice::from_ref(&one), after: &none }).1;
    assert_eq!(
        only,
        [MissingAllocation::FromMemory(Arc::clone(&held))],
        "a network that memory does not have"
    );
    let renewed = step(&one, &pod(1), 2, false, 3);
    assert_eq!(found(&renewed, &one, &renewed).len(), 2, "it differs");
}

#[test]
fn a_claim_after_a_reboot_is_the_same_whenever_the_boot_was_entered() {
    let book = step(&empty(), &agent(), 2, false, 1);
    let [one, other] = [5, 9].map(|now| {
        let mut book = book.clone();
        book.enter_boot(at(now)).unwrap();
        book
    });
    assert_eq!(found(&one, &other, &one), []);
}
