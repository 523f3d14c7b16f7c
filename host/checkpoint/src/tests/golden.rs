//! A known log and known snapshots, cut at every byte and with every bit flipped.
//!
//! They are files of this folder, with the expected books after each group next to them: that a daemon can read its
//! own files proves little. [`the_writer_writes_the_golden_files`] fails if the format has changed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tenure_ledger::Book;
use tenure_types::Moment;

use super::fixture::{NOW, Node, boot};
use crate::sim::SimDisk;
use crate::{Error, RecoveryReport, recover, recover_read_only};

const LOG: &str = "log.0000000001";

/// Set it to rewrite the golden files. Those of a released format stay as they are, and the new ones go next to them.
const WRITE: &str = "TENURE_WRITE_GOLDEN";

/// The contents that a reader must find in the books: who owns which address, and what is cooling down.
type Told = String;

/// A log of groups of different sizes, and the expected books at the end of each.
fn golden() -> (Vec<u8>, Vec<(usize, Told)>) {
    let told = committed("log.books");
    let ends = told.split("== ").skip(1).map(|part| {
        let (end, books) = part.split_once('\n').unwrap();
        (end.parse().unwrap(), books.to_owned())
    });
    (committed(LOG).into_bytes(), ends.collect())
}

fn told(books: &[Book]) -> Told {
    let mut text = String::new();
    for book in books {
        writeln!(text, "{} through {}", book.name(), book.through()).unwrap();
        for held in book.allocations() {
            let addresses: Vec<_> = held.addresses.iter().map(|held| held.address.to_string()).collect();
            let (owner, generation) = (&held.owner, held.generation);
            let began = held.requested_at.boot_ns;
            writeln!(text, "  {owner} {generation} {} since {began}", addresses.join(" ")).unwrap();
        }
        for (address, Moment { boot_ns, .. }) in book.cooling_addresses() {
            writeln!(text, "  {address} cools since {boot_ns}").unwrap();
        }
    }
    text
}

/// Writes the log with a node; also returns the end of each group and the expected books there.
fn written() -> (Vec<u8>, String) {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    let length = || disk.contents(LOG).unwrap().len();
    let mut books = format!("== {}\n", length());
    for group in 0..4 {
        match group {
            0 => drop(node.define(0)),
            1 => drop([1, 2].map(|who| node.give(0, who))),
            2 => drop((node.free(0, 1), node.renew(0, 2))),
            _ => drop((node.give(0, 3), node.free(0, 2), node.give(0, 4))),
        }
        node.settle();
        write!(books, "== {}\n{}", length(), told(&node.memory.books())).unwrap();
    }
    (disk.contents(LOG).unwrap(), books)
}

/// The files that a node wrote, by name.
type Files = Vec<(String, Vec<u8>)>;

/// The files of two snapshots, and the books.
fn written_with_snapshots() -> (Files, Told) {
    let disk = SimDisk::new(0);
    let mut node = Node::start_compacting(&disk, 1500);
    for number in 0..2 {
        drop(node.define(number));
        drop((node.give(number, 1), node.give(number, 2), node.free(number, 1)));
        node.settle();
    }
    drop(node.give(0, 9));
    node.settle();
    let names = crate::Disk::list(&disk).unwrap();
    let files = names.into_iter().map(|name| (name.clone(), disk.contents(&name).unwrap())).collect();
    (files, told(&node.memory.books()))
}

/// A golden file; all files of a checkpoint are text.
fn committed(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/golden")
}

