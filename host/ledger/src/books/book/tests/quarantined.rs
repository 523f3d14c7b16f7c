//! Addresses that must not be handed out, and allocations whose owner is doubtful.

use super::*;
use crate::QuarantineSubject::{Address, Allocation as Doubt};
use crate::{QuarantineRefusal, QuarantinedAddress, RemovedNetwork, RemovedNetworks};

fn apply(book: &mut Book, fact: &LedgerFact) {
    book.apply(book.through() + 1, fact).unwrap();
}

fn quarantine(book: &mut Book, address: IpAddr) {
    let fact = book.quarantine(address, "somebody else answers", at(7)).unwrap().unwrap();
    apply(book, &fact);
}

fn lift(book: &mut Book, address: IpAddr, ms: u64) {
    let fact = book.lift(Address(address), at(ms), "").unwrap();
    apply(book, &fact);
}

fn doubt(book: &mut Book, number: u32) {
    let held = Arc::clone(book.owned_by(&owner(number)).unwrap());
    let fact = book.doubt(&held, "its namespace is gone", at(7)).unwrap();
    apply(book, &fact);
}

fn free_addresses(book: &Book) -> Vec<IpAddr> {
    book.free(Shelf::whole(0), None, Direction::Ascending, 9)
}

/// The list of quarantines: the address, the number of its owner, and whether only the owner is doubtful.
fn shown(book: &Book) -> Vec<(IpAddr, Option<Owner>, bool)> {
    let all = book.quarantined().into_iter();
    all.map(|QuarantinedAddress { address, owner, is_doubt, .. }| (address, owner, is_doubt)).collect()
}

#[test]
fn an_address_in_quarantine_is_given_to_nobody_and_counts_as_in_use() {
    for cooling in [Cooling::Strict, Cooling::Preferred] {
        let mut book = small(cooling);
        quarantine(&mut book, ip(3));
        assert_eq!(free_addresses(&book), [2, 4, 5, 6].map(ip));
        assert_eq!(book.usage(Shelf::whole(0)), Usage { total: 5, held: 1, cooling: 0 });
        assert_eq!((book.standing(ip(3)), book.last(Shelf::whole(0))), (Standing::Quarantined, None));
        let request = request(owner(1), &[ip(3)], 0);
        let proposed = book.admit(&request, &Proposal::of([(0, ip(3))]), &stamp(), at(0));
        assert_eq!(proposed, Err(Violation::Quarantined(ip(3))), "not even to a caller that requests it");
        (2..=6).filter(|last| *last != 3).for_each(|last| give(&mut book, last.into(), ip(last)));
        assert!(book.is_exhausted(0));
        assert_eq!(propose(&book, 9, ip(3)), Err(Violation::Quarantined(ip(3))), "not even as the last one");
        book.expire(at(1 << 40), COOLDOWN);
        assert_eq!(book.standing(ip(3)), Standing::Quarantined, "time does not end it");
    }
}

#[test]
fn an_address_that_is_lifted_cools_down_as_a_freed_one_does() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    free(&mut book, 1, 0);
    quarantine(&mut book, ip(2));
    assert!(book.cooling(Shelf::whole(0), 9).is_empty(), "it does not cool meanwhile");
    lift(&mut book, ip(2), 10_000);
    assert_eq!((book.standing(ip(2)), shown(&book)), (Standing::Cooling, vec![]));
    book.expire(at(39_999), COOLDOWN);
    assert_eq!(book.standing(ip(2)), Standing::Cooling);
    book.expire(at(40_000), COOLDOWN);
    assert_eq!((book.standing(ip(2)), free_addresses(&book)), (Standing::Free, (2..=6).map(ip).collect()));
}

#[test]
fn an_owner_keeps_its_address_and_nobody_gets_it_afterwards() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    quarantine(&mut book, ip(2));
    assert_eq!((book.standing(ip(2)), book.usage(Shelf::whole(0)).held), (Standing::Held, 1));
    assert_eq!(shown(&book), [(ip(2), Some(owner(1)), false)]);
    free(&mut book, 1, 0);
    assert_eq!((book.standing(ip(2)), book.usage(Shelf::whole(0)).held), (Standing::Quarantined, 1));
    assert!(book.cooling(Shelf::whole(0), 9).is_empty());
    // An import that finds a pod with the address believes it.
    let living = request(owner(2), &[], 0);
    let found = book.admit_living(&living, &Proposal::of([(0, ip(2))]), &stamp(), at(0), &[]).unwrap();
    apply(&mut book, &LedgerFact::Allocated(Arc::new(found)));
    assert_eq!((book.standing(ip(2)), book.usage(Shelf::whole(0)).held), (Standing::Held, 1));
    lift(&mut book, ip(2), 0);
    assert_eq!((book.standing(ip(2)), book.usage(Shelf::whole(0)).held), (Standing::Held, 1));
    free(&mut book, 2, 0);
    assert_eq!(book.standing(ip(2)), Standing::Cooling);
}

#[test]
fn a_doubtful_owner_keeps_everything_but_its_good_name() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    let before = book.image();
    doubt(&mut book, 1);
    let mut after = book.image();
    assert_eq!(std::mem::take(&mut after.quarantined).len(), 1);
    assert_eq!(Image { through: before.through, ..after }, before, "nothing else has changed");
    assert_eq!(shown(&book), [(ip(2), Some(owner(1)), true)]);
    let held = Arc::clone(book.owned_by(&owner(1)).unwrap());
    assert_eq!(book.doubt(&held, "again", at(9)), None, "it is known since then");
    assert!(book.repeat(&request(owner(1), &[], 1)).is_some(), "a repeated ADD is answered");
    free(&mut book, 1, 0);
    assert_eq!((shown(&book), book.standing(ip(2))), (vec![], Standing::Cooling));
}

