//! The difference between memory and disk, while both change.
//!
//! ```text
//!  memory, before ──▶ all of it is durable ──▶ disk ──▶ memory, after
//! ```
//!
//! What memory had before and after, unchanged, must be on the disk in between. What the disk has and memory had already ended before,
//! must not be. Anything else may have changed meanwhile, and says nothing.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Allocation, End, Generation, NetworkName};

/// The books of memory and disk, in the order in which they were read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedBooks<'a> {
    pub(super) before: &'a [Arc<Book>],
    pub(super) on_disk: &'a [Book],
    pub(super) after: &'a [Arc<Book>],
}

/// An allocation that is in one place only, or differs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MissingAllocation {
    FromDisk(Arc<Allocation>),
    FromMemory(Arc<Allocation>),
}

/// The allocations of a network.
#[derive(Default)]
struct NetworkAllocations {
    /// Earlier ones have been made.
    next: Generation,
    all: BTreeMap<Generation, Arc<Allocation>>,
}

/// How many allocations were compared, and those that are missing.
pub(super) fn missing(looked: ComparedBooks<'_>) -> (u64, Vec<MissingAllocation>) {
    let [before, after] = [looked.before, looked.after].map(by_network);
    let on_disk = by_network(looked.on_disk);
    let (mut compared, mut found) = (0, Vec::new());
    let nothing = NetworkAllocations::default();
    for name in on_disk.keys().chain(before.keys().filter(|name| !on_disk.contains_key(*name))) {
        let [was, disk, is] = [&before, &on_disk, &after].map(|of| of.get(name).unwrap_or(&nothing));
        compared += disk.all.len().max(was.all.len()) as u64;
        let is_known = before.contains_key(name) || after.contains_key(name);
        let stable = |held: &Allocation| {
            let [was, is] = [was, is].map(|at| at.all.get(&held.generation));
            was.filter(|was| is.is_some_and(|is| is_same(was, is)))
        };
        let on_disk =
            |held: &Allocation| disk.all.get(&held.generation).is_some_and(|disk| is_same(disk, held));
        found.extend(
            was.all
                .values()
                .filter(|held| stable(held).is_some() && !on_disk(held))
                .cloned()
                .map(MissingAllocation::FromDisk),
        );
        let is_over = |held: &Allocation| {
            let was_made = held.generation < was.next || !is_known;
            was_made && !was.all.contains_key(&held.generation) && !is.all.contains_key(&held.generation)
        };
        let differs = |held: &Allocation| stable(held).is_some_and(|stable| !is_same(stable, held));
        found.extend(
            disk.all
                .values()
                .filter(|held| is_over(held) || differs(held))
                .cloned()
                .map(MissingAllocation::FromMemory),
        );
    }
    (compared, found)
}

fn by_network<B: Borrow<Book>>(books: &[B]) -> BTreeMap<NetworkName, NetworkAllocations> {
    let of = |book: &Book| NetworkAllocations {
        next: book.next_generation(),
        all: book.allocations().map(|held| (held.generation, Arc::clone(held))).collect(),
    };
    let named = |book: &B| {
        let book: &Book = book.borrow();
        (book.name().clone(), of(book))
    };
    books.iter().map(named).collect()
}

/// Whether two are the same. What outlives a reboot counts as requested again when the boot was entered, and each recovery enters it at
/// a moment of its own.
fn is_same(one: &Allocation, other: &Allocation) -> bool {
    one == other
        || !End::Reboot.ends(&one.owner)
            && Allocation { requested_at: other.requested_at, ..one.clone() } == *other
}

#[cfg(test)]
mod tests;
