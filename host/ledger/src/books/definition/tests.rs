use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Attributes, Definer, Moment, Need, NetworkName, Pool, agreed};

use super::*;
use crate::{Book, Direction, LedgerFact, Shelf, Standing, Usage};

fn range(subnet: &str, first: &str, last: &str) -> Range {
    Range::new(subnet.parse().unwrap(), first.parse().unwrap(), last.parse().unwrap(), None, 24).unwrap()
}

fn v4(number: usize) -> Range {
    let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
    let first = format!("10.{high}.{low}.1");
    range(&format!("10.{high}.{low}.0/24"), &first, &first)
}

fn zone(range: Range, zone: &str) -> Range {
    range.with(Attributes::new([("zone", zone)]).unwrap())
}

fn name(text: &str) -> PoolName {
    PoolName::new(text).unwrap()
}

fn pool(text: &str, ranges: Vec<Range>) -> DefinedPool {
    DefinedPool { pool: Pool::new(name(text)), ranges }
}

fn hosts(text: &str) -> DefinedPool {
    let supplied = Pool { supply: Supply::Host, need: Need::Optional, ..Pool::new(name(text)) };
    DefinedPool { pool: supplied, ranges: Vec::new() }
}

fn definition(pools: Vec<DefinedPool>) -> Definition {
    Definition { pools, ..Definition::default() }
}

fn check(pools: Vec<Vec<Range>>) -> Result<(), InvalidDefinition> {
    let pools = pools.into_iter().enumerate();
    let pools = pools.map(|(index, ranges)| DefinedPool { pool: Pool::numbered(index), ranges });
    check_definition(&definition(pools.collect()))
}

fn at() -> Moment {
    Moment { boot_ns: 7, wall_ms: 7 }
}

/// Redefines a book; returns the kinds of the facts applied.
fn redefine(book: &mut Book, pools: Vec<DefinedPool>) -> Result<Vec<&'static str>, InvalidDefinition> {
    let (config, definition) = (Arc::default(), definition(pools));
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    let facts = book.redefine(defined, at())?;
    facts.iter().for_each(|fact| book.apply(book.through() + 1, fact).unwrap());
    assert_eq!(book.redefine(defined, at()), Ok(Vec::new()), "redefining it again changes nothing");
    Ok(facts.iter().map(kind).collect())
}

fn kind(fact: &LedgerFact) -> &'static str {
    match fact {
        LedgerFact::Defined(_) => "defined",
        LedgerFact::RangeAdded { .. } => "added",
        LedgerFact::RangeRemoved { .. } => "removed",
        LedgerFact::RangeDraining { .. } => "draining",
        _ => "other",
    }
}

fn book() -> Book {
    Book::empty(&NetworkName::new("net").unwrap())
}