#[test]
fn either_mark_is_a_quarantine_and_the_doubts_are_listed_in_order() {
    let mut book = small(Cooling::Strict);
    assert!(!book.has_quarantine());
    quarantine(&mut book, ip(6));
    assert!(book.has_quarantine() && book.doubts().next().is_none());
    lift(&mut book, ip(6), 0);
    for (number, address) in [(1, ip(2)), (2, ip(3)), (3, ip(4))] {
        give(&mut book, number, address);
    }
    [3, 1].into_iter().for_each(|number| doubt(&mut book, number));
    let doubtful = [1, 3].map(|number| book.owned_by(&owner(number)).unwrap().generation);
    assert_eq!((book.has_quarantine(), Vec::from_iter(book.doubts())), (true, doubtful.to_vec()));
}

#[test]
fn a_doubt_ends_when_it_is_lifted_or_the_owner_asks_again() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    doubt(&mut book, 1);
    let generation = book.owned_by(&owner(1)).unwrap().generation;
    let fact = book.lift(Doubt(generation), at(8), "the runtime lists it").unwrap();
    apply(&mut book, &fact);
    assert_eq!((shown(&book), book.lift(Doubt(generation), at(8), "")), (vec![], None));
    doubt(&mut book, 1);
    let stale = Arc::clone(book.owned_by(&owner(1)).unwrap());
    let Some(Repeat::Renews(fact)) = book.repeat(&request(owner(1), &[], 2)) else { panic!("no renewal") };
    apply(&mut book, &fact);
    assert_eq!(shown(&book), []);
    assert_eq!(book.doubt(&stale, "late", at(9)), None, "what was looked for is another allocation now");
}

#[test]
fn only_the_networks_own_addresses_can_be_in_quarantine() {
    let mut book = small(Cooling::Strict);
    assert_eq!(book.quarantine(ip(77), "", at(0)), Err(QuarantineRefusal::Outside(ip(77))));
    quarantine(&mut book, ip(3));
    assert_eq!(book.quarantine(ip(3), "somebody else answers", at(9)), Ok(None));
    let fact = book.quarantine(ip(3), "another reason", at(9)).unwrap().unwrap();
    apply(&mut book, &fact);
    assert_eq!((&*book.quarantine_of(ip(3)).unwrap().reason, shown(&book).len()), ("another reason", 1));
    assert_eq!(book.usage(Shelf::whole(0)).held, 1);
    assert_eq!(book.lift(Address(ip(4)), at(9), ""), None);
}

#[test]
fn a_quarantine_survives_redefinition_a_reboot_and_a_snapshot() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(4));
    quarantine(&mut book, ip(3));
    quarantine(&mut book, ip(4));
    define(&mut book, Cooling::Strict, vec![vec![]]);
    assert_eq!(book.standing(ip(3)), Standing::Outside);
    define(&mut book, Cooling::Strict, vec![vec![slash_29()]]);
    let restored = Book::restore(book.image()).unwrap();
    assert_eq!(restored.image(), book.image());
    for mut book in [book, restored] {
        assert_eq!((book.standing(ip(3)), book.usage(Shelf::whole(0)).held), (Standing::Quarantined, 2));
        assert_eq!(book.enter_boot(at(50)), Ok(1));
        assert_eq!(free_addresses(&book), [2, 5, 6].map(ip));
        assert_eq!(shown(&book), [(ip(3), None, false), (ip(4), None, false)]);
    }
}

/// The book of a new network with the range, after the facts that define it, in order from this place.
fn next(name: &NetworkName, removed: &mut RemovedNetworks, first: u64) -> Book {
    let mut next = Book::empty(name);
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![slash_29()] }];
    let definition = Definition { pools, ..Definition::default() };
    let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
    for (place, fact) in (first..).zip(next.redefine(defined, at(0)).unwrap()) {
        next.apply(place, &fact).unwrap();
        removed.follow(place, &fact, &mut next);
    }
    next
}

fn remove(book: &mut Book, removed: &mut RemovedNetworks, place: u64) {
    let fact = LedgerFact::Removed { network: book.name().clone(), at: at(3_000) };
    book.apply(place, &fact).unwrap();
    removed.follow(place, &fact, book);
}

#[test]
fn a_quarantine_goes_on_in_the_next_network_with_the_range_until_it_is_lifted() {
    let mut removed = RemovedNetworks::default();
    let mut book = small(Cooling::Strict);
    quarantine(&mut book, ip(3));
    remove(&mut book, &mut removed, 20);
    removed.expire(at(1 << 40), COOLDOWN);
    removed.forget_before(100);
    let other = NetworkName::new("other").unwrap();
    let mut book = next(&other, &mut removed, 21);
    assert_eq!(book.standing(ip(3)), Standing::Quarantined);
    remove(&mut book, &mut removed, 40);
    let mut book = next(&name(), &mut removed, 41);
    assert_eq!(book.standing(ip(3)), Standing::Quarantined);
    let fact = book.lift(Address(ip(3)), at(9), "").unwrap();
    // A snapshot may know a removal that comes after it.
    removed.restore(
        NetworkName::new("later").unwrap(),
        RemovedNetwork {
            quarantined: book.marked_addresses().collect(),
            through: 61,
            ..removed.get(&other).unwrap()
        },
    );
    book.apply(60, &fact).unwrap();
    removed.follow(60, &fact, &mut book);
    let known = |name: &NetworkName| removed.get(name).unwrap().quarantined.len();
    assert_eq!((known(&other), known(&name()), known(&NetworkName::new("later").unwrap())), (0, 0, 1));
}
