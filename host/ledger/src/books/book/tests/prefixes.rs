use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tenure_types::{AgentName, ClaimName, Origin, agreed};

use super::*;
use crate::InvalidDefinition;

fn block(third: u8, fourth: u8) -> IpAddr {
    IpAddr::from([10, 5, third, fourth])
}

/// 10.5.0.0/26 as four prefixes of a length, here /28.
fn grid() -> Range {
    range(0, 63, 28)
}

fn range(first: u8, last: u8, length: u8) -> Range {
    let range = Range::new("10.5.0.0/24".parse().unwrap(), block(0, first), block(0, last), None, length);
    range.unwrap().with(Attributes::new([(agreed::ASSIGNS, agreed::PREFIXES)]).unwrap())
}

/// The same addresses, one by one.
fn singles() -> Range {
    Range::new("10.5.0.0/24".parse().unwrap(), block(0, 0), block(0, 63), None, 24).unwrap()
}

fn book() -> Book {
    book_of(Cooling::Strict, vec![vec![grid()]])
}

fn router(number: u32) -> Owner {
    Owner::Claim {
        agent: AgentName::new("router").unwrap(),
        name: ClaimName::new(format!("p{number}")).unwrap(),
    }
}

fn admit(book: &Book, owner: Owner, address: IpAddr) -> Result<LedgerFact, Violation> {
    let allocation = book.admit(&request(owner, &[], 0), &Proposal::of([(0, address)]), &stamp(), at(0))?;
    Ok(LedgerFact::Allocated(Arc::new(allocation)))
}

fn apply(book: &mut Book, fact: &LedgerFact) {
    book.apply(book.through() + 1, fact).unwrap();
}

fn claim(book: &mut Book, number: u32, address: IpAddr) {
    let fact = admit(book, router(number), address).unwrap();
    apply(book, &fact);
}

fn end(book: &mut Book, owner: &Owner) {
    let fact = book.release(owner, at(0), "").unwrap();
    apply(book, &fact);
}

fn free_prefixes(book: &Book) -> Vec<IpAddr> {
    book.free(Shelf::whole(0), None, Direction::Ascending, 9)
}

fn redefine(book: &Book, ranges: Vec<Range>) -> Result<Vec<LedgerFact>, InvalidDefinition> {
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges }];
    let definition = Definition { pools, cooling: Cooling::Strict, ..Definition::default() };
    crate::check_definition(&definition)?;
    book.redefine(Defined { config: &Arc::default(), definition: &definition, by: Definer::Request }, at(0))
}

#[test]
fn a_claim_has_a_prefix_and_a_pod_does_not() {
    let mut book = book();
    assert_eq!(admit(&book, owner(1), block(0, 16)), Err(Violation::PrefixForPod(block(0, 16), 28)));
    let inside = Violation::Reserved(block(0, 17), "not the first address of a prefix");
    assert_eq!(admit(&book, router(1), block(0, 17)), Err(inside));
    claim(&mut book, 1, block(0, 16));
    let held = book.owned_by(&router(1)).unwrap();
    assert_eq!(
        (held.addresses[0].address.to_string().as_str(), held.addresses[0].is_prefix()),
        ("10.5.0.16/28", true)
    );
    for fourth in 16..32 {
        assert_eq!(book.standing(block(0, fourth)), Standing::Held);
        assert_eq!(book.holder(block(0, fourth)).unwrap().owner, router(1));
    }
    assert!(book.holder(block(0, 15)).is_none() && book.holder(block(0, 32)).is_none());
    assert_eq!(free_prefixes(&book), [block(0, 0), block(0, 32), block(0, 48)]);
    assert_eq!(admit(&book, router(2), block(0, 16)), Err(Violation::Held(block(0, 16), router(1))));
    assert_eq!(book.usage(Shelf::whole(0)), Usage { total: 4, held: 1, cooling: 0 });
}

