//! The chapter `ledger` as it is stored: facts in the log, and the items of a network in a snapshot.

mod books;
mod fact;
mod item;
mod network;
mod quarantine;

pub(crate) use self::books::Books;
pub(super) use self::fact::{decode, encode};
pub(super) use self::item::{gone, items};

pub(super) const CHAPTER: &str = "ledger";
