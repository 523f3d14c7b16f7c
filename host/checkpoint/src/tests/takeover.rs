//! What is kept of another IPAM's claims: unknown owners and claims that are over, in the log and in a snapshot.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Origin, Owner, Record};

use super::fixture::{NOW, boot, network};
use crate::entry;
use crate::header::{FORMAT_VERSION, SnapshotHeader};
use crate::sim::SimDisk;
use crate::snapshot::{self, SnapshotWriter};

fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// A book with an unknown owner that lives, and more claims that are over than a line of a snapshot has.
fn book() -> (Book, Vec<Record>) {
    let mut book = Book::new(network(0, "10.0.0.0/8", "10.0.0.1", "10.0.3.255"));
    let mut records = Vec::new();
    let mut apply = |book: &mut Book, record: Record| {
        book.apply(book.through() + 1, &record).unwrap();
        records.push(record);
    };
    let first = (0..600_u16).map(|number| {
        let [high, low] = number.to_be_bytes();
        IpAddr::from([10, 1, high, low])
    });
    for address in first.chain([ip(9)]) {
        let origin = Origin { source: "files".into(), claims: vec!["a".into()], why: "empty".into() };
        let allocation = book.hold(address, origin, NOW).unwrap();
        apply(&mut book, Record::Allocate(Arc::new(allocation)));
        if address != ip(9) {
            let record = book.release(&Owner::Unknown { address }, NOW, "operator").unwrap();
            apply(&mut book, record);
        }
    }
    (book, records)
}

#[test]
fn a_snapshot_has_unknown_owners_and_claims_that_are_over() {
    let (book, _) = book();
    let image = book.image();
    assert_eq!((image.allocations.len(), image.settled.len()), (1, 600));
    let disk = SimDisk::new(0);
    let header = SnapshotHeader {
        version: FORMAT_VERSION,
        number: 2,
        boot: boot(1),
        node: "node-1".to_owned(),
        opened: NOW,
    };
    let mut snapshot = SnapshotWriter::begin(&disk, header).unwrap();
    snapshot.add(image.clone());
    while !snapshot.is_drained() {
        snapshot.write(1 << 10).unwrap();
    }
    snapshot.end().unwrap();
    snapshot.publish(&disk).unwrap();
    let books = snapshot::read(&disk, 2).unwrap().into_books();
    assert_eq!(books.iter().map(Book::image).collect::<Vec<_>>(), [image]);
}

#[test]
fn a_record_of_an_unknown_owner_is_read_as_it_was_written() {
    for record in book().1.iter().rev().take(3) {
        let json = entry::encode_record(record).unwrap();
        let line = format!("{{\"group\":[1,1],\"record\":{}}}", std::str::from_utf8(&json).unwrap());
        let read: entry::Entry = serde_json::from_str(&line).unwrap();
        assert_eq!(read.record, *record);
    }
    for wrong in [
        r#"{"kind":"unknown"}"#,
        r#"{"kind":"unknown","address":"10.0.0.2","container":"c","interface":"eth0"}"#,
        r#"{"kind":"attachment","container":"c"}"#,
        r#"{"kind":"attachment","address":"10.0.0.2"}"#,
    ] {
        assert!(serde_json::from_str::<Owner>(wrong).is_err(), "{wrong}");
    }
}
