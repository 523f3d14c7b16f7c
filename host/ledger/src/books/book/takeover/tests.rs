use tenure_types::{
    DefinedPool, Definer, Definition, NetworkName, PolicyName, Pool, Proposal, Range, Request, RequestContext,
};

use super::*;
use crate::{Defined, LedgerFact, RemovedNetwork, RemovedNetworks, Shelf, Violation};

fn ip(last: u8) -> IpAddr {
    IpAddr::from([192, 168, 1, last])
}

fn at(boot_ns: u64) -> Moment {
    Moment { boot_ns, wall_ms: 0 }
}

fn book() -> Book {
    let range = Range::new("192.168.1.0/24".parse().unwrap(), ip(1), ip(6), Some(ip(1)), 24).unwrap();
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![range] }];
    let definition = Definition { pools, ..Definition::default() };
    let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
    let mut book = Book::empty(&NetworkName::new("net").unwrap());
    for fact in book.redefine(defined, at(1)).unwrap() {
        book.apply(book.through() + 1, &fact).unwrap();
    }
    book
}

fn stamp() -> Arc<PolicyStamp> {
    Arc::new(PolicyStamp { name: PolicyName::new("test").unwrap(), digest: "00".into() })
}

fn origin(claim: &str) -> Origin {
    Origin { source: "files".into(), claims: vec![claim.into()], why: "empty".into() }
}

fn hold(book: &mut Book, address: IpAddr, claim: &str) {
    let allocation = book.hold(address, origin(claim), &stamp(), at(1)).unwrap();
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
}

fn end(book: &mut Book, address: IpAddr) {
    let fact = book.release(&Owner::Unknown { address }, at(2), "operator").unwrap();
    book.apply(book.through() + 1, &fact).unwrap();
}

#[test]
fn an_address_is_held_once_wherever_it_lies() {
    let mut book = book();
    for address in [ip(3), ip(1), ip(77)] {
        hold(&mut book, address, "a");
        assert!(book.hold(address, origin("b"), &stamp(), at(1)).is_none(), "{address} is held already");
    }
    let prefixes: Vec<_> = book.allocations().map(|held| held.addresses[0].address.to_string()).collect();
    assert_eq!(prefixes, ["192.168.1.3/24", "192.168.1.1/24", "192.168.1.77/32"]);
    assert_eq!((book.usage(Shelf::whole(0)).held, book.is_outside(book.holder(ip(77)).unwrap())), (2, true));
}

#[test]
fn what_has_ended_is_known_by_its_claim_also_after_a_snapshot() {
    let mut book = book();
    hold(&mut book, ip(3), "a");
    assert!(!book.is_settled(ip(3), "a"));
    end(&mut book, ip(3));
    let book = Book::restore(book.image()).unwrap();
    assert!(book.is_settled(ip(3), "a") && !book.is_settled(ip(3), "b") && !book.is_settled(ip(4), "a"));
    assert!(book.cooling_since(ip(3)).is_some());
}

#[test]
fn claims_without_a_name_of_their_own_are_not_remembered() {
    let mut book = book();
    hold(&mut book, ip(3), "");
    end(&mut book, ip(3));
    assert_eq!(book.image().settled, []);
}

#[test]
fn memory_of_what_ended_is_bounded() {
    let mut takeover = Takeover::default();
    for number in 0..=u32::try_from(MOST_SETTLED).unwrap() {
        takeover.settle(IpAddr::from(number.to_be_bytes()), "a");
    }
    let settled = takeover.settled();
    assert_eq!(settled.len(), MOST_SETTLED);
    // A claim of an address that is remembered already evicts no other.
    takeover.settle(settled[0].0, "b");
    assert_eq!(takeover.settled().len(), MOST_SETTLED);
}

#[test]
fn a_boot_ends_unknown_owners_and_cools_everything_anew() {
    let mut book = book();
    hold(&mut book, ip(3), "a");
    hold(&mut book, ip(4), "b");
    end(&mut book, ip(4));
    assert_eq!(book.enter_boot(at(9)), Ok(1));
    assert_eq!(book.allocations().len(), 0);
    let cooling: Vec<_> = book.cooling_addresses().collect();
    assert_eq!(cooling, [(ip(4), at(9)), (ip(3), at(9))]);
    assert!(book.is_settled(ip(3), "a"), "its file still exists after the reboot");
}

#[test]
fn a_claim_that_ends_while_it_waits_takes_nothing_from_the_holder() {
    let mut book = book();
    let claim = book.hold(ip(3), origin("a"), &stamp(), at(1)).unwrap();
    let owner = Owner::Attachment {
        container: tenure_types::ContainerId::new("c").unwrap(),
        interface: tenure_types::InterfaceName::new("eth0").unwrap(),
    };
    let holder = Allocation { owner: owner.clone(), origin: None, ..claim.clone() };
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(holder))).unwrap();
    let claim = Allocation { generation: book.next_generation(), ..claim };
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(claim))).unwrap();
    let owner_of = |held: Option<&Arc<Allocation>>| held.map(|held| held.owner.clone());
    let unknown = Owner::Unknown { address: ip(3) };
    assert_eq!(
        (owner_of(book.holder(ip(3))), owner_of(book.waiting_for(ip(3)))),
        (Some(owner.clone()), Some(unknown))
    );
    end(&mut book, ip(3));
    assert_eq!((owner_of(book.holder(ip(3))), owner_of(book.waiting_for(ip(3)))), (Some(owner), None));
    assert_eq!(book.cooling_since(ip(3)), None);
}

