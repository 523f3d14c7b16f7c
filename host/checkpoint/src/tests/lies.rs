//! Lines whose checksums hold and that no writer would have written: a wrong name, place, group or count.

use tenure_ledger::{Book, Fact, LedgerFact, Page};

use super::fixture::{NOW, PROGRAM, boot, log_header, name, network, redefined};
use crate::disk::Disk;
use crate::header::{FORMAT_VERSION, SnapshotHeader};
use crate::line::{self, Line};
use crate::sim::SimDisk;
use crate::snapshot::SnapshotWriter;
use crate::{Base, Error, names, recover, v1};

/// What is wrong with a state; `None` when it is taken.
fn wrong(disk: &SimDisk) -> Option<Error> {
    recover(disk, &boot(1), NOW).err()
}

fn is_damaged(error: Option<&Error>) -> bool {
    matches!(error, Some(Error::Damaged { .. }))
}

/// The fact that a network is there.
fn defined() -> LedgerFact {
    let wanted = network(0, "10.0.0.0/8", "10.0.0.1", "10.0.3.255");
    redefined(&Book::empty(&name(0)), &wanted).swap_remove(0)
}

/// A log with one fact.
fn log(number: u64, place: u64, group: (u64, u64)) -> Vec<u8> {
    let mut bytes = log_header(number, 1, Base::Log);
    line::encode_fact(&mut bytes, place, group, &Line::from(&Fact::from(defined())));
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

/// A snapshot with one network and its segment; `change` is done to the snapshot's bytes.
fn with_snapshot(number: u64, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Option<Error> {
    let disk = SimDisk::new(0);
    let header = SnapshotHeader {
        version: FORMAT_VERSION,
        program: PROGRAM.to_owned(),
        number,
        boot: boot(1),
        node: "node-1".to_owned(),
        opened: NOW,
    };
    let mut book = Book::empty(&name(0));
    book.apply(1, &defined()).unwrap();
    let mut snapshot = SnapshotWriter::begin(&disk, header).unwrap();
    snapshot.add(v1::items(Page::Book(Box::new(book.image()))));
    snapshot.write(1 << 20).unwrap();
    snapshot.end().unwrap();
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
            crate::frame::encode(&mut changed, 2, format!(r#"{{"lines":{lines}}}"#).as_bytes());
            changed
        }
    };
    assert!(with_snapshot(2, end(2)).is_none());
    assert!(is_damaged(with_snapshot(2, end(1)).as_ref()));
    assert!(is_damaged(with_snapshot(2, end(3)).as_ref()));
}