fn free(book: &Book, shelf: Shelf<'_>) -> Vec<String> {
    book.free(shelf, None, Direction::Ascending, 9).iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_pool_is_legal_and_no_pool_is_not() {
    assert_eq!(check(vec![]), Err(InvalidDefinition::NoPools));
    assert_eq!(check(vec![vec![v4(1)], vec![]]), Ok(()));
    let mut book = book();
    redefine(&mut book, vec![pool("a", vec![])]).unwrap();
    assert!(book.is_exhausted(0), "an empty pool is exhausted");
}

#[test]
fn there_are_as_many_as_the_host_keeps_and_no_more() {
    let pools = |count| (0..count).map(|number| vec![v4(number)]).collect();
    let ranges = |count| vec![(0..count).map(v4).collect()];
    for most in [pools(MOST_POOLS), ranges(MOST_RANGES)] {
        assert_eq!(check(most), Ok(()));
    }
    assert_eq!(check(pools(MOST_POOLS + 1)), Err(InvalidDefinition::TooManyPools(MOST_POOLS + 1)));
    assert_eq!(check(ranges(MOST_RANGES + 1)), Err(InvalidDefinition::TooManyRanges(MOST_RANGES + 1)));
}

#[test]
fn a_cooldown_is_a_number_of_seconds() {
    let cooling = |seconds: &str| {
        let attributes = Attributes::new([("cooldownSeconds", seconds)]).unwrap();
        check_definition(&Definition { attributes, ..definition(vec![pool("a", vec![v4(1)])]) })
    };
    assert_eq!(cooling("0"), Ok(()));
    for wrong in ["", "-1", "1.5", "30s", "4294967296"] {
        assert_eq!(cooling(wrong), Err(InvalidDefinition::Cooldown(wrong.to_owned())));
    }
}

#[test]
fn names_are_there_once() {
    let twice = definition(vec![pool("a", vec![v4(1)]), pool("a", vec![])]);
    assert_eq!(check_definition(&twice), Err(InvalidDefinition::PoolTwice(name("a"))));
    let named = |number| v4(number).named(RangeName::new("r").unwrap());
    let twice = definition(vec![pool("a", vec![named(1), named(2)])]);
    let expected = InvalidDefinition::RangeTwice(name("a"), RangeName::new("r").unwrap());
    assert_eq!(check_definition(&twice), Err(expected));
    assert_eq!(
        check_definition(&definition(vec![pool("a", vec![named(1)]), pool("b", vec![named(2)])])),
        Ok(())
    );
}

#[test]
fn a_pool_is_of_one_family_and_a_network_may_have_both() {
    let v6 = range("fd00::/64", "fd00::1", "fd00::9");
    assert_eq!(check(vec![vec![v4(1)], vec![v6.clone()]]), Ok(()));
    let mixed = check(vec![vec![v6.clone()], vec![v4(1), v6]]);
    assert!(matches!(mixed, Err(InvalidDefinition::MixedFamilies(_) | InvalidDefinition::Overlap(_))));
}

#[test]
fn no_address_is_in_two_ranges() {
    let of = |first, last| range("10.0.0.0/24", first, last);
    let (low, high) = (of("10.0.0.1", "10.0.0.9"), of("10.0.0.10", "10.0.0.20"));
    assert_eq!(check(vec![vec![high.clone()], vec![low.clone()]]), Ok(()));
    let shared = of("10.0.0.9", "10.0.0.9");
    let overlap = InvalidDefinition::Overlap(Box::new((low.clone(), shared.clone())));
    assert_eq!(check(vec![vec![high, shared], vec![low]]), Err(overlap));
}

#[test]
fn what_stays_is_not_touched() {
    let mut book = book();
    let first = vec![pool("a", vec![v4(1), v4(2)])];
    assert_eq!(redefine(&mut book, first).unwrap(), ["defined", "added", "added"]);
    let more = vec![pool("a", vec![v4(1), v4(2), v4(3)])];
    assert_eq!(redefine(&mut book, more).unwrap(), ["added"]);
    let reordered = vec![pool("a", vec![v4(1), v4(3), v4(2)])];
    assert_eq!(redefine(&mut book, reordered).unwrap(), ["removed", "removed", "added", "added"]);
    assert_eq!(free(&book, Shelf::whole(0)), ["10.0.1.1", "10.0.3.1", "10.0.2.1"]);
    let moved = vec![pool("a", vec![v4(1)]), pool("b", vec![v4(3), v4(2)])];
    assert_eq!(redefine(&mut book, moved).unwrap(), ["removed", "removed", "defined", "added", "added"]);
    let renamed = vec![pool("c", vec![v4(1)]), pool("b", vec![v4(3), v4(2)])];
    assert_eq!(
        redefine(&mut book, renamed).unwrap(),
        ["defined", "added"],
        "a range is removed with its pool"
    );
    assert_eq!(free(&book, Shelf::whole(1)), ["10.0.3.1", "10.0.2.1"]);
}

#[test]
fn what_the_host_supplies_comes_drains_and_goes() {
    let mut book = book();
    redefine(&mut book, vec![pool("a", vec![v4(1)]), hosts("eni")]).unwrap();
    let apply = |book: &mut Book, fact: LedgerFact| book.apply(book.through() + 1, &fact).unwrap();
    let supplied = book.supply(&name("eni"), zone(v4(2), "a"), at()).unwrap();
    apply(&mut book, supplied);
    assert_eq!(free(&book, Shelf::labelled(1, "zone", "a")), ["10.0.2.1"]);
    let two = v4(2).name().clone();
    let draining = book.drain(&name("eni"), &two, true, at()).unwrap().unwrap();
    apply(&mut book, draining);
    assert_eq!((free(&book, Shelf::whole(1)), book.is_exhausted(1)), (Vec::new(), true));
    assert_eq!(book.standing(IpAddr::from([10, 0, 2, 1])), Standing::Draining);
    assert_eq!(book.usage(Shelf::whole(1)), Usage::default());
    assert_eq!(book.drain(&name("eni"), &two, true, at()), Ok(None));
    assert!(Book::restore(book.image()).unwrap().is_exhausted(1), "also after a snapshot");
    // A definition does not change it.
    assert_eq!(
        redefine(&mut book, vec![pool("a", vec![v4(3)]), hosts("eni")]).unwrap(),
        ["removed", "added"]
    );
    let again = book.drain(&name("eni"), &two, false, at()).unwrap().unwrap();
    apply(&mut book, again);
    assert_eq!(free(&book, Shelf::whole(1)), ["10.0.2.1"]);
    let gone = book.withdraw(&name("eni"), &two, at()).unwrap().unwrap();
    apply(&mut book, gone);
    assert_eq!((book.withdraw(&name("eni"), &two, at()), book.ranges(1).count()), (Ok(None), 0));
}

#[test]
fn what_the_host_supplies_is_bounded_like_a_definition() {
    let mut book = book();
    redefine(&mut book, vec![pool("a", vec![v4(1)]), hosts("eni")]).unwrap();
    let mut supply = |pool: &str, range: Range| {
        let fact = book.supply(&name(pool), range, at())?;
        book.apply(book.through() + 1, &fact).unwrap();
        Ok(())
    };
    assert_eq!(supply("eni", v4(2)), Ok(()));
    assert_eq!(supply("a", v4(3)), Err(InvalidDefinition::NotHostSupplied(name("a"))));
    assert_eq!(supply("b", v4(3)), Err(InvalidDefinition::NotHostSupplied(name("b"))));
    assert!(matches!(supply("eni", v4(2)), Err(InvalidDefinition::RangeTwice(..))));
    let other = v4(1).named(RangeName::new("other").unwrap());
    assert!(matches!(supply("eni", other), Err(InvalidDefinition::Overlap(_))));
    let v6 = range("fd00::/64", "fd00::1", "fd00::9");
    assert_eq!(supply("eni", v6), Err(InvalidDefinition::MixedFamilies(name("eni"))));
    let overlapping = redefine(&mut book, vec![pool("a", vec![v4(2)]), hosts("eni")]);
    assert!(
        matches!(overlapping, Err(InvalidDefinition::Overlap(_))),
        "a definition cannot take an address that the host supplies"
    );
    let supplied = DefinedPool { ranges: vec![v4(9)], ..hosts("eni") };
    assert_eq!(
        check_definition(&definition(vec![supplied])),
        Err(InvalidDefinition::HostSupplied(name("eni")))
    );
}

#[test]
fn as_many_ranges_as_the_host_keeps_fit_beside_what_it_supplies() {
    let mut book = book();
    let configured = |count: usize| vec![pool("a", (1..=count).map(v4).collect()), hosts("eni")];
    redefine(&mut book, configured(1)).unwrap();
    let supplied = book.supply(&name("eni"), v4(MOST_RANGES), at()).unwrap();
    book.apply(book.through() + 1, &supplied).unwrap();
    let too_many = InvalidDefinition::TooManyRanges(MOST_RANGES + 1);
    assert_eq!(redefine(&mut book, configured(MOST_RANGES)), Err(too_many.clone()));
    redefine(&mut book, configured(MOST_RANGES - 1)).unwrap();
    assert_eq!(book.supply(&name("eni"), v4(MOST_RANGES + 1), at()), Err(too_many));
}

#[test]
fn what_the_host_supplied_is_in_nobodys_way_once_its_pool_goes() {
    let mut book = book();
    let supply = |book: &mut Book, pool: &str, range: Range| {
        let fact = book.supply(&name(pool), range, at()).unwrap();
        book.apply(book.through() + 1, &fact).unwrap();
    };
    redefine(&mut book, vec![hosts("eni"), hosts("other")]).unwrap();
    supply(&mut book, "eni", v4(1));
    supply(&mut book, "other", v4(2));
    let elsewhere = redefine(&mut book, vec![pool("a", vec![v4(1)]), hosts("other")]);
    assert_eq!(elsewhere.unwrap(), ["defined", "added"], "a pool that is gone");
    let configured = v4(2).named(RangeName::new("configured").unwrap());
    let itself = redefine(&mut book, vec![pool("a", vec![v4(1)]), pool("other", vec![configured])]);
    assert_eq!(itself.unwrap(), ["removed", "defined", "added"], "a pool that the file supplies now");
}

#[test]
fn prefixes_fill_their_range() {
    let prefixes = |first: &str, last: &str| {
        let (first, last) = (first.parse().unwrap(), last.parse().unwrap());
        let range = Range::new("10.5.0.0/24".parse().unwrap(), first, last, None, 28).unwrap();
        range.with(Attributes::new([(agreed::ASSIGNS, agreed::PREFIXES)]).unwrap())
    };
    assert_eq!(check(vec![vec![prefixes("10.5.0.0", "10.5.0.63")]]), Ok(()));
    let refused = check(vec![vec![prefixes("10.5.0.1", "10.5.0.63")]]);
    assert!(matches!(refused, Err(InvalidDefinition::Prefixes(..))), "{refused:?}");
}