#[test]
fn a_prefix_cools_down_and_comes_back_as_a_whole() {
    let mut book = book();
    claim(&mut book, 1, block(0, 16));
    end(&mut book, &router(1));
    assert_eq!(admit(&book, router(2), block(0, 16)), Err(Violation::Cooling(block(0, 16))));
    assert_eq!(free_prefixes(&book).len(), 3);
    book.expire(at(60_000), COOLDOWN);
    assert_eq!(free_prefixes(&book).len(), 4);
}

#[test]
fn a_range_does_not_assign_parts_of_a_prefix_that_has_an_owner() {
    let mut book = book();
    claim(&mut book, 1, block(0, 16));
    let refused = |ranges: Vec<Range>, book: &Book| {
        matches!(redefine(book, ranges), Err(InvalidDefinition::PrefixHeld(..)))
    };
    assert!(refused(vec![singles()], &book));
    assert!(refused(vec![range(0, 63, 29)], &book) && refused(vec![range(0, 63, 27)], &book));
    assert!(!refused(vec![range(16, 63, 28)], &book) && !refused(vec![range(32, 63, 29)], &book));
    // Left out of the definition, the prefix stays with its owner, and still cannot be assigned in parts.
    for fact in redefine(&book, vec![range(32, 63, 28)]).unwrap() {
        apply(&mut book, &fact);
    }
    assert_eq!(book.holder(block(0, 20)).unwrap().owner, router(1));
    assert!(refused(vec![singles()], &book));
    let mut book = Book::restore(book.image()).unwrap();
    assert!(refused(vec![singles()], &book));
    end(&mut book, &router(1));
    assert!(!refused(vec![singles()], &book));
}

#[test]
fn a_prefix_around_an_address_in_use_is_not_free() {
    let mut book = book_of(Cooling::Strict, vec![vec![singles()]]);
    for (number, fourth) in [(1, 5), (2, 40)] {
        let fact = propose(&book, number, block(0, fourth)).unwrap();
        apply(&mut book, &fact);
    }
    let fact = book.release(&owner(2), at(0), "del").unwrap();
    apply(&mut book, &fact);
    for fact in redefine(&book, vec![grid()]).unwrap() {
        apply(&mut book, &fact);
    }
    assert_eq!(free_prefixes(&book), [block(0, 16), block(0, 48)]);
    assert_eq!(admit(&book, router(1), block(0, 0)), Err(Violation::Held(block(0, 0), owner(1))));
    assert!(
        matches!(admit(&book, router(1), block(0, 32)), Err(Violation::Reserved(_, text)) if text.contains("cooling"))
    );
    let fact = book.quarantine(block(0, 50), "odd", at(0)).unwrap().unwrap();
    apply(&mut book, &fact);
    assert_eq!(free_prefixes(&book), [block(0, 16)]);
    book.expire(at(60_000), COOLDOWN);
    assert_eq!(free_prefixes(&book), [block(0, 16), block(0, 32)]);
    let forged = book.owned_by(&owner(1)).unwrap();
    let claim = admit(&book, router(1), block(0, 32)).unwrap();
    let LedgerFact::Allocated(claim) = claim else { unreachable!() };
    let mut overlapping = claim.as_ref().clone();
    overlapping.addresses[0].address = "10.5.0.0/28".parse().unwrap();
    let conflict = Conflict::Address(block(0, 0), forged.generation, overlapping.generation);
    assert_eq!(book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(overlapping))), Err(conflict));
}

#[test]
fn an_unknown_owner_inside_a_prefix_has_one_address_and_takes_the_rest_from_nobody() {
    let mut book = book();
    claim(&mut book, 1, block(0, 16));
    for inside in [block(0, 16), block(0, 17)] {
        let origin = Origin { source: "files".into(), claims: vec!["one".into()], why: "empty".into() };
        let held = book.hold(inside, origin, &stamp(), at(0)).unwrap();
        assert!(!held.addresses[0].is_prefix());
        apply(&mut book, &LedgerFact::Allocated(Arc::new(held)));
        end(&mut book, &Owner::Unknown { address: inside });
        assert_eq!(book.holder(block(0, 20)).unwrap().owner, router(1));
        assert!(matches!(redefine(&book, vec![singles()]), Err(InvalidDefinition::PrefixHeld(..))));
    }
}