#[test]
fn the_writer_writes_the_golden_files() {
    let (log, books) = written();
    let (files, snapshot_books) = written_with_snapshots();
    let mut golden = vec![(LOG.to_owned(), log), ("log.books".to_owned(), books.into_bytes())];
    golden.push(("snapshots.books".to_owned(), snapshot_books.into_bytes()));
    golden.extend(files.into_iter().map(|(name, bytes)| (format!("snapshots/{name}"), bytes)));
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(folder().join("snapshots")).unwrap();
        golden.iter().for_each(|(name, bytes)| std::fs::write(folder().join(name), bytes).unwrap());
    }
    for (name, bytes) in golden {
        let committed = std::fs::read(folder().join(&name)).unwrap();
        let [committed, written] =
            [committed, bytes].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(
            committed, written,
            "{name}: the format has changed; {WRITE}=1 writes the golden files anew"
        );
    }
}

fn disk_of(name: &str, bytes: &[u8]) -> SimDisk {
    let disk = SimDisk::new(0);
    disk.put(name, bytes);
    disk
}

#[test]
fn a_whole_log_is_counted() {
    let (log, _) = golden();
    let report = recover(&disk_of(LOG, &log), &boot(1), NOW).unwrap().report;
    let expected =
        RecoveryReport { segments: 1, groups: 4, facts: 10, last: 10, ..RecoveryReport::default() };
    assert_eq!(report, expected);
}

#[test]
fn a_log_cut_at_any_byte_is_the_groups_before_it() {
    let (log, ends) = golden();
    for length in 0..=log.len() {
        let disk = disk_of(LOG, &log[..length]);
        let found = recover(&disk, &boot(1), NOW);
        let Some((end, expected)) = ends.iter().rev().find(|(end, _)| *end <= length) else {
            assert!(matches!(found, Err(Error::Damaged { .. })), "a header cut at {length} was accepted");
            continue;
        };
        let found = found.unwrap_or_else(|error| panic!("cut at {length}: {error}"));
        assert_eq!(told(&found.state.books), *expected, "cut at {length}");
        assert_eq!(found.report.cut_bytes, (length - end) as u64);
        assert_eq!(disk.contents(LOG).unwrap(), log[..*end], "cut at {length}");
        let aside = disk.contents(&format!("quarantine.{LOG}.{end}"));
        assert_eq!(aside.unwrap_or_default(), log[*end..length], "the cut bytes are not quarantined");
    }
}

#[test]
fn any_flipped_bit_of_a_log_stops_loudly() {
    let (log, _) = golden();
    for at in 0..log.len() {
        for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut flipped = log.clone();
            flipped[at] ^= flip;
            let disk = disk_of(LOG, &flipped);
            let Err(error) = recover(&disk, &boot(1), NOW) else {
                panic!("flipped bit {flip} of byte {at} was not detected");
            };
            assert!(matches!(error, Error::Damaged { .. }), "byte {at}: {error}");
            assert_eq!(disk.contents(LOG).unwrap(), flipped, "the evidence was touched");
            let quarantined = crate::Disk::list(&disk).unwrap().into_iter().any(|name| {
                name.starts_with("quarantine.") && disk.contents(&name).as_ref() == Some(&flipped)
            });
            assert!(quarantined, "byte {at}: no copy was quarantined");
        }
    }
}

#[test]
fn a_missing_line_is_damage_and_a_lost_sector_is_a_torn_tail() {
    let (log, ends) = golden();
    let (before, full) = (&ends[3], &ends[4]);
    let lines: Vec<&[u8]> = log[before.0..full.0].split_inclusive(|byte| *byte == b'\n').collect();
    for missing in 0..lines.len() - 1 {
        let mut kept = log[..before.0].to_vec();
        lines.iter().enumerate().filter(|(at, _)| *at != missing).for_each(|(_, line)| kept.extend(*line));
        let found = recover_read_only(&disk_of(LOG, &kept), &boot(1), NOW);
        assert!(matches!(found, Err(Error::Damaged { .. })), "line {missing}");
    }
    let second_alone = [&log[..before.0], lines[1]].concat();
    let found = recover_read_only(&disk_of(LOG, &second_alone), &boot(1), NOW);
    assert!(matches!(found, Err(Error::Damaged { .. })));
    for sector in (before.0.next_multiple_of(512)..full.0).step_by(512) {
        let mut torn = log.clone();
        torn[sector..(sector + 512).min(full.0)].fill(0);
        let found = recover(&disk_of(LOG, &torn), &boot(1), NOW).unwrap();
        assert_eq!(told(&found.state.books), before.1);
    }
    // The same damage in a group that has a successor was acknowledged, and is damage.
    let mut torn = log.clone();
    let sector = ends[1].0.next_multiple_of(512);
    torn[sector..sector + 512].fill(0);
    assert!(matches!(recover(&disk_of(LOG, &torn), &boot(1), NOW), Err(Error::Damaged { .. })));
}

