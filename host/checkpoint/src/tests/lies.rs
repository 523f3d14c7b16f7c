//! Lines with valid checksums that no writer would write: a wrong name, place, group or count.

use tenure_ledger::{Book, Fact, LedgerFact, Page};

use super::fixture::{NOW, PROGRAM, boot, log_header, name, network, redefined};
use crate::disk::Disk;
use crate::header::{FORMAT_VERSION, SnapshotHeader};
use crate::line::{self, ChapterLine};
use crate::sim::SimDisk;
use crate::snapshot::SnapshotWriter;
use crate::{Base, Error, frame, names, recover, v1};

/// The error of a recovery; `None` if it succeeds.
fn wrong(disk: &SimDisk) -> Option<Error> {
    recover(disk, &boot(1), NOW).err()
}

fn is_damaged(error: Option<&Error>) -> bool {
    matches!(error, Some(Error::Damaged { .. }))
}

/// The fact that a network is defined.
fn defined() -> LedgerFact {
    let wanted = network(0, "10.0.0.0/8", "10.0.0.1", "10.0.3.255");
    redefined(&Book::empty(&name(0)), &wanted).swap_remove(0)
}

/// A log with one fact.
fn log(number: u64, place: u64, group: (u64, u64)) -> Vec<u8> {
    let mut bytes = log_header(number, 1, Base::Log);
    line::encode_fact(&mut bytes, place, group, &ChapterLine::from(&Fact::from(defined())));
    bytes
}

#[test]
fn a_fact_of_another_place_or_group() {
    let of = |place, group| {
        let disk = SimDisk::new(0);
        disk.put("log.0000000001", &log(1, place, group));
        wrong(&disk)
    };
    assert!(of(1, (1, 1)).is_none());
    for (place, group) in [(2, (1, 2)), (1, (0, 1)), (1, (1, 0))] {
        assert!(is_damaged(of(place, group).as_ref()), "fact {place} of {group:?}");
    }
}

#[test]
fn a_segment_under_the_name_of_another() {
    let disk = SimDisk::new(0);
    disk.put("log.0000000001", &log(2, 1, (1, 1)));
    assert!(is_damaged(wrong(&disk).as_ref()));
}

/// A snapshot with one network and its segment; `change` modifies the snapshot's bytes.
fn with_snapshot(number: u64, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Option<Error> {
    let disk = SimDisk::new(0);
    let header = SnapshotHeader {
        version: FORMAT_VERSION,
        program: PROGRAM.to_owned(),
        number,
        segment: None,
        boot: boot(1),
        node: "node-1".to_owned(),
        opened: NOW,
    };
    let mut book = Book::empty(&name(0));
    book.apply(1, &defined()).unwrap();
    let mut snapshot = SnapshotWriter::begin(&disk, header).unwrap();
    snapshot.add(v1::items(Page::Book(Box::new(book.image()))));
    snapshot.write(1 << 20).unwrap();
    let staged = |place, fact: LedgerFact| (place, ChapterLine::from(&Fact::from(fact)));
    let importing = LedgerFact::Importing { network: name(0), under_way: true, at: NOW };
    snapshot.end(1, &[staged(1, defined()), staged(2, importing)]).unwrap();
    snapshot.publish(&disk).unwrap();
    let bytes = change(disk.contents(&names::snapshot(number)).unwrap());
    disk.remove(&names::snapshot(number)).unwrap();
    disk.put(&names::snapshot(2), &bytes);
    disk.put("log.0000000002", &log_header(2, 2, Base::Snapshot));
    wrong(&disk)
}

#[test]
fn a_snapshot_under_the_name_of_another() {
    assert!(with_snapshot(2, |bytes| bytes).is_none());
    assert!(is_damaged(with_snapshot(3, |bytes| bytes).as_ref()));
}

#[test]
fn an_end_that_counts_other_lines() {
    let end = |lines: u64| {
        move |bytes: Vec<u8>| {
            let whole = bytes.len() - 1;
            let last = bytes[..whole].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
            let mut changed = bytes[..last].to_vec();
            frame::encode(&mut changed, 4, format!(r#"{{"lines":{lines},"through":2}}"#).as_bytes());
            changed
        }
    };
    assert!(with_snapshot(2, end(4)).is_none());
    assert!(is_damaged(with_snapshot(2, end(3)).as_ref()));
    assert!(is_damaged(with_snapshot(2, end(5)).as_ref()));
}

/// Changes the JSON of the lines, and makes everything else match again.
fn rewritten(bytes: &[u8], change: impl FnOnce(&mut Vec<String>)) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut lines = text.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap().to_owned()).collect();
    change(&mut lines);
    let mut rewritten = Vec::new();
    (0..).zip(lines).for_each(|(number, json)| frame::encode(&mut rewritten, number, json.as_bytes()));
    rewritten
}

#[test]
fn a_line_of_a_snapshot_that_is_none_or_stands_elsewhere() {
    let with = |change: fn(&mut Vec<String>)| with_snapshot(2, |bytes| rewritten(&bytes, change));
    assert!(with(|_| ()).is_none());
    assert!(is_damaged(with(|lines| lines.swap(1, 2)).as_ref()), "an item follows a fact");
    assert!(is_damaged(with(|lines| lines.swap(3, 4)).as_ref()), "a fact follows the end");
    assert!(is_damaged(with(|lines| lines.truncate(4)).as_ref()), "the end is missing");
    for (wrong, place) in [
        (r#"{"chapter":"ledger","item":{}}"#, 1),
        (r#"{"version":1,"item":{}}"#, 1),
        (r#"{"chapter":"ledger","version":1}"#, 1),
        (r#"{"chapter":"ledger","version":1,"item":{"lost":{}}}"#, 1),
        (r#"{"chapter":"ledger","version":1,"item":{"settled":[]},"lines":1}"#, 1),
        (r#"{"chapter":"ledger","version":1,"item":{"settled":[]},"place":1,"fact":{}}"#, 1),
        (r#"{"chapter":"ledger","version":1,"fact":{}}"#, 3),
        (r#"{"chapter":"ledger","version":1,"place":2}"#, 3),
        (r#"{"place":2,"fact":{}}"#, 3),
        (r#"{"chapter":"ledger","version":1,"lines":4}"#, 4),
        (r#"{"lines":4}"#, 4),
        ("{}", 4),
    ] {
        let error = with_snapshot(2, |bytes| rewritten(&bytes, |lines| lines[place] = wrong.to_owned()));
        assert!(is_damaged(error.as_ref()), "{wrong}: {error:?}");
    }
}

#[test]
fn an_item_of_no_network() {
    let error = with_snapshot(2, |bytes| {
        rewritten(&bytes, |lines| {
            lines[1] = r#"{"chapter":"ledger","version":1,"item":{"settled":[]}}"#.to_owned();
        })
    });
    assert!(is_damaged(error.as_ref()), "{error:?}");
}