#[test]
fn prefixes_of_ipv6_are_found_without_counting_addresses() {
    let subnet = "fd00::/48".parse().unwrap();
    let last = "fd00::ffff:ffff:ffff:ffff:ffff".parse().unwrap();
    let range = Range::new(subnet, "fd00::".parse().unwrap(), last, None, 64).unwrap();
    let range = range.with(Attributes::new([(agreed::ASSIGNS, agreed::PREFIXES)]).unwrap());
    let mut book = book_of(Cooling::Strict, vec![vec![range]]);
    for number in 0..3 {
        let next = free_prefixes(&book)[0];
        claim(&mut book, number, next);
    }
    let first: IpAddr = "fd00:0:0:3::".parse().unwrap();
    let end: IpAddr = "fd00:0:0:ffff::".parse().unwrap();
    assert_eq!(free_prefixes(&book)[0], first);
    assert_eq!(book.free(Shelf::whole(0), None, Direction::Descending, 1), [end]);
    assert_eq!(book.usage(Shelf::whole(0)), Usage { total: 65_536, held: 3, cooling: 0 });
}

proptest! {
    /// Compares the free prefixes of the book with those of a model that marks each address.
    #[test]
    fn free_prefixes_have_no_address_in_use(
        steps in prop::collection::vec((0u8..5, 0u8..64), 0..40),
        after in prop::option::of(0u8..64),
    ) {
        let mut book = book();
        let mut held: BTreeMap<u8, u32> = BTreeMap::new();
        let mut barred: BTreeSet<u8> = BTreeSet::new();
        let mut cooling: BTreeSet<u8> = BTreeSet::new();
        for (number, (kind, pick)) in (0..).zip(steps) {
            let base = pick & !15;
            match kind {
                0 | 1 => {
                    let used = held.contains_key(&base) || barred.range(base..base + 16).chain(cooling.range(base..base + 16)).next().is_some();
                    let fact = admit(&book, router(number), block(0, base));
                    prop_assert_eq!(fact.is_ok(), !used, "{:?}", fact);
                    if let Ok(fact) = fact {
                        apply(&mut book, &fact);
                        held.insert(base, number);
                    }
                }
                2 => if let Some(number) = held.remove(&base) {
                    end(&mut book, &router(number));
                    if !barred.contains(&base) {
                        cooling.insert(base);
                    }
                }
                3 => {
                    let fact = book.quarantine(block(0, pick), "odd", at(0)).unwrap();
                    fact.iter().for_each(|fact| apply(&mut book, fact));
                    barred.insert(pick);
                    cooling.remove(&pick);
                }
                _ => {
                    book.expire(at(60_000), COOLDOWN);
                    cooling.clear();
                    let restored = Book::restore(book.image()).unwrap();
                    prop_assert_eq!(restored.image(), book.image());
                    book = restored;
                }
            }
        }
        let is_used = |base: u8| {
            let other = barred.range(base..base + 16).chain(cooling.range(base..base + 16)).next();
            held.contains_key(&base) || other.is_some()
        };
        let expected: Vec<IpAddr> = [0, 16, 32, 48].into_iter().filter(|base| !is_used(*base)).map(|base| block(0, base)).collect();
        prop_assert_eq!(free_prefixes(&book), expected.clone());
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut found = book.free(Shelf::whole(0), after.map(|fourth| block(0, fourth)), direction, 9);
            found.sort_unstable();
            prop_assert_eq!(&found, &expected);
        }
    }
}
