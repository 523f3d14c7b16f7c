use tenure_types::Origin;

use super::*;

/// The usage of a pool.
fn use_of(book: &Book) -> (Usage, Vec<IpAddr>, Vec<IpAddr>, bool) {
    let pool = Shelf::whole(0);
    let free = book.free(pool, None, Direction::Ascending, 9);
    (book.usage(pool), free, book.cooling(pool, 9), book.is_exhausted(0))
}

/// An unknown owner holds the gateway's address, which the range reserves.
fn hold_the_gateway(book: &mut Book) {
    let origin = Origin { source: "files".into(), claims: Vec::new(), why: "".into() };
    let allocation = book.hold(ip(1), origin, &stamp(), at(0)).unwrap();
    book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
}

fn let_the_gateway_go(book: &mut Book) {
    let fact = book.release(&Owner::Unknown { address: ip(1) }, at(1), "operator").unwrap();
    book.apply(book.through() + 1, &fact).unwrap();
}

/// The book's only range goes and comes back, while its addresses are in use: the pool's use is what it was.
fn the_range_comes_back(mut book: Book) {
    let before = use_of(&book);
    define(&mut book, Cooling::Strict, vec![vec![]]);
    assert_eq!((use_of(&book), book.total(0)), ((Usage::default(), vec![], vec![], true), 0));
    define(&mut book, Cooling::Strict, vec![vec![slash_29()]]);
    assert_eq!((use_of(&book), book.total(0)), (before, 5));
}

/// The addresses from .2 to here are held.
fn held_to(last: u8) -> Book {
    let mut book = small(Cooling::Strict);
    (2..=last).for_each(|last| give(&mut book, last.into(), ip(last)));
    book
}

#[test]
fn a_range_comes_back_with_its_addresses_in_use() {
    the_range_comes_back(held_to(3));
    let mut cooling = held_to(4);
    free(&mut cooling, 3, 5);
    free(&mut cooling, 2, 6);
    the_range_comes_back(cooling);
}

#[test]
fn a_full_range_comes_back_full() {
    let mut book = held_to(6);
    the_range_comes_back(book.clone());
    free(&mut book, 4, 5);
    assert!(book.is_exhausted(0));
    the_range_comes_back(book);
}

#[test]
fn an_address_that_is_reserved_fills_nothing() {
    let mut book = held_to(5);
    hold_the_gateway(&mut book);
    assert!(!book.is_exhausted(0));
    the_range_comes_back(book.clone());
    let_the_gateway_go(&mut book);
    the_range_comes_back(book);
}

#[test]
fn a_range_comes_back_with_its_addresses_in_quarantine() {
    for (held, quarantined) in [(3, &[1, 3, 5][..]), (5, &[1])] {
        let mut book = held_to(held);
        for last in quarantined {
            let fact = book.quarantine(ip(*last), "somebody else answers", at(0)).unwrap().unwrap();
            book.apply(book.through() + 1, &fact).unwrap();
        }
        assert!(!book.is_exhausted(0));
        the_range_comes_back(book);
    }
}
