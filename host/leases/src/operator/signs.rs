//! Signs of a restored store: what a leader read before, and what it reads now.
//!
//! ```text
//!   the store's version is lower than one that was read                              restored
//!   after an interruption, an object is older than it was                            restored, with versions that go on
//!   after an interruption, an object is gone that this leader did not end            restored, or another leader ended it
//!   a node holds a block of which the IPBlock is gone                                restored; once an hour for each node, since it may lie
//!   the same, and this leader ended that very lease                                  no sign: a node that was fenced and came back
//!   it no longer says so, and the block is not leased                                its words were taken away; once an hour for each node
//! ```
//!
//! The last one is a NodeIPAM that somebody deleted or overwrote after a restore, before the lease was made again: nothing but the node's words tells
//! that the block is in use. In the pause the agent finds its words gone, and says them again.
//!
//! Each is a reason to begin again at the barrier, with a pause. A wrong one costs the pause and nothing else.
//!
//! A lease that this leader ended is over in every store, so it tells nothing of this one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ipnet::IpNet;

use crate::{ObjectVersion, Uid};

/// The time after which a node's lost leases are again a sign of a restored store.
const LOST: Duration = Duration::from_secs(3600);

/// The most ended objects that a leader remembers.
const MAX_ENDED: usize = 4096;

/// The versions that a leader has read. Lives in memory alone: a successor begins without it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreSigns {
    highest: Option<ObjectVersion>,
    /// The versions of the blocks and NodeIPAMs of the last view, by uid.
    seen: BTreeMap<Uid, ObjectVersion>,
    /// Objects that this leader ended, the latest last.
    ended: VecDeque<Uid>,
    lost: BTreeMap<String, Duration>,
    /// Blocks that nodes hold without an IPBlock, as of the last view.
    claimed: BTreeSet<(String, IpNet)>,
    silenced: BTreeMap<String, Duration>,
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
    pub fn compare_objects(&mut self, now: BTreeMap<Uid, ObjectVersion>, interrupted: bool) -> bool {
        let older = |(uid, seen): (&Uid, &ObjectVersion)| now.get(uid).is_none_or(|now| now < seen);
        let restored = interrupted && self.seen.iter().any(older);
        self.seen = now;
        restored
    }

    /// Notes an object that this leader ended.
    pub fn ended(&mut self, uid: Uid) {
        self.seen.remove(&uid);
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(uid);
    }

    /// Notes a node that holds a block under a lease of which the IPBlock is gone. Returns whether that is a sign: one node's word stops the grants once
    /// an hour only.
    pub fn lost_lease(&mut self, node: &str, uid: Uid, now: Duration) -> bool {
        !self.ended.contains(&uid) && is_news(&mut self.lost, node, now)
    }

    /// Takes the blocks of a view that nodes hold without an IPBlock, each with its node. Returns a node of the view before that no longer says so,
    /// unless `is_accounted` says that it does, or that the block is leased to it.
    pub fn compare_claims(
        &mut self,
        claims: BTreeSet<(String, IpNet)>,
        is_accounted: impl Fn(&str, IpNet) -> bool,
        now: Duration,
    ) -> Option<String> {
        let before = std::mem::replace(&mut self.claimed, claims);
        let gone = before.into_iter().filter(|(node, cidr)| !is_accounted(node, *cidr));
        let silenced: BTreeSet<String> = gone.map(|(node, _)| node).collect();
        silenced.into_iter().find(|node| is_news(&mut self.silenced, node, now))
    }

    /// Notes that this leader deleted the words of a node that is gone.
    pub fn forgot(&mut self, node: &str) {
        self.claimed.retain(|(of, _)| of != node);
    }

    /// Forgets all nodes but these.
    pub fn keep_nodes(&mut self, nodes: &BTreeSet<&str>) {
        self.lost.retain(|node, _| nodes.contains(node.as_str()));
        self.silenced.retain(|node, _| nodes.contains(node.as_str()));
    }
}

/// Whether a node has not been a sign within the hour. Notes that it is one now.
fn is_news(told: &mut BTreeMap<String, Duration>, node: &str, now: Duration) -> bool {
    let is_news = told.get(node).is_none_or(|at| now.saturating_sub(*at) >= LOST);
    if is_news {
        told.insert(node.to_owned(), now);
    }
    is_news
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects<const N: usize>(entries: [(u128, u64); N]) -> BTreeMap<Uid, ObjectVersion> {
        entries.map(|(uid, version)| (Uid(uid), ObjectVersion(version))).into()
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
        assert!(!signs.compare_objects(objects([(1, 3), (2, 4)]), true));
        assert!(!signs.compare_objects(objects([(1, 2), (2, 4)]), false));
        assert!(!signs.compare_objects(objects([(1, 3), (2, 4), (3, 1)]), true));
        assert!(signs.compare_objects(objects([(1, 3), (2, 3), (3, 1)]), true));
        signs.ended(Uid(3));
        assert!(!signs.compare_objects(objects([(1, 3), (2, 3)]), true));
        assert!(signs.compare_objects(objects([(2, 3)]), true));
    }

    #[test]
    fn a_node_whose_words_about_a_lost_lease_are_gone_is_a_sign_once_an_hour() {
        let mut signs = RestoreSigns::default();
        let cidr: IpNet = "10.0.0.0/26".parse().unwrap();
        let claim = |node: &str| BTreeSet::from([(node.to_owned(), cidr)]);
        let at = Duration::from_secs;
        assert_eq!(signs.compare_claims(claim("n1"), |_, _| false, at(0)), None);
        // It was leased again.
        assert_eq!(signs.compare_claims(BTreeSet::new(), |node, _| node == "n1", at(1)), None);
        assert_eq!(signs.compare_claims(claim("n1"), |_, _| true, at(2)), None);
        assert_eq!(signs.compare_claims(BTreeSet::new(), |_, _| false, at(3)).as_deref(), Some("n1"));
        assert_eq!(signs.compare_claims(claim("n1"), |_, _| false, at(4)), None);
        assert_eq!(signs.compare_claims(BTreeSet::new(), |_, _| false, at(5)), None);
        assert_eq!(signs.compare_claims(claim("n2"), |_, _| false, at(6)), None);
        signs.forgot("n2");
        assert_eq!(signs.compare_claims(BTreeSet::new(), |_, _| false, at(7)), None);
    }

    #[test]
    fn a_node_that_lost_leases_is_a_sign_once_an_hour() {
        let mut signs = RestoreSigns::default();
        let mut lost = |node: &str, at| signs.lost_lease(node, Uid(1), at);
        assert!(lost("n1", Duration::ZERO));
        assert!(!lost("n1", LOST - Duration::from_secs(1)));
        assert!(lost("n2", Duration::ZERO) && lost("n1", LOST));
        signs.keep_nodes(&BTreeSet::from(["n1"]));
        assert!(signs.lost_lease("n2", Uid(1), LOST) && !signs.lost_lease("n1", Uid(1), LOST));
    }

    #[test]
    fn a_node_that_names_a_lease_that_this_leader_ended_is_no_sign() {
        let mut signs = RestoreSigns::default();
        signs.ended(Uid(7));
        assert!(!signs.lost_lease("n1", Uid(7), Duration::ZERO));
        assert!(signs.lost_lease("n1", Uid(8), Duration::ZERO));
        for uid in 0..MAX_ENDED {
            signs.ended(Uid(100 + uid as u128));
        }
        assert!(signs.ended.len() == MAX_ENDED && signs.lost_lease("n2", Uid(7), Duration::ZERO));
    }
}
