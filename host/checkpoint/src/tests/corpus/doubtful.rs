//! The part of the story about quarantine.

use tenure_ledger::{Book, LedgerFact, QuarantineSubject};
use tenure_types::Definer;

use super::node::{Story, at, ip, owner};

/// Addresses and an owner come into quarantine, and a network with such an address is removed.
pub(super) fn doubt(story: &Story<'_>) {
    quarantine(story, "lan", "10.1.0.16", "somebody answers \"ARP\"");
    quarantine(story, "lan", "10.1.0.5", "");
    quarantine(story, "lan", "fd00:7::11", "lease conflict");
    for (container, interface) in [("bare", "net1"), ("db", "eth0")] {
        story.of_book("lan", |book| {
            let held = book.owned_by(&owner(container, interface)).unwrap();
            Vec::from_iter(book.doubt(held, "its namespace is gone", at(19)))
        });
    }
    story.define_small("shut", 23, Definer::Request, at(19));
    quarantine(story, "shut", "10.9.23.2", "odd");
    story.remove("shut", at(19));
}

/// Some of it ends; the rest stays.
pub(super) fn lift(story: &Story<'_>) {
    let held = |book: &Book| book.owned_by(&owner("db", "eth0")).unwrap().generation;
    story.of_book("lan", |book| lifted(book, QuarantineSubject::Allocation(held(book)), "it is back"));
    for address in ["10.1.0.16", "fd00:7::11"] {
        story.of_book("lan", |book| lifted(book, QuarantineSubject::Address(ip(address)), ""));
    }
}

fn lifted(book: &Book, subject: QuarantineSubject, why: &str) -> Vec<LedgerFact> {
    Vec::from_iter(book.lift(subject, at(27), why))
}

fn quarantine(story: &Story<'_>, network: &str, address: &str, reason: &str) {
    story.of_book(network, |book| Vec::from_iter(book.quarantine(ip(address), reason, at(19)).unwrap()));
}
