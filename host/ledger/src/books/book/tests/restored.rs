//! Books from data that contradicts itself.

use super::*;

#[test]
fn a_snapshot_with_two_allocations_of_an_owner_is_refused() {
    let mut book = small(Cooling::Strict);
    (2..6).for_each(|last| give(&mut book, last.into(), ip(last)));
    let mut image = book.image();
    let twice = Allocation { owner: owner(2), ..image.allocations[2].as_ref().clone() };
    image.allocations[2] = Arc::new(twice);
    assert_eq!(Book::restore(image).err(), Some(Conflict::Owner(owner(2), Generation(3))));
}

/// Whatever a snapshot says, nobody is given what somebody has.
#[test]
fn an_address_that_is_held_or_in_quarantine_does_not_cool_down_also_if_a_snapshot_says_so() {
    let mut book = small(Cooling::Strict);
    give(&mut book, 1, ip(2));
    let fact = book.quarantine(ip(3), "somebody else answers", at(0)).unwrap().unwrap();
    book.apply(book.through() + 1, &fact).unwrap();
    let (mut image, mut outline) = (book.image(), book.outline());
    for address in [2, 3, 4].map(ip) {
        image.cooling.push((address, at(0)));
        outline.cooling.push(crate::CoolingAddress { address, since: at(0), seconds: 0 });
    }
    for read in [Book::restore(image).unwrap(), Book::of_outline(outline, &stamp()).unwrap()] {
        assert_eq!(read.cooling(Shelf::whole(0), 9), [ip(4)]);
        assert_eq!([2, 3].map(|last| read.standing(ip(last))), [Standing::Held, Standing::Quarantined]);
        assert_eq!(read.cooling_entries().len(), 1);
    }
}
