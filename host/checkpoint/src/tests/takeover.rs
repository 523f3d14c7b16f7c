//! Claims that come from another IPAM: unknown owners and settled claims, in the log and in a snapshot.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{Book, Fact, LedgerFact, Page};
use tenure_types::{Origin, Owner};

use super::fixture::{NOW, PROGRAM, book_of, boot, name, network, redefined, stamp};
use crate::chapters::Chapters;
use crate::header::{FORMAT_VERSION, SnapshotHeader};
use crate::line::ChapterLine;
use crate::sim::SimDisk;
use crate::snapshot::{self, SnapshotWriter};
use crate::v1;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// A book with a live unknown owner, and more settled claims than fit in a line of a snapshot.
fn book() -> (Book, Vec<LedgerFact>) {
    let wanted = network(0, "10.0.0.0/8", "10.0.0.1", "10.0.3.255");
    let mut book = book_of(&name(0), &redefined(&Book::empty(&name(0)), &wanted));
    let mut facts = Vec::new();
    let mut apply = |book: &mut Book, fact: LedgerFact| {
        book.apply(book.through() + 1, &fact).unwrap();
        facts.push(fact);
    };
    let first = (0..600_u16).map(|number| {
        let [high, low] = number.to_be_bytes();
        IpAddr::from([10, 1, high, low])
    });
    for address in first.chain([ip(9)]) {
        let origin = Origin { source: "files".into(), claims: vec!["a".into()], why: "empty".into() };
        let allocation = book.hold(address, origin, &stamp(), NOW).unwrap();
        apply(&mut book, LedgerFact::Allocated(Arc::new(allocation)));
        if address != ip(9) {
            let fact = book.release(&Owner::Unknown { address }, NOW, "operator").unwrap();
            apply(&mut book, fact);
        }
    }
    (book, facts)
}

#[test]
fn a_snapshot_has_unknown_owners_and_claims_that_are_over() {
    let (book, _) = book();
    let image = book.image();
    assert_eq!((image.allocations.len(), image.settled.len()), (1, 600));
    let disk = SimDisk::new(0);
    let header = SnapshotHeader {
        version: FORMAT_VERSION,
        program: PROGRAM.to_owned(),
        number: 2,
        segment: None,
        boot: boot(1),
        node: "node-1".to_owned(),
        opened: NOW,
    };
    let mut snapshot = SnapshotWriter::begin(&disk, header).unwrap();
    snapshot.add(v1::items(Page::Book(Box::new(image.clone()))));
    while !snapshot.is_drained() {
        snapshot.write(1 << 10).unwrap();
    }
    snapshot.end(1, &[]).unwrap();
    snapshot.publish(&disk).unwrap();
    let mut books = v1::Books::default();
    let read = snapshot::read(&disk, 2, &mut Chapters::new(&mut [&mut books])).unwrap();
    assert!(read.skipped.is_empty());
    assert_eq!(books.into_parts().0.iter().map(Book::image).collect::<Vec<_>>(), [image]);
}

#[test]
fn a_fact_of_an_unknown_owner_is_read_as_it_was_written() {
    let read = |line: &ChapterLine| {
        let json = std::str::from_utf8(&line.json).unwrap();
        v1::decode(&line.chapter, line.version, json).unwrap()
    };
    let facts = book().1.into_iter().rev().take(3).map(Fact::from);
    for fact in facts {
        assert_eq!(read(&ChapterLine::from(&fact)), Ok(fact));
    }
    let allocated = ChapterLine::from(&Fact::from(book().1.pop().unwrap()));
    let json = String::from_utf8(allocated.json.clone()).unwrap();
    let owner = r#""owner":{"unknown":"10.0.0.9"}"#;
    assert!(json.contains(owner), "{json}");
    for wrong in [
        r#"{}"#,
        r#"{"unknown":"nobody"}"#,
        r#"{"unknown":"10.0.0.2","container":"c","interface":"eth0"}"#,
        r#"{"unknown":"10.0.0.2","agent":"cilium","claim":"router"}"#,
        r#"{"container":"c"}"#,
        r#"{"container":"c","interface":"eth0","agent":"cilium"}"#,
        r#"{"agent":"cilium"}"#,
        r#"{"claim":"router"}"#,
        r#"{"interface":"eth0","unknown":"10.0.0.2"}"#,
    ] {
        let json = json.replace(owner, &format!(r#""owner":{wrong}"#)).into_bytes();
        assert!(read(&ChapterLine { json, ..allocated.clone() }).is_err(), "{wrong}");
    }
}
