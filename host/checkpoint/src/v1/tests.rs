//! Every fact and every item, written and read again, with any value of each.

mod any;
mod sharing;

use std::collections::BTreeSet;
use std::net::IpAddr;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use tenure_ledger::{
    Book, Choices, Claims, Components, CoolingAddress, Delegations, Effects, Fact, Image, LedgerFact, Moves,
    QuarantineMark, RemovedNetwork, States,
};
use tenure_types::{Moment, NetworkName};

use super::stored::{Recovering, Stored, items};
use super::{Books, RecoveringChapters, decode, ledger};
use crate::chapters::{ChapterRefusal, RecoverChapter};
use crate::line::ChapterLine;
use crate::tests::corpus::{paths, paths_of_corpus};

fn text(line: &ChapterLine) -> &str {
    std::str::from_utf8(&line.json).unwrap()
}

/// Reads a fact's line as recovery and as a reader of the log do.
fn read(line: &ChapterLine) -> Fact {
    let may_be_skipped = line.chapter == Moves::NAME;
    assert!(line.optional == may_be_skipped && !text(line).contains('\n'), "{line:?}");
    decode(&line.chapter, line.version, text(line)).unwrap().unwrap()
}

fn restored(chapter: &mut dyn RecoverChapter, lines: impl Iterator<Item = ChapterLine>) {
    for line in lines {
        let is_own = line.chapter == chapter.name();
        let may_be_skipped = line.chapter == Moves::NAME;
        assert!(is_own && line.optional == may_be_skipped && !text(&line).contains('\n'), "{line:?}");
        if let Err(refused) = chapter.restore(line.version, text(&line)) {
            panic!("{}: {refused:?}", text(&line));
        }
    }
}

/// The state that the items of a chapter restore.
fn read_back<C: Stored>(state: &C) -> C {
    let mut recovering = Recovering::<C>::default();
    restored(&mut recovering, items(state).into_iter());
    recovering.restored().unwrap();
    recovering.into_state()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_fact_is_read_as_it_was_written(fact in any::fact()) {
        prop_assert_eq!(read(&ChapterLine::from(&fact)), fact);
    }
}

proptest! {
    #[test]
    fn any_book_is_read_as_it_was_written(image in any::image()) {
        prop_assert_eq!(Books::default().image_of(ledger::items(image.clone())), Some(image));
    }

    #[test]
    fn any_choices_are_read_as_they_were_written(choices in any::choices()) {
        prop_assert_eq!(read_back(&choices), choices);
    }

    #[test]
    fn any_components_are_read_as_they_were_written(components in any::components()) {
        prop_assert_eq!(read_back(&components), components);
    }

    #[test]
    fn any_claims_are_read_as_they_were_written(claims in any::claims()) {
        prop_assert_eq!(read_back(&claims), claims);
    }

    #[test]
    fn any_states_are_read_as_they_were_written(states in any::states()) {
        prop_assert_eq!(read_back(&states), states);
    }

    #[test]
    fn any_delegations_are_read_as_they_were_written(delegations in any::delegations()) {
        prop_assert_eq!(read_back(&delegations), delegations);
    }

    #[test]
    fn any_effects_are_read_as_they_were_written(effects in any::effects()) {
        prop_assert_eq!(read_back(&effects), effects);
    }

    #[test]
    fn any_moves_are_read_as_they_were_written(moves in any::moves()) {
        prop_assert_eq!(read_back(&moves), moves);
    }

    #[test]
    fn a_network_that_was_removed_is_known_as_gone(name in any::network_name(), through in any::<u64>()) {
        let mut books = Books::default();
        restored(&mut books, ledger::gone(&name, cooling(through, 0)).into_iter());
        prop_assert_eq!(books.gone_through(&name), Some(through));
    }
}

/// A removed network with this many cooling addresses, of two kinds.
fn cooling(through: u64, count: u16) -> RemovedNetwork {
    let one = |number: u16| {
        let [high, low] = number.to_be_bytes();
        let since = Moment { boot_ns: 7, wall_ms: 8 };
        CoolingAddress { address: [10, 0, high, low].into(), since, seconds: 5 * u32::from(number % 2) }
    };
    RemovedNetwork {
        through,
        cooling: (1..=count).map(one).collect(),
        settled: Vec::new(),
        quarantined: Vec::new(),
    }
}

