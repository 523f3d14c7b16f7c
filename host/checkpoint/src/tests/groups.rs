//! Groups: facts that are staged together become durable together, no matter what fails and when.

use std::sync::Arc;

use tenure_fixtures::ports::{Meddled, images};

use super::fixture::{Memory, NOW, Node, answer, boot, everything, name, owner};
use crate::sim::{Faults, SimDisk};
use crate::{CheckpointJournal, LogItem, LogReader, Recovered, recover};

/// The groups of the log, each as the places and chapters of its facts.
fn groups(disk: &SimDisk) -> Vec<Vec<(u64, String)>> {
    let mut reader = LogReader::new(Arc::new(disk.clone()));
    let (mut groups, mut last) = (Vec::<Vec<_>>::new(), None);
    while let Some(item) = reader.next_item().unwrap() {
        let LogItem::Fact { place, group, line, .. } = item else { continue };
        assert!((group.0..=group.1).contains(&place));
        if last.replace(group) != Some(group) {
            groups.push(Vec::new());
        }
        groups.last_mut().unwrap().push((place, line.chapter.into_owned()));
    }
    groups
}

/// Checks that both chapters know a network, or neither.
fn assert_whole(found: &Recovered, when: &str) {
    for number in 0..6 {
        let book = found.state.books.iter().any(|book| *book.name() == name(number));
        let choice = found.state.node.choices.of(&name(number)).is_some();
        assert_eq!(book, choice, "{when}: half of what was staged of {}", name(number));
    }
}

#[test]
fn facts_of_several_chapters_that_are_staged_together_share_a_group() {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    node.settle();
    drop((node.give(0, 1), node.define(1)));
    node.settle();
    drop(node.free(0, 1));
    drop(node.memory.remove(&node.journal, 0).unwrap());
    node.settle();
    let of = |places: &[u64], chapters: &[&str]| {
        let chapters = chapters.iter().map(ToString::to_string);
        places.iter().copied().zip(chapters).collect::<Vec<_>>()
    };
    let expected = [
        of(&[1, 2, 3], &["choices", "ledger", "ledger"]),
        of(&[4, 5, 6, 7], &["ledger", "choices", "ledger", "ledger"]),
        of(&[8, 9, 10], &["ledger", "choices", "ledger"]),
    ];
    assert_eq!(groups(&disk), expected);
}

/// The group fails, is in the snapshot that reopens the log, and is complete there.
#[test]
fn a_group_stays_one_across_a_failed_sync_and_a_reopening() {
    for (seed, cut) in (0..20).flat_map(|seed| (0..26).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        let mut node = Node::start(&disk, 1);
        drop((node.define(0), node.define(1)));
        node.settle();
        disk.set_faults(Faults { sync: 1000, ..Faults::default() });
        let tickets = [node.memory.remove(&node.journal, 0).unwrap(), node.define(2)];
        node.writer.step(&node.memory);
        for ticket in tickets {
            assert!(answer(ticket).unwrap().is_err());
        }
        // These wait while the log is reopened, and are written after the snapshot that contains them.
        drop((node.memory.remove(&node.journal, 1), node.define(0), node.define(3)));
        disk.set_faults(Faults::default());
        disk.stop_after(cut);
        node.settle();
        if seed % 2 == 0 {
            disk.kill();
        } else {
            disk.crash();
        }
        let found = recover(&disk, &boot(1), NOW).unwrap();
        assert_whole(&found, &format!("seed {seed}, cut at {cut}"));
        if cut == 25 {
            assert_eq!(everything(&found), node.memory.everything());
        }
    }
}

/// As when the thread of the writer wakes up between two groups.
#[test]
fn what_is_staged_after_the_writer_has_looked_is_written_by_the_next_step() {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    (0..3).for_each(|number| drop(node.define(number)));
    node.writer.step_early(&node.memory, 1);
    assert_eq!(groups(&disk).len(), 1);
    assert_eq!(recover(&disk.clone(), &boot(1), NOW).unwrap().state.books.len(), 1);
    node.writer.step_early(&node.memory, 1);
    assert_eq!(groups(&disk).len(), 2, "the next step left something that was staged before the last");
    assert_eq!(recover(&disk, &boot(1), NOW).unwrap().state.books.len(), 3);
}

type Deed = fn(&Memory, &CheckpointJournal);

/// A snapshot reads one page after the other. What is staged meanwhile is on the later pages and not on the earlier
/// ones.
#[test]
fn a_group_that_is_staged_while_a_snapshot_looks_at_the_state_is_in_it_or_not() {
    fn remove(memory: &Memory, journal: &CheckpointJournal) {
        drop(memory.remove(journal, 0).unwrap());
    }
    fn define(memory: &Memory, journal: &CheckpointJournal) {
        drop(memory.define(journal, &super::fixture::plain(4)));
        drop(memory.give(journal, 4, &owner(1)));
    }
    for reopens in [false, true] {
        for (seed, cut) in (0..20).flat_map(|seed| (0..26).map(move |cut| (seed, cut))) {
            let disk = SimDisk::new(seed);
            let mut node = Node::start_compacting(&disk, if reopens { u64::MAX } else { 2_000 });
            (0..3).for_each(|number| drop(node.define(number)));
            disk.set_faults(Faults { sync: if reopens { 1000 } else { 0 }, ..Faults::default() });
            let deed = |deed: Deed| -> images::Deed {
                let (memory, journal) = (node.memory.clone(), node.journal.clone());
                Box::new(move || deed(&memory, &journal))
            };
            let meddled = Meddled::new(node.memory.clone(), [remove, define].map(deed));
            node.writer.step(&meddled);
            disk.set_faults(Faults::default());
            disk.stop_after(cut);
            while node.writer.step(&meddled) == crate::WriterProgress::Worked {}
            assert!(meddled.is_spent() || disk.is_stopped());
            disk.crash();
            let when = format!("reopened: {reopens}, seed {seed}, cut at {cut}");
            let found = recover(&disk, &boot(1), NOW).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert_whole(&found, &when);
            if cut == 25 {
                assert_eq!(everything(&found), node.memory.everything(), "{when}");
                assert_eq!(found.report.snapshot, Some(2));
            }
        }
    }
}
