//! A chapter that no other code knows goes all the way: staged with facts of others in one group, to the log, into
//! snapshots, through every crash, and back. It consists of the two parts that are in [`chapter`]; neither the checkpoint nor any
//! other chapter knows its name. A real one has a row in the ledger's table, too.

mod chapter;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tenure_engine::ports::Ticket;
use tenure_ledger::Chapter as _;
use tenure_types::BootId;

use self::chapter::{MadeUp, Said};
use super::fixture::{Everything, Memory, NOW, Node, answer, boot, everything, name, options, plain};
use crate::sim::{Faults, SimDisk};
use crate::v1::stored::{Recovering, Stored as _, decode, encoded, items};
use crate::{
    ChapterLine, ChapterLines, CheckpointJournal, Disk, Error, LogItem, LogReader, Options, Parts, Recovered,
    Result, Skipped, SnapshotSource, WriterProgress, recover, recover_with,
};

const LOG: &str = "log.0000000001";

/// The source of a snapshot: the ledger's pages, followed by the made-up chapter's.
#[derive(Clone)]
struct Both {
    memory: Memory,
    made_up: Arc<Mutex<MadeUp>>,
}

impl SnapshotSource for Both {
    fn parts(&self, first: u64) -> Parts {
        let made_up = Arc::clone(&self.made_up);
        let page = std::iter::once_with(move || {
            Box::new(items(&*made_up.lock().unwrap()).into_iter()) as ChapterLines
        });
        Box::new(self.memory.parts(first).chain(page))
    }
}

impl Both {
    fn everything(&self) -> (Everything, MadeUp) {
        (self.memory.everything(), self.made_up.lock().unwrap().clone())
    }

    /// Defines a network and adds a note about it, or removes both: in one group.
    fn toggle(&self, journal: &CheckpointJournal, number: u64) -> Ticket {
        let mut made_up = self.made_up.lock().unwrap();
        let network = name(number).as_str().to_owned();
        let mut said = None;
        let (place, ticket) = self.memory.toggle(journal, &plain(number), |defined| {
            let what = format!("as it was made up behind fact {}", made_up.through);
            let fact = if defined { Said::Is { network, what } } else { Said::IsGone { network } };
            let line = encoded::<MadeUp>(&fact);
            said = Some(fact);
            line
        });
        made_up.apply(place, &said.unwrap());
        ticket
    }
}

/// A node with the made-up chapter in addition to the others.
fn start(disk: &SimDisk, options: Options) -> (Node, Both) {
    let (recovered, made_up) = recovered(disk, &options.boot).unwrap();
    let node = Node::from(options, recovered);
    let both = Both { memory: node.memory.clone(), made_up: Arc::new(Mutex::new(made_up)) };
    (node, both)
}

fn recovered(disk: &SimDisk, boot: &BootId) -> Result<(Recovered, MadeUp)> {
    let mut made_up = Recovering::<MadeUp>::default();
    let recovered = recover_with(disk, boot, NOW, None, &mut [&mut made_up])?;
    Ok((recovered, made_up.into_state()))
}

/// Starts, and returns what was found; checks that all chapters know a network, or none.
fn found(disk: &SimDisk, when: &str) -> (Everything, MadeUp) {
    let (recovered, made_up) = recovered(disk, &boot(1)).unwrap_or_else(|error| panic!("{when}: {error}"));
    assert_eq!(recovered.report.skipped, Skipped::default());
    for number in 0..8 {
        let book = recovered.state.books.iter().any(|book| *book.name() == name(number));
        let choice = recovered.state.node.choices.of(&name(number)).is_some();
        let said = made_up.said.contains_key(name(number).as_str());
        assert!(book == choice && choice == said, "{when}: half of a group is there: {number}");
    }
    (everything(&recovered), made_up)
}

/// A node with a log of several groups, with and without facts of the made-up chapter.
fn written(disk: &SimDisk, options: Options) -> (Node, Both) {
    let (mut node, both) = start(disk, options);
    drop((both.toggle(&node.journal, 0), both.toggle(&node.journal, 1)));
    while node.writer.step(&both) == WriterProgress::Worked {}
    drop((node.give(0, 1), both.toggle(&node.journal, 1)));
    while node.writer.step(&both) == WriterProgress::Worked {}
    drop((both.toggle(&node.journal, 2), node.free(0, 1), both.toggle(&node.journal, 1)));
    while node.writer.step(&both) == WriterProgress::Worked {}
    (node, both)
}

#[test]
fn its_facts_are_read_back_and_shown_as_they_are_stored() {
    let disk = SimDisk::new(0);
    let (_, both) = written(&disk, options(&disk, 1));
    assert_eq!(found(&disk, "at the end"), both.everything());
    assert_eq!(recovered(&disk, &boot(2)).unwrap().1.boots, 1, "it is notified of a boot's end");

    let mut reader = LogReader::new(Arc::new(disk.clone()));
    let mut shown = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        if let LogItem::Fact { place, group, line, fact } = item {
            assert_eq!(fact.is_none(), line.chapter == MadeUp::NAME);
            if fact.is_none() {
                assert_eq!((line.version, line.optional), (1, false));
                let json = std::str::from_utf8(&line.json).unwrap();
                shown.push((place, group, decode::<MadeUp>(json).unwrap()));
            }
        }
    }
    let networks = shown.iter().map(|(_, _, said)| match said {
        Said::Is { network, .. } => format!("+{network}"),
        Said::IsGone { network } => format!("-{network}"),
    });
    assert_eq!(networks.collect::<Vec<_>>(), ["+net0", "+net1", "-net1", "+net2", "+net1"]);
    assert_eq!((shown[0].0, shown[0].1), (4, (1, 8)), "it shares the group that it was staged with");
}