#[test]
fn what_cooled_down_in_a_network_that_was_removed_is_read_as_it_was_written() {
    let name = NetworkName::new("net").unwrap();
    for (count, lines) in [(0, 1), (1, 1), (2, 2), (512, 2), (513, 3)] {
        let written = ledger::gone(&name, cooling(9, count));
        assert_eq!(written.len(), lines);
        let mut books = Books::default();
        restored(&mut books, written.into_iter());
        assert_eq!(books.into_parts().1.get(&name), Some(cooling(9, count)));
    }
    let settled = (1..=257_u16).map(|number| {
        (IpAddr::from([10, 1, number.to_be_bytes()[0], number.to_be_bytes()[1]]), "7.5".into())
    });
    let with_claims = RemovedNetwork { settled: settled.collect(), ..cooling(9, 1) };
    let written = ledger::gone(&name, with_claims.clone());
    assert_eq!(written.len(), 3);
    let mut books = Books::default();
    restored(&mut books, written.into_iter());
    assert_eq!(books.into_parts().1.get(&name), Some(with_claims));
    let quarantined = (1..=257_u16).map(|number| {
        let [high, low] = number.to_be_bytes();
        let mark = QuarantineMark { since: Moment { boot_ns: 7, wall_ms: 8 }, reason: "odd".into() };
        (IpAddr::from([10, 1, high, low]), mark)
    });
    let with_marks = RemovedNetwork { quarantined: quarantined.collect(), ..cooling(9, 1) };
    let written = ledger::gone(&name, with_marks.clone());
    assert_eq!(written.len(), 3);
    let mut books = Books::default();
    restored(&mut books, written.into_iter());
    assert_eq!(books.into_parts().1.get(&name), Some(with_marks));
    // The form of older programs, and for them.
    let line = ledger::gone(&name, cooling(9, 0)).remove(0);
    assert_eq!(text(&line), r#"{"gone":{"network":"net","through":9}}"#);
}

#[test]
fn another_version_of_any_chapter_is_not_known() {
    let mut chapters = RecoveringChapters::default();
    for chapter in chapters.each() {
        for version in [0, 2, u32::MAX] {
            assert!(matches!(chapter.apply(1, version, "{}"), Err(ChapterRefusal::Version)));
            assert!(matches!(chapter.restore(version, "{}"), Err(ChapterRefusal::Version)));
            assert!(decode(chapter.name(), version, "{}").is_none());
        }
        assert!(matches!(chapter.apply(1, 1, "{}"), Err(ChapterRefusal::Malformed(_))));
        assert!(matches!(chapter.restore(1, "{}"), Err(ChapterRefusal::Malformed(_))));
        assert!(matches!(decode(chapter.name(), 1, "{}"), Some(Err(_))));
    }
    assert!(decode("leases", 1, "{}").is_none());
}

/// Everything that a line may contain is in a committed state directory, so that it is known to load.
#[test]
fn the_corpus_says_everything_that_can_be_said() {
    let corpus = paths_of_corpus();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut written = BTreeSet::new();
    for _ in 0..2_000 {
        let line = ChapterLine::from(&any::fact().new_tree(&mut runner).unwrap().current());
        written.extend(paths(&line.chapter, "fact", &line.json));
    }
    for _ in 0..200 {
        let image = any::image().new_tree(&mut runner).unwrap().current();
        let choices = any::choices().new_tree(&mut runner).unwrap().current();
        let gone = ledger::gone(&image.network.name, cooling(image.through, 1));
        let mut others = items(&choices);
        others.extend(items(&any::components().new_tree(&mut runner).unwrap().current()));
        others.extend(items(&any::claims().new_tree(&mut runner).unwrap().current()));
        others.extend(items(&any::states().new_tree(&mut runner).unwrap().current()));
        others.extend(items(&any::delegations().new_tree(&mut runner).unwrap().current()));
        others.extend(items(&any::effects().new_tree(&mut runner).unwrap().current()));
        others.extend(items(&any::moves().new_tree(&mut runner).unwrap().current()));
        for line in ledger::items(image).chain(others).chain(gone) {
            written.extend(paths(&line.chapter, "item", &line.json));
        }
    }
    let missing: Vec<_> = written.difference(&corpus).collect();
    assert!(missing.is_empty(), "the corpus lacks {missing:#?}");
}

/// More than fits in a line, so that a network's list is spread over several.
#[test]
fn long_lists_are_read_as_they_were_written() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let image = any::image().new_tree(&mut runner).unwrap().current();
    let address = |number: usize| std::net::IpAddr::from((number as u128 + (0xfd << 120)).to_be_bytes());
    for count in [255, 256, 257, 1_000] {
        let cooling = (0..count).map(|number| (address(number), image.network.changed_at)).collect();
        let settled = (0..count).map(|number| (address(number), "claim".into())).collect();
        let image = Image { cooling, settled, ..image.clone() };
        let lines: Vec<ChapterLine> = ledger::items(image.clone()).collect();
        let of =
            |key: &str| lines.iter().filter(|line| text(line).starts_with(&format!("{{\"{key}\""))).count();
        assert_eq!((of("cooling"), of("settled")), (count.div_ceil(256), count.div_ceil(256)));
        assert_eq!(Books::default().image_of(lines.into_iter()), Some(image));
    }
}

