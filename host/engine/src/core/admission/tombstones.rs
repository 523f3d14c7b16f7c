//! Remembers when DELs began, so that an ADD that was overtaken by its DEL fails.
//!
//! Runtimes kill a slow ADD and send DEL immediately, so the ADD may arrive after the DEL. Tombstones expire after a
//! while, and their number is bounded, because a DEL may name anything. An ADD that began before the period that the
//! tombstones cover is refused, so none slips through. The period begins when the engine starts, or earlier if the DELs
//! that earlier engines have served are [restored](Tombstones::restore).

use std::collections::{HashMap, VecDeque};

use tenure_types::{Moment, NetworkName, Owner};

use crate::ports::DELS_REMEMBERED;

/// The maximum number of DELs remembered.
const MOST: usize = 100_000;

/// An attachment: its network and its owner there.
pub(super) type Key = (NetworkName, Owner);

/// The verdict of the tombstones on an ADD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// No DEL of its key has overtaken it.
    Alive,
    /// A DEL of its key began after it, or at the same time.
    Overtaken,
    /// The ADD began before the period that the tombstones cover.
    TooOld,
}

#[derive(Debug)]
pub(super) struct Tombstones {
    /// Beginning of the latest DEL of each key, in nanoseconds of the boot clock.
    began: HashMap<Key, u64>,
    oldest_first: VecDeque<(Moment, Key)>,
    /// Every DEL that began at or after this time is remembered.
    since: u64,
    most: usize,
}

impl Tombstones {
    pub(super) fn new(since: Moment) -> Self {
        let (began, oldest_first) = (HashMap::new(), VecDeque::new());
        Self { began, oldest_first, since: since.boot_ns, most: MOST }
    }

    /// Adds what an earlier engine has remembered: every DEL that began at or after `since`. The DELs are in the order in
    /// which they were served, each with the time when it began and the time when it was served.
    pub(super) fn restore(&mut self, since: u64, dels: impl IntoIterator<Item = (Key, Moment, Moment)>) {
        self.since = self.since.min(since);
        for (key, began, served) in dels {
            self.bury(&key, began, served);
        }
    }

    /// Records when a DEL began.
    pub(super) fn bury(&mut self, key: &Key, began: Moment, now: Moment) {
        let began_at = self.began.entry(key.clone()).or_default();
        *began_at = (*began_at).max(began.boot_ns);
        self.oldest_first.push_back((now, key.clone()));
        while let Some((buried_at, _)) = self.oldest_first.front() {
            let too_many = self.oldest_first.len() > self.most;
            if now.since(*buried_at) < DELS_REMEMBERED && !too_many {
                break;
            }
            self.forget_oldest(too_many);
        }
    }

    fn forget_oldest(&mut self, too_early: bool) {
        let Some((buried_at, key)) = self.oldest_first.pop_front() else { return };
        // A later DEL of the key has its own entry.
        let Some(began) = self.began.get(&key).copied().filter(|began| *began <= buried_at.boot_ns) else {
            return;
        };
        self.began.remove(&key);
        if too_early {
            self.since = self.since.max(began.saturating_add(1));
        }
    }

    /// Whether a DEL has overtaken an ADD of this key.
    pub(super) fn fate(&self, key: &Key, began: Moment, now: Moment) -> Fate {
        let is_remembered = now.since(began) < DELS_REMEMBERED && began.boot_ns >= self.since;
        match self.began.get(key) {
            Some(buried) if began.boot_ns <= *buried => Fate::Overtaken,
            _ if is_remembered => Fate::Alive,
            _ => Fate::TooOld,
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{ContainerId, InterfaceName};

    use super::*;

    fn key(number: u64) -> Key {
        let container = ContainerId::new(format!("c{number}")).unwrap();
        let owner = Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() };
        (NetworkName::new("net").unwrap(), owner)
    }

    fn at(boot_ns: u64) -> Moment {
        Moment { boot_ns, wall_ms: 0 }
    }

    fn is_alive(tombstones: &Tombstones, key: &Key, began: Moment, now: Moment) -> bool {
        tombstones.fate(key, began, now) == Fate::Alive
    }

    #[test]
    fn what_an_earlier_engine_has_served_is_told_from_what_nobody_remembers() {
        let mut tombstones = Tombstones::new(at(1000));
        assert_eq!(tombstones.fate(&key(1), at(900), at(1000)), Fate::TooOld);
        tombstones.restore(500, [(key(1), at(700), at(800)), (key(2), at(450), at(810))]);
        for (number, began, fate) in [
            (1, 699, Fate::Overtaken),
            (1, 700, Fate::Overtaken),
            (1, 701, Fate::Alive),
            (2, 450, Fate::Overtaken),
            (2, 499, Fate::TooOld),
            (3, 499, Fate::TooOld),
            (3, 500, Fate::Alive),
        ] {
            assert_eq!(tombstones.fate(&key(number), at(began), at(1000)), fate, "{number} at {began}");
        }
    }

    #[test]
    fn up_to_the_bound_and_their_age_all_are_kept() {
        let mut tombstones = Tombstones { most: 3, ..Tombstones::new(at(100)) };
        for number in 1..=3 {
            tombstones.bury(&key(number), at(1000), at(1000));
        }
        assert!((1..=3).all(|number| !is_alive(&tombstones, &key(number), at(1000), at(1001))));
        assert!(is_alive(&tombstones, &key(9), at(100), at(1001)), "nothing was forgotten");
        let life = u64::try_from(DELS_REMEMBERED.as_nanos()).unwrap();
        tombstones.bury(&key(9), at(2000), at(1000 + life));
        assert_eq!((tombstones.began.len(), tombstones.oldest_first.len()), (1, 1), "their time is over");
    }

    #[test]
    fn beyond_the_bound_the_oldest_go_and_nothing_slips_through() {
        let mut tombstones = Tombstones { most: 10, ..Tombstones::new(at(100)) };
        for number in 0..1000 {
            // Every second DEL began before the one that arrived ahead of it.
            let began = 1000 + number * 10 - (number % 2) * 15;
            tombstones.bury(&key(number), at(began), at(2000 + number * 10));
            tombstones.bury(&key(number), at(began), at(2001 + number * 10));
        }
        assert!(tombstones.began.len() <= 10 && tombstones.oldest_first.len() <= 10);
        let now = at(20_000);
        for number in 0..1000 {
            let began = 1000 + number * 10 - (number % 2) * 15;
            assert!(
                !is_alive(&tombstones, &key(number), at(began), now),
                "ADD {number} arrived after its DEL"
            );
        }
        assert!(is_alive(&tombstones, &key(5), now, now) && is_alive(&tombstones, &key(5000), now, now));
    }
}