#[test]
fn a_log_cut_at_any_byte_has_all_of_a_group_or_nothing() {
    let disk = SimDisk::new(0);
    drop(written(&disk, options(&disk, 1)));
    let log = disk.contents(LOG).unwrap();
    let header = log.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut counts = BTreeSet::new();
    for length in header..=log.len() {
        let disk = SimDisk::new(0);
        disk.put(LOG, &log[..length]);
        counts.insert(found(&disk, &format!("cut at {length}")).1.said.len());
    }
    assert_eq!(counts, [0, 2, 1, 3].into());
}

/// Crashes at every operation, on a disk that sometimes fails, so that snapshots are begun, completed and abandoned,
/// and the log is reopened from one.
#[test]
fn every_crash_leaves_all_of_a_group_or_nothing() {
    let mut snapshots = 0;
    for (seed, cut) in (0..12).flat_map(|seed| (0..66).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        let (mut node, both) = start(&disk, Options { compact_above: 2_500, ..options(&disk, 1) });
        disk.stop_after(cut);
        disk.set_faults(Faults { sync: if seed % 3 == 0 { 200 } else { 0 }, ..Faults::default() });
        let mut acknowledged = None;
        for round in 0..16 {
            let ticket = both.toggle(&node.journal, round % 5);
            node.writer.step(&both);
            if answer(ticket) == Some(Ok(())) {
                acknowledged = Some(both.everything());
            }
        }
        disk.set_faults(Faults::default());
        if seed % 2 == 0 {
            disk.kill();
        } else {
            disk.crash();
        }
        let when = format!("seed {seed}, cut at {cut}");
        let found = found(&disk, &when);
        if let Some((_, made_up)) = acknowledged {
            assert!(found.1.through >= made_up.through, "{when}: acknowledged facts are gone");
        }
        // And it can be continued.
        let (mut node, both) = start(&disk, options(&disk, 1));
        assert_eq!(found, both.everything(), "{when}");
        drop((both.toggle(&node.journal, 6), both.toggle(&node.journal, 7)));
        while node.writer.step(&both) == WriterProgress::Worked {}
        assert_eq!(self::found(&disk, &when), both.everything(), "{when}");
        snapshots += usize::from(disk.list().unwrap().iter().any(|name| name.starts_with("snapshot.")));
    }
    assert!(snapshots > 100, "{snapshots}");
}

/// The snapshot that reopens a log may be ahead of it. A program that skips what is ahead must not mistake that for a
/// gap.
#[test]
fn a_program_that_does_not_know_it_refuses_or_skips_it() {
    let disk = SimDisk::new(0);
    drop(written(&disk, options(&disk, 1)));
    let before = disk.contents(LOG);
    let error = recover(&disk, &boot(1), NOW).map(|_| ()).unwrap_err();
    let Error::UnknownChapter { chapter, version: 1, .. } = &error else { panic!("{error}") };
    assert_eq!((chapter.as_str(), disk.contents(LOG)), (MadeUp::NAME, before));

    let optional = |what: &str| ChapterLine {
        optional: true,
        ..encoded::<MadeUp>(&Said::Is { network: "none".to_owned(), what: what.to_owned() })
    };
    for cut in 0..30 {
        let disk = SimDisk::new(cut);
        let mut node = Node::start(&disk, 1);
        drop(node.define(0));
        node.settle();
        disk.set_faults(Faults { sync: 1000, ..Faults::default() });
        drop(node.give(0, 1));
        node.writer.step(&node.memory);
        disk.set_faults(Faults::default());
        drop((node.give(0, 2), node.journal.stage_lines([optional("a"), optional("b")])));
        disk.stop_after(cut);
        node.writer.step(&node.memory);
        disk.crash();
        // The program that wrote it starts again, and then one that does not know the chapter.
        let (mut node, both) = start(&disk, options(&disk, 1));
        drop(node.give(0, 3));
        while node.writer.step(&both) == WriterProgress::Worked {}
        let found = recover(&disk, &boot(1), NOW).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(everything(&found), node.memory.everything(), "cut at {cut}");
    }
}

/// A new chapter is its two modules and a row in the ledger's table: no other code lists the chapters.
#[test]
fn only_the_table_lists_the_chapters() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let states = ["Choices", "Components", "Claims", "States", "Delegations", "Effects", "Moves"];
    let (mut lists, mut directories) = (Vec::new(), vec![host.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
                let text = std::fs::read_to_string(&path).unwrap();
                let words: BTreeSet<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
                if states.iter().all(|state| words.contains(state)) {
                    lists.push(path.strip_prefix(host).unwrap().to_owned());
                }
            }
        }
    }
    lists.sort();
    // The second names the exports of each module, and documents them.
    assert_eq!(lists, [Path::new("ledger/src/chapters.rs"), Path::new("ledger/src/lib.rs")]);
}
