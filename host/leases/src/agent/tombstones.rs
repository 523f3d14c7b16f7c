//! Leases that the node gave back, which it never accepts again.
//!
//! A restored etcd brings back an IPBlock with its old uid after its addresses went to another node. The uid alone tells that the lease is over,
//! so dropped uids are kept durably for 30 days of the agent's [durable time](crate::agent::time): longer than any snapshot that somebody would restore.

use std::collections::BTreeMap;

use crate::Uid;

/// Seconds for which a dropped uid is kept.
pub const TOMBSTONE_SECONDS: u64 = 30 * 24 * 3600;

/// The most dropped uids that are kept, of a node that gives a lease back each four minutes for 30 days. The oldest go first.
pub const MAX_TOMBSTONES: usize = 10_000;

/// Dropped leases by uid, each with the second of the durable time at which it may be forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseTombstones {
    until: BTreeMap<Uid, u64>,
}

impl LeaseTombstones {
    /// Adds a dropped lease. `now` is in seconds of the agent's durable time.
    pub fn add(&mut self, uid: Uid, now: u64) {
        let until = now.saturating_add(TOMBSTONE_SECONDS);
        let entry = self.until.entry(uid).or_insert(until);
        *entry = until.max(*entry);
    }

    /// Removes a lease that the node holds again: an IPBlock made again by a restore, whose addresses never left the node.
    pub fn remove(&mut self, uid: Uid) {
        self.until.remove(&uid);
    }

    /// Forgets what is over, and the oldest of too many; returns them.
    pub fn expire(&mut self, now: u64) -> Vec<Uid> {
        let mut ages: Vec<(u64, Uid)> = self.until.iter().map(|(uid, until)| (*until, *uid)).collect();
        ages.sort_unstable();
        let surplus = ages.len().saturating_sub(MAX_TOMBSTONES);
        let is_over = |(index, (until, _)): &(usize, (u64, Uid))| *index < surplus || *until <= now;
        let over: Vec<Uid> = ages.into_iter().enumerate().filter(is_over).map(|(_, (_, uid))| uid).collect();
        for uid in &over {
            self.until.remove(uid);
        }
        over
    }

    /// Whether the lease was given back.
    #[must_use]
    pub fn contains(&self, uid: Uid) -> bool {
        self.until.contains_key(&uid)
    }
}

impl FromIterator<(Uid, u64)> for LeaseTombstones {
    /// Reads tombstones, each with the second at which it may be forgotten.
    fn from_iter<T: IntoIterator<Item = (Uid, u64)>>(stones: T) -> Self {
        Self { until: stones.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lease_is_kept_for_thirty_days_and_a_second_word_only_lengthens() {
        let mut stones = LeaseTombstones::default();
        stones.add(Uid(1), 1000);
        stones.add(Uid(1), 0);
        assert_eq!(stones.expire(999 + TOMBSTONE_SECONDS), []);
        assert!(stones.contains(Uid(1)) && !stones.contains(Uid(2)));
        assert_eq!(stones.expire(1000 + TOMBSTONE_SECONDS), [Uid(1)]);
        assert!(!stones.contains(Uid(1)));
        stones.add(Uid(2), 0);
        stones.remove(Uid(2));
        assert_eq!(stones, LeaseTombstones::default());
    }

    #[test]
    fn of_too_many_the_oldest_are_forgotten() {
        let mut stones = LeaseTombstones::default();
        for age in 0..=2 {
            // The smaller uids are younger.
            stones.add(Uid(2 - age), u64::try_from(age).unwrap());
        }
        let mut many: LeaseTombstones =
            (3..).map(|uid| (Uid(uid), u64::MAX)).take(MAX_TOMBSTONES - 1).collect();
        many.until.append(&mut stones.until);
        assert_eq!(many.expire(0), [Uid(2), Uid(1)]);
        assert!(many.contains(Uid(0)) && many.contains(Uid(3)));
        assert_eq!(many.expire(0), []);
    }
}