/// The files of two snapshots, and the books.
fn with_snapshot() -> (Files, Told) {
    let mut files: Files = std::fs::read_dir(folder().join("snapshots"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    assert!(files.iter().any(|(name, _)| name == "snapshot.0000000002"), "{files:?}");
    (files, committed("snapshots.books"))
}

#[test]
fn a_damaged_snapshot_is_made_up_for_by_what_came_before_it_or_stops() {
    let (files, expected) = with_snapshot();
    let newest = files.iter().rev().map(|(name, _)| name).find(|name| name.starts_with("snapshot.")).unwrap();
    let bytes = files.iter().find(|(name, _)| name == newest).unwrap().1.clone();
    let cuts = (0..bytes.len()).map(|at| bytes[..at].to_vec());
    let flips = (0..bytes.len()).map(|at| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    for damaged in cuts.chain(flips) {
        let disk = SimDisk::new(0);
        for (name, bytes) in &files {
            disk.put(name, if name == newest { &damaged } else { bytes });
        }
        let found = recover(&disk, &boot(1), NOW).unwrap();
        assert_eq!(told(&found.state.books), expected);
        assert!(found.report.damaged_snapshot.is_some());
        assert_eq!(disk.contents(&format!("quarantine.{newest}.0")), Some(damaged.clone()));

        // Without the first segment, nothing can replace it.
        let disk = SimDisk::new(0);
        for (name, bytes) in files.iter().filter(|(name, _)| name != LOG) {
            disk.put(name, if name == newest { &damaged } else { bytes });
        }
        assert!(matches!(recover(&disk, &boot(1), NOW), Err(Error::Damaged { .. })));
    }
}

#[test]
fn a_missing_file_stops() {
    let (files, expected) = with_snapshot();
    for missing in files.iter().map(|(name, _)| name) {
        let disk = SimDisk::new(0);
        for (name, bytes) in files.iter().filter(|(name, _)| name != missing) {
            disk.put(name, bytes);
        }
        match recover(&disk, &boot(1), NOW) {
            Ok(found) => assert_eq!(told(&found.state.books), expected, "without {missing}"),
            Err(error) => assert!(matches!(error, Error::Missing { .. }), "without {missing}: {error}"),
        }
    }
}

#[test]
fn a_segment_that_another_follows_must_be_whole() {
    let (files, expected) = with_snapshot();
    let bytes_of = |wanted: &str| &files.iter().find(|(name, _)| name == wanted).unwrap().1;
    let (first, second) = (bytes_of(LOG), bytes_of("log.0000000002"));
    let found = |first: &[u8]| {
        let disk = disk_of(LOG, first);
        disk.put("log.0000000002", second);
        recover(&disk, &boot(1), NOW)
    };
    assert_eq!(told(&found(first).unwrap().state.books), expected);
    for length in 0..first.len() {
        let Err(error) = found(&first[..length]) else { panic!("cut at {length} and accepted") };
        assert!(matches!(error, Error::Damaged { .. }), "cut at {length}: {error}");
    }
    let torn = [first, &b"0123abcd 4"[..]].concat();
    assert!(matches!(found(&torn), Err(Error::Damaged { .. })), "a torn group was skipped");
}
