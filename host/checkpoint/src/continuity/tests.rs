use tenure_types::{BootId, Moment};

use super::*;
use crate::header::Base;

/// The end of segment 1, with this fact.
fn end(fact: u64) -> Durable {
    Durable { fact, log: 1, length: 500, group: 90, checksum: 7 }
}

fn header(first: u64, after: Option<Durable>) -> LogHeader {
    LogHeader {
        version: 1,
        program: "test".to_owned(),
        number: 2,
        first,
        base: Base::Snapshot,
        after,
        boot: BootId("a".to_owned()),
        node: "node-1".to_owned(),
        opened: Moment::default(),
    }
}

/// A snapshot that has the facts up to this one.
fn through(through: u64) -> Option<Snapshot> {
    Some(Snapshot { number: 2, through, segment: None })
}

/// The damaged file, and why.
fn damage(answer: Result<(), Error>) -> Option<(String, String)> {
    answer.err().map(|error| (error.file().unwrap().to_owned(), error.to_string()))
}

#[test]
fn the_first_segment_begins_no_later_than_what_is_before_it_ends() {
    for (snapshot, first, fits) in [
        (None, 1, true),
        (None, 0, false),
        (None, 2, false),
        (through(10), 5, true),
        (through(10), 11, true),
        (through(10), 12, false),
    ] {
        let reached = Reached { snapshot, ..Reached::default() };
        assert_eq!(reached.admits(&header(first, None), 7).is_ok(), fits, "{first} behind {snapshot:?}");
    }
}

#[test]
fn a_snapshot_names_the_segment_beside_which_it_was_taken() {
    let snapshot = Some(Snapshot { number: 2, through: 10, segment: Some(7) });
    let reached = Reached { snapshot, ..Reached::default() };
    assert!(reached.admits(&header(5, None), 7).is_ok());
    let (file, why) = damage(reached.admits(&header(5, None), 8)).unwrap();
    assert_eq!(file, names::snapshot(2));
    assert!(why.contains("it was taken beside another log"), "{why}");
}

#[test]
fn a_segment_continues_the_one_before_it_unless_a_snapshot_has_what_is_between() {
    let continues = |is_alone: bool, last: u64, first: u64| {
        let reached = Reached { end: Some(end(last)), snapshot: through(10), is_alone };
        reached.admits(&header(first, None), 7).is_ok()
    };
    assert!(continues(false, 5, 6) && continues(true, 5, 6));
    assert!(continues(true, 5, 11), "the snapshot reopened the log");
    assert!(!continues(false, 5, 11));
    for first in [5, 7, 12] {
        assert!(!continues(true, 5, first), "{first}");
    }
    assert!(!continues(true, 11, 11), "it has that fact");
}

#[test]
fn a_segment_that_continues_another_end_says_how_that_differs() {
    let reached = Reached { end: Some(end(5)), ..Reached::default() };
    assert!(reached.admits(&header(6, Some(end(5))), 7).is_ok());
    let other_group = Durable { checksum: 8, ..end(5) };
    for (after, is_same_place) in [(other_group, true), (end(6), false)] {
        let (file, why) = damage(reached.admits(&header(6, Some(after)), 7)).unwrap();
        assert_eq!((file, why.contains("with another last group")), (names::log(1), is_same_place), "{why}");
    }
}

#[test]
fn a_snapshot_needs_the_facts_that_were_durable_when_it_was_completed() {
    let lacks = |is_alone: bool, last: u64| {
        let reached = Reached { end: Some(end(last)), snapshot: through(10), is_alone };
        damage(reached.is_complete()).map(|(file, _)| file)
    };
    assert_eq!((lacks(false, 9), lacks(false, 10), lacks(true, 9)), (Some(names::log(1)), None, None));
    assert!(Reached { end: Some(end(9)), ..Reached::default() }.is_complete().is_ok());
}