#[test]
fn an_address_that_somebody_waits_for_is_not_admitted_when_its_holder_alone_ends() {
    let mut book = book();
    let claim = book.hold(ip(3), origin("a"), &stamp(), at(1)).unwrap();
    let request = |container: &str| Request {
        network: book.name().clone(),
        owner: Owner::Attachment {
            container: tenure_types::ContainerId::new(container).unwrap(),
            interface: tenure_types::InterfaceName::new("eth0").unwrap(),
        },
        requested: Vec::new(),
        sandbox: Sandbox::default(),
        supply_full: false,
        context: RequestContext::default(),
        requested_at: at(1),
    };
    let (first, next) = (request("c1"), request("c2"));
    let holder = Allocation { owner: first.owner, origin: None, ..claim.clone() };
    let claim = Allocation { generation: Generation(holder.generation.0 + 1), ..claim };
    let generations = [holder.generation, claim.generation];
    for allocation in [holder, claim] {
        book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
    }
    let proposal = Proposal::of([(0, ip(3))]);
    let admits =
        |ending: &[Generation]| book.admit_living(&next, &proposal, &stamp(), at(2), ending).map(drop);
    assert_eq!(admits(&generations[..1]), Err(Violation::Held(ip(3), Owner::Unknown { address: ip(3) })));
    assert_eq!(admits(&generations), Ok(()));
}

#[test]
fn what_has_ended_is_known_in_the_next_network_of_the_name() {
    let mut first = book();
    for (address, claim) in [(ip(3), "a"), (ip(77), "b")] {
        hold(&mut first, address, claim);
        end(&mut first, address);
    }
    let mut removed = RemovedNetworks::default();
    let remove = |removed: &mut RemovedNetworks, place: u64, book: &mut Book| {
        let fact = LedgerFact::Removed { network: book.name().clone(), at: at(3) };
        removed.follow(place, &fact, book);
    };
    remove(&mut removed, 10, &mut first);
    assert!(removed.is_settled(first.name(), ip(77), "b") && !removed.is_settled(first.name(), ip(77), "a"));
    assert!(!removed.is_settled(&NetworkName::new("other").unwrap(), ip(77), "b"));
    removed.forget_before(11);
    assert_eq!(removed.names().count(), 1, "an import may still find the claims");

    let defined = LedgerFact::Defined(Arc::clone(&first.image().network));
    let mut draft = Book::empty(first.name());
    removed.tell(&defined, &mut draft);
    assert!(draft.is_settled(ip(3), "a"), "a draft knows them, too");
    let mut next = Book::empty(first.name());
    removed.follow(11, &defined, &mut next);
    assert!(next.is_settled(ip(3), "a") && next.is_settled(ip(77), "b"));
    assert_eq!(removed.get(first.name()).unwrap().settled, [], "the book has them");
    // A claim that was made since comes first.
    hold(&mut next, ip(3), "c");
    end(&mut next, ip(3));
    remove(&mut removed, 12, &mut next);
    assert!(removed.is_settled(first.name(), ip(3), "c") && !removed.is_settled(first.name(), ip(3), "a"));
    let mut other = Book::empty(&NetworkName::new("other").unwrap());
    removed.tell(&LedgerFact::Defined(Arc::clone(&other.image().network)), &mut other);
    assert!(!other.is_settled(ip(3), "c"), "another network");
}

#[test]
fn the_claims_of_the_networks_that_were_removed_first_are_forgotten_first() {
    let network = |name: &str| NetworkName::new(name).unwrap();
    let claims = |count: usize| {
        let addresses = (0..u32::try_from(count).unwrap()).map(|number| IpAddr::from(number.to_be_bytes()));
        addresses.map(|address| (address, "a".into())).collect()
    };
    for (second, left) in
        [(MOST_SETTLED - 2, [1, MOST_SETTLED - 2, 1]), (MOST_SETTLED - 1, [0, MOST_SETTLED - 1, 1])]
    {
        let mut removed = RemovedNetworks::default();
        for (name, through, count) in [("second", 6, second), ("first", 5, 1)] {
            let settled = claims(count);
            removed.restore(network(name), RemovedNetwork { through, settled, ..RemovedNetwork::default() });
        }
        let mut book = book();
        hold(&mut book, ip(3), "a");
        end(&mut book, ip(3));
        let fact = LedgerFact::Removed { network: book.name().clone(), at: at(3) };
        removed.follow(10, &fact, &mut book);
        let known = |name: &str| removed.get(&network(name)).unwrap().settled.len();
        assert_eq!(["first", "second", "net"].map(known), left);
    }
}

#[test]
fn what_a_book_knows_of_an_address_comes_before_what_an_earlier_network_knew() {
    let (mut book, mut removed) = (book(), RemovedNetworks::default());
    let settled = [3, 4, 5].map(|last| (ip(last), "old".into())).into();
    removed.restore(book.name().clone(), RemovedNetwork { through: 1, settled, ..RemovedNetwork::default() });
    hold(&mut book, ip(3), "new");
    hold(&mut book, ip(4), "new");
    end(&mut book, ip(4));
    removed.tell(&LedgerFact::Defined(Arc::clone(book.network())), &mut book);
    let old = [3, 4, 5].map(|last| book.is_settled(ip(last), "old"));
    assert_eq!((old, book.is_settled(ip(4), "new")), ([false, false, true], true));
}
