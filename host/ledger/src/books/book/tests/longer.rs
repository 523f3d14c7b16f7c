//! A cooldown is as long as its network asked for when the address was freed.

use tenure_types::{Attributes, COOLDOWN_SECONDS};

use super::*;
use crate::{RemovedNetwork, RemovedNetworks};

fn asking(book: &mut Book, cooldown: Option<&str>) {
    let attributes = Attributes::new(cooldown.map(|seconds| (COOLDOWN_SECONDS, seconds))).unwrap();
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![slash_29()] }];
    let definition = Definition { pools, attributes, ..Definition::default() };
    let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
    for fact in book.redefine(defined, at(0)).unwrap() {
        book.apply(book.through() + 1, &fact).unwrap();
    }
}

/// A book with an address that was freed at 1 s under a cooldown of 600 s, and one that was freed at 2 s under none.
fn mixed() -> Book {
    let mut book = Book::empty(&name());
    asking(&mut book, Some("600"));
    give(&mut book, 1, ip(2));
    free(&mut book, 1, 1_000);
    asking(&mut book, None);
    give(&mut book, 2, ip(3));
    free(&mut book, 2, 2_000);
    book
}

fn cool(book: &Book, ms: u64) -> Vec<IpAddr> {
    let mut book = book.clone();
    book.expire(at(ms), COOLDOWN);
    assert!(!book.has_expired(at(ms), COOLDOWN));
    book.cooling_addresses().map(|(address, _)| address).collect()
}

#[test]
fn a_later_definition_shortens_no_cooldown() {
    let of_one = mixed();
    let restored = Book::restore(of_one.image()).unwrap();
    for book in [of_one, restored] {
        assert_eq!(cool(&book, 31_999), [ip(2), ip(3)]);
        assert_eq!(cool(&book, 32_000), [ip(2)]);
        assert_eq!(cool(&book, 600_999), [ip(2)]);
        assert!(cool(&book, 601_000).is_empty());
        assert!(book.has_expired(at(32_000), COOLDOWN), "the first in the queue keeps no other waiting");
    }
}

#[test]
fn a_boot_begins_each_cooldown_again_at_its_own_length() {
    let mut book = mixed();
    book.enter_boot(at(5)).unwrap();
    assert_eq!(
        (cool(&book, 30_004).len(), cool(&book, 30_005), cool(&book, 600_005)),
        (2, vec![ip(2)], vec![])
    );
}

#[test]
fn a_cooldown_goes_on_in_the_next_network_with_the_range() {
    let mut removed = RemovedNetworks::default();
    let mut book = mixed();
    let fact = LedgerFact::Removed { network: name(), at: at(3_000) };
    book.apply(20, &fact).unwrap();
    removed.follow(20, &fact, &mut book);

    let mut next = Book::empty(&name());
    let defined = |book: &Book| {
        let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![slash_29()] }];
        let definition = Definition { pools, ..Definition::default() };
        book.redefine(
            Defined { config: &Arc::default(), definition: &definition, by: Definer::Request },
            at(0),
        )
    };
    for (place, fact) in (21..).zip(defined(&next).unwrap()) {
        next.apply(place, &fact).unwrap();
        removed.follow(place, &fact, &mut next);
    }
    assert_eq!(
        (cool(&next, 31_999).len(), cool(&next, 32_000), cool(&next, 601_000)),
        (2, vec![ip(2)], vec![])
    );
    assert!(matches!(propose(&next, 9, ip(2)), Err(Violation::Cooling(_))));
    removed.expire(at(32_000), COOLDOWN);
    assert_eq!(removed.get(&name()).unwrap().cooling.len(), 1);
    removed.expire(at(601_000), COOLDOWN);
    removed.forget_before(20);
    assert_eq!(removed.names().count(), 1, "a log from there has facts of it");
    removed.forget_before(21);
    assert_eq!(removed.names().count(), 0);
}

