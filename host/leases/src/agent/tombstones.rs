//! Leases that the node gave back, which it never accepts again.
//!
//! A restored etcd brings back an IPBlock with its old uid after its addresses went to another node. The uid alone tells that the lease is over,
//! so dropped uids are kept durably for 30 days: longer than any snapshot that somebody would restore.

use std::collections::BTreeMap;

use crate::Uid;

/// Seconds for which a dropped uid is kept.
pub const TOMBSTONE_SECONDS: u64 = 30 * 24 * 3600;

/// Dropped leases by uid, each with the second at which it may be forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseTombstones {
    until: BTreeMap<Uid, u64>,
}

impl LeaseTombstones {
    /// Adds a dropped lease. `now` is in seconds of the agent's own durable clock; a clock that went back only lengthens.
    pub fn add(&mut self, uid: Uid, now: u64) {
        let until = now.saturating_add(TOMBSTONE_SECONDS);
        let entry = self.until.entry(uid).or_insert(until);
        *entry = until.max(*entry);
    }

    /// Removes a lease that the node holds again: an IPBlock made again by a restore, whose addresses never left the node.
    pub fn remove(&mut self, uid: Uid) {
        self.until.remove(&uid);
    }

    /// Forgets what is over.
    pub fn expire(&mut self, now: u64) {
        self.until.retain(|_, until| *until > now);
    }

    /// Whether the lease was given back.
    #[must_use]
    pub fn contains(&self, uid: Uid) -> bool {
        self.until.contains_key(&uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lease_is_kept_for_thirty_days_and_a_clock_that_goes_back_only_lengthens() {
        let mut stones = LeaseTombstones::default();
        stones.add(Uid(1), 1000);
        stones.add(Uid(1), 0);
        stones.expire(999 + TOMBSTONE_SECONDS);
        assert!(stones.contains(Uid(1)) && !stones.contains(Uid(2)));
        stones.expire(1000 + TOMBSTONE_SECONDS);
        assert!(!stones.contains(Uid(1)));
        stones.add(Uid(2), 0);
        stones.remove(Uid(2));
        assert_eq!(stones, LeaseTombstones::default());
    }
}
