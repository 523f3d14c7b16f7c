//! Remembers when DELs began, so that an ADD that was overtaken by its DEL fails.
//!
//! Runtimes kill a slow ADD and send DEL immediately, so the ADD may arrive after the DEL. Tombstones expire after a
//! while, and their number is bounded, because a DEL may name anything. An ADD that began before the period that the
//! tombstones cover is refused, so none slips through. The period begins at the earliest when the engine starts: it
//! knows nothing of DELs served by an earlier engine.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tenure_types::{Moment, NetworkName, Owner};

/// How long a DEL is remembered; an ADD that began longer ago is refused as well.
const LIFE: Duration = Duration::from_secs(600);

/// The maximum number of DELs remembered.
const MOST: usize = 100_000;

/// An attachment: its network and its owner there.
pub(super) type Key = (NetworkName, Owner);

#[derive(Debug)]
pub(super) struct Tombstones {
    /// When the latest DEL of each key began, in nanoseconds of the boot clock.
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

    /// Records when a DEL began.
    pub(super) fn bury(&mut self, key: &Key, began: Moment, now: Moment) {
        let began_at = self.began.entry(key.clone()).or_default();
        *began_at = (*began_at).max(began.boot_ns);
        self.oldest_first.push_back((now, key.clone()));
        while let Some((buried_at, _)) = self.oldest_first.front() {
            let too_many = self.oldest_first.len() > self.most;
            if now.since(*buried_at) < LIFE && !too_many {
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

    /// Whether it is certain that no DEL has overtaken an ADD of this key.
    pub(super) fn is_alive(&self, key: &Key, began: Moment, now: Moment) -> bool {
        let remembered = now.since(began) < LIFE && began.boot_ns >= self.since;
        remembered && self.began.get(key).is_none_or(|buried| began.boot_ns > *buried)
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

    #[test]
    fn up_to_the_bound_and_their_age_all_are_kept() {
        let mut tombstones = Tombstones { most: 3, ..Tombstones::new(at(100)) };
        for number in 1..=3 {
            tombstones.bury(&key(number), at(1000), at(1000));
        }
        assert!((1..=3).all(|number| !tombstones.is_alive(&key(number), at(1000), at(1001))));
        assert!(tombstones.is_alive(&key(9), at(100), at(1001)), "nothing was forgotten");
        let life = u64::try_from(LIFE.as_nanos()).unwrap();
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
            assert!(!tombstones.is_alive(&key(number), at(began), now), "ADD {number} arrived after its DEL");
        }
        assert!(tombstones.is_alive(&key(5), now, now) && tombstones.is_alive(&key(5000), now, now));
    }
}
