//! Signs of a restored store: what a leader read before, and what it reads now.
//!
//! ```text
//!   the store's version is lower than one that was read                              restored
//!   after an interruption, an object is older than it was                            restored, with versions that go on
//!   after an interruption, an object is gone that this leader did not end            restored, or another leader ended it
//!   a node holds a block of which the IPBlock is gone                                restored; once an hour for each node, since it may lie
//! ```
//!
//! Each is a reason to begin again at the barrier, with a pause. A wrong one costs the pause and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ObjectVersion;

/// The time after which a node's lost leases are again a sign of a restored store.
const LOST: Duration = Duration::from_secs(3600);

/// The versions that a leader has read. Lives in memory alone: a successor begins without it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreSigns {
    highest: Option<ObjectVersion>,
    /// The versions of the blocks and NodeIPAMs of the last view, by uid.
    seen: BTreeMap<String, ObjectVersion>,
    lost: BTreeMap<String, Duration>,
}

impl RestoreSigns {
    /// Notes the highest version seen.
    pub fn saw(&mut self, version: Option<ObjectVersion>) {
        self.highest = self.highest.max(version);
    }

    /// Compares the store's present version with what was seen. Returns whether it is lower.
    pub fn compare_version(&mut self, version: ObjectVersion) -> bool {
        let restored = self.highest.is_some_and(|highest| version < highest);
        self.highest = if restored { Some(version) } else { self.highest.max(Some(version)) };
        restored
    }

    /// Takes the versions of all objects of a view. Returns whether, after an interruption, one is older than it was, or gone.
    pub fn compare_objects(&mut self, now: BTreeMap<String, ObjectVersion>, interrupted: bool) -> bool {
        let older = |(uid, seen): (&String, &ObjectVersion)| now.get(uid).is_none_or(|now| now < seen);
        let restored = interrupted && self.seen.iter().any(older);
        self.seen = now;
        restored
    }

    /// Notes an object that this leader ended.
    pub fn ended(&mut self, uid: &str) {
        self.seen.remove(uid);
    }

    /// Notes a node that holds a block of which the IPBlock is gone. Returns whether that is news: one node's word stops the grants once an hour only.
    pub fn lost_lease(&mut self, node: &str, now: Duration) -> bool {
        let told = self.lost.get(node).is_some_and(|at| now.saturating_sub(*at) < LOST);
        if !told {
            self.lost.insert(node.to_owned(), now);
        }
        !told
    }

    /// Forgets all nodes but these.
    pub fn keep_nodes(&mut self, nodes: &BTreeSet<&str>) {
        self.lost.retain(|node, _| nodes.contains(node.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects<const N: usize>(entries: [(&str, u64); N]) -> BTreeMap<String, ObjectVersion> {
        entries.map(|(uid, version)| (uid.to_owned(), ObjectVersion(version))).into()
    }

    #[test]
    fn a_lower_version_is_a_sign_once() {
        let mut signs = RestoreSigns::default();
        signs.saw(Some(ObjectVersion(9)));
        assert!(!signs.compare_version(ObjectVersion(10)));
        assert!(signs.compare_version(ObjectVersion(8)));
        assert!(!signs.compare_version(ObjectVersion(8)));
    }

    #[test]
    fn older_and_missing_objects_are_signs_after_an_interruption() {
        let mut signs = RestoreSigns::default();
        assert!(!signs.compare_objects(objects([("a", 3), ("b", 4)]), true));
        assert!(!signs.compare_objects(objects([("a", 2), ("b", 4)]), false));
        assert!(!signs.compare_objects(objects([("a", 3), ("b", 4), ("c", 1)]), true));
        assert!(signs.compare_objects(objects([("a", 3), ("b", 3), ("c", 1)]), true));
        signs.ended("c");
        assert!(!signs.compare_objects(objects([("a", 3), ("b", 3)]), true));
        assert!(signs.compare_objects(objects([("b", 3)]), true));
    }

    #[test]
    fn a_node_that_lost_leases_is_a_sign_once_an_hour() {
        let mut signs = RestoreSigns::default();
        assert!(signs.lost_lease("n1", Duration::ZERO));
        assert!(!signs.lost_lease("n1", LOST - Duration::from_secs(1)));
        assert!(signs.lost_lease("n2", Duration::ZERO) && signs.lost_lease("n1", LOST));
        signs.keep_nodes(&BTreeSet::from(["n1"]));
        assert!(signs.lost_lease("n2", LOST) && !signs.lost_lease("n1", LOST));
    }
}