/// An address that has come into use since, or was freed later, keeps its own standing.
#[test]
fn an_older_cooldown_replaces_no_later_one() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    give(&mut book, 2, ip(3));
    free(&mut book, 2, 50_000);
    for last in [2, 3, 4] {
        book.go_on_cooling(crate::CoolingAddress { address: ip(last), since: at(1_000), seconds: 0 });
    }
    let cooling: Vec<_> = book.cooling_addresses().collect();
    assert_eq!(cooling, [(ip(3), at(50_000)), (ip(4), at(1_000))]);
    assert!(book.holder(ip(2)).is_some());
}

#[test]
fn a_later_cooldown_replaces_an_older_one() {
    let cooling = |ms, seconds| crate::CoolingAddress { address: ip(2), since: at(ms), seconds };
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    free(&mut book, 1, 1_000);
    book.go_on_cooling(cooling(50_000, 0));
    assert_eq!(book.cooling_addresses().collect::<Vec<_>>(), [(ip(2), at(50_000))]);
    book.go_on_cooling(cooling(1_000, 600));
    assert_eq!(book.cooling_addresses().collect::<Vec<_>>(), [(ip(2), at(1_000))], "it lasts longer");

    let mut removed = RemovedNetworks::default();
    for one in [cooling(2_000, 0), cooling(3_000, 0), cooling(1_000, 0)] {
        removed
            .restore(name(), RemovedNetwork { through: 20, cooling: vec![one], ..RemovedNetwork::default() });
    }
    assert_eq!(removed.get(&name()).unwrap().cooling, [cooling(3_000, 0)]);
    removed.forget_before(21);
    assert_eq!(removed.names().count(), 1, "its address still cools");
    removed.enter_boot(at(9));
    assert_eq!(removed.get(&name()).unwrap().cooling, [cooling(9, 0)]);
}

/// Being in use is a fact; once the address is freed, a cooldown of its own begins.
#[test]
fn an_address_that_an_import_finds_in_use_is_held_and_cools_no_longer() {
    let mut book = mixed();
    let import = |book: &Book, number: u32, address: IpAddr| {
        let (proposal, now) = (Proposal::of([(0, address)]), at(3_000));
        book.admit_living(&request(owner(number), &[], 0), &proposal, &stamp(), now, &[]).unwrap()
    };
    let allocation = import(&book, 7, ip(2));
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
    assert_eq!((cool(&book, 3_000), book.standing(ip(2))), (vec![ip(3)], Standing::Held));
    free(&mut book, 7, 4_000);
    assert_eq!((cool(&book, 33_999), cool(&book, 34_000)), (vec![ip(2)], vec![]));
}

#[test]
fn a_range_asks_for_longer_than_its_network() {
    let mut book = Book::empty(&name());
    let attributes = Attributes::new([(COOLDOWN_SECONDS, "600")]).unwrap();
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![slash_29().with(attributes)] }];
    let definition = Definition { pools, ..Definition::default() };
    let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
    for fact in book.redefine(defined, at(0)).unwrap() {
        book.apply(book.through() + 1, &fact).unwrap();
    }
    give(&mut book, 1, ip(2));
    free(&mut book, 1, 1_000);
    let restored = Book::restore(book.image()).unwrap();
    for book in [book, restored] {
        assert_eq!((cool(&book, 600_999), cool(&book, 601_000)), (vec![ip(2)], vec![]));
    }
}

#[test]
fn a_snapshot_has_each_cooldown_once_for_the_addresses_in_a_row_that_have_it() {
    let mut book = Book::empty(&name());
    for (asked, addresses) in [(Some("600"), 2..=3), (None, 4..=4)] {
        asking(&mut book, asked);
        addresses.clone().for_each(|last| give(&mut book, last.into(), ip(last)));
        addresses.for_each(|last| free(&mut book, last.into(), 1_000));
    }
    let image = book.image();
    let counts: Vec<_> = image.cooldowns.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [2, 1]);
    assert_eq!(cool(&Book::restore(image).unwrap(), 600_999), [ip(2), ip(3)]);
}
