//! The changes of a book, for somebody who follows what a policy can ask of it.
//!
//! Each change gives the book a position that no other book of the process has, not even a copy of it that changed otherwise. Who
//! has the book as of a position can get from there by the changes since, as long as they are remembered; otherwise
//! only by an [`Outline`](super::Outline). A book remembers none until somebody follows it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tenure_types::{Allocation, Moment};

/// The most changes remembered.
const MOST: usize = 512;

/// The position that the next change gives.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A change of what a policy can ask of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookChange {
    /// An allocation was made.
    Held(Arc<Allocation>),
    /// An allocation ended at a time.
    Ended(Arc<Allocation>, Moment),
    /// Time has passed: addresses have cooled down, or names were forgotten.
    Passed {
        /// The time.
        now: Moment,
        /// The node's cooldown.
        of_node: Duration,
    },
}

/// The latest changes of a book, each with the position that it gave.
#[derive(Debug)]
pub(super) struct BookChanges {
    position: u64,
    /// The position before the first remembered change.
    floor: u64,
    since: VecDeque<(u64, BookChange)>,
    /// Set by readers, who have the book only to read.
    is_followed: AtomicBool,
}

impl Default for BookChanges {
    fn default() -> Self {
        let position = next();
        Self { position, floor: position, since: VecDeque::new(), is_followed: AtomicBool::new(false) }
    }
}

impl Clone for BookChanges {
    fn clone(&self) -> Self {
        let Self { position, floor, since, is_followed } = self;
        let is_followed = AtomicBool::new(is_followed.load(Ordering::Relaxed));
        Self { position: *position, floor: *floor, since: since.clone(), is_followed }
    }
}

impl BookChanges {
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn follow(&self) {
        self.is_followed.store(true, Ordering::Relaxed);
    }

    /// Takes a change.
    pub(super) fn push(&mut self, change: impl FnOnce() -> BookChange) {
        self.position = next();
        if !self.is_followed.load(Ordering::Relaxed) {
            self.floor = self.position;
            return;
        }
        self.since.push_back((self.position, change()));
        if self.since.len() > MOST
            && let Some((position, _)) = self.since.pop_front()
        {
            self.floor = position;
        }
    }

    /// Takes a change that only an outline can say.
    pub(super) fn reset(&mut self) {
        self.position = next();
        self.floor = self.position;
        self.since.clear();
    }

    /// The changes since a position; `None` if they are not remembered, or the book never had it.
    pub(super) fn since(&self, position: u64) -> Option<Vec<BookChange>> {
        let behind = match self.since.iter().position(|(after, _)| *after == position) {
            Some(index) => index + 1,
            None if position == self.floor => 0,
            None => return None,
        };
        Some(self.since.iter().skip(behind).map(|(_, change)| change.clone()).collect())
    }
}

fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(number: u64) -> BookChange {
        BookChange::Passed { now: Moment { boot_ns: number, wall_ms: 0 }, of_node: Duration::ZERO }
    }

    #[test]
    fn a_follower_gets_the_changes_since_its_position_and_no_others() {
        let mut changes = BookChanges::default();
        let unfollowed = changes.position();
        changes.push(|| passed(0));
        assert_eq!(changes.since(unfollowed), None, "nobody followed");
        changes.follow();
        let start = changes.position();
        assert_eq!(changes.since(start), Some(vec![]));
        let mut copy = changes.clone();
        changes.push(|| passed(1));
        let one = changes.position();
        changes.push(|| passed(2));
        assert_eq!(changes.since(start), Some(vec![passed(1), passed(2)]));
        assert_eq!(changes.since(one), Some(vec![passed(2)]));
        copy.push(|| passed(3));
        assert_eq!(changes.since(copy.position()), None, "a copy that changed otherwise");
        assert_eq!((copy.since(one), copy.since(start)), (None, Some(vec![passed(3)])));
        changes.reset();
        assert_eq!((changes.since(one), changes.since(changes.position())), (None, Some(vec![])));
    }

    #[test]
    fn so_many_are_remembered_and_not_more() {
        let mut changes = BookChanges::default();
        changes.follow();
        let start = changes.position();
        for number in 0..MOST as u64 {
            changes.push(|| passed(number));
        }
        assert_eq!(changes.since(start).map(|since| since.len()), Some(MOST));
        changes.push(|| passed(0));
        assert_eq!((changes.since(start), changes.since.len()), (None, MOST));
    }
}