/// Restores these lines in a chapter, and clears it.
fn clears<C: RecoverChapter + Default + std::fmt::Debug>(lines: Vec<ChapterLine>) {
    let (mut chapter, new) = (C::default(), format!("{:?}", C::default()));
    restored(&mut chapter, lines.into_iter());
    assert_ne!(format!("{chapter:?}"), new);
    chapter.clear();
    assert_eq!(format!("{chapter:?}"), new);
}

/// A recovery that has to begin again with an older snapshot forgets the newer one.
#[test]
fn a_cleared_chapter_is_as_new() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    clears::<Books>(ledger::items(any::image().new_tree(&mut runner).unwrap().current()).collect());
    clears::<Recovering<Choices>>(items(&any::choices().new_tree(&mut runner).unwrap().current()));
    clears::<Recovering<Components>>(items(&any::components().new_tree(&mut runner).unwrap().current()));
    clears::<Recovering<Claims>>(items(&any::claims().new_tree(&mut runner).unwrap().current()));
    clears::<Recovering<States>>(items(&any::states().new_tree(&mut runner).unwrap().current()));
    clears::<Recovering<Delegations>>(items(&any::delegations().new_tree(&mut runner).unwrap().current()));
    clears::<Recovering<Effects>>(items(&any::effects().new_tree(&mut runner).unwrap().current()));
    clears::<Recovering<Moves>>(items(&any::moves().new_tree(&mut runner).unwrap().current()));
}

/// A network was removed and defined again, and the snapshot has the second one: the log in front of it says nothing new.
#[test]
fn a_removal_before_the_snapshot_removes_nothing() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let network = any::image().new_tree(&mut runner).unwrap().current().network;
    let name = network.name.clone();
    let removed = Fact::Ledger(LedgerFact::Removed { network: name.clone(), at: Moment::default() });
    let line = ChapterLine::from(&removed);
    let image = Image { through: 10, ..Book::new(network).image() };
    let mut books = Books::default();
    restored(&mut books, ledger::items(image));
    books.restored().unwrap();
    for (place, left) in [(9, true), (10, true), (11, false)] {
        books.apply(place, line.version, text(&line)).unwrap();
        assert_eq!(books.gone_through(&name).is_none(), left, "removed at place {place}");
    }
}

#[test]
fn a_state_that_is_not_base64_is_refused() {
    let stored = |base64: &str| {
        let state = format!(
            r#"{{"policy":{{"name":"p","digest":"d"}},"version":1,"base64":"{base64}","at":{{"boot_ns":1,"wall_ms":1}}}}"#
        );
        format!(r#"{{"kept":{{"network":"net","state":{state}}}}}"#)
    };
    assert!(matches!(decode("states", 1, &stored("AAH/")), Some(Ok(_))));
    for wrong in ["AAH", "A", "AA H/", "AAH_", "é"] {
        assert!(matches!(decode("states", 1, &stored(wrong)), Some(Err(_))), "{wrong}");
    }
}

#[test]
fn no_text_breaks_a_line() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let ipam = "{\"a\":\"\\\"\n\r\u{2028}\u{0}é\"}";
    let fact = any::network_with(ipam).new_tree(&mut runner).unwrap().current();
    assert_eq!(read(&ChapterLine::from(&fact)), fact);
}
