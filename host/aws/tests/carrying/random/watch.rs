//! What must hold at any moment of a life, besides what the account's oracle judges.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::executor::InterfaceStatus;
use tenure_aws::seen::{Evidence, SeenStanding};

use crate::node::Node;

/// How long EC2's answers may lag: what it does not show for less may be there.
const WINDOW: Duration = Duration::from_secs(60);

/// The ledger as it was when it was looked at last, and what EC2 has hidden meanwhile.
#[derive(Default)]
pub(super) struct Watch {
    ranges: BTreeMap<String, BTreeSet<IpNet>>,
    /// The interfaces that EC2 hides or has not shown since, and since when.
    hidden: BTreeMap<String, Duration>,
    /// Those that it has hidden for so long that they may count as gone.
    long_hidden: BTreeSet<String>,
}

impl Watch {
    /// EC2 hides an interface from this moment on.
    pub(super) fn hides(&mut self, interface: Option<&String>, at: Duration) {
        if let Some(id) = interface {
            self.hidden.entry(id.clone()).or_insert(at);
        }
    }

    /// Looks at the ledger and at what the node knows of EC2.
    #[track_caller]
    pub(super) fn look(&mut self, node: &Node, ranges: BTreeMap<String, BTreeSet<IpNet>>, words: &str) {
        let status = node.handle.status();
        let hides = node.cloud.inner().state.consistency.describe_hides.clone();
        // One that is hidden again before a describe has shown it was never shown in between.
        self.hidden.retain(|id, since| {
            let known = status.interfaces.iter().find(|known| known.id == *id);
            let is_shown =
                |known: &InterfaceStatus| known.evidence == Evidence::Described && known.confirmed > *since;
            hides.contains(id) || !known.is_some_and(is_shown)
        });
        let long = self.hidden.iter().filter(|(_, since)| status.now.saturating_sub(**since) >= WINDOW);
        self.long_hidden.extend(long.map(|(id, _)| id.clone()));
        let carried = node.cloud.carried(&node.instance);
        for (id, before) in self.ranges.iter().filter(|(id, _)| !self.long_hidden.contains(*id)) {
            let (nothing, has) = (BTreeSet::new(), carried.get(id));
            let now = ranges.get(id).unwrap_or(&nothing);
            let lost: Vec<_> = before
                .iter()
                .filter(|net| !now.contains(net) && has.is_some_and(|has| has.contains(net)))
                .collect();
            assert!(lost.is_empty(), "{words}: the ledger has lost {lost:?}, which are on {id}");
        }
        self.ranges = ranges;
        for interface in status.interfaces.iter().filter(|known| !self.hidden.contains_key(&known.id)) {
            let is_young = |at: Duration| status.now < at.saturating_add(WINDOW);
            let doubted: Vec<_> = interface
                .carries
                .iter()
                .filter(|known| known.evidence == Evidence::Answered && is_young(known.confirmed))
                .filter(|known| known.standing != SeenStanding::Confirmed)
                .collect();
            let id = &interface.id;
            let own = interface.standing == SeenStanding::Confirmed;
            assert!(
                !own || doubted.is_empty(),
                "{words}: what the node has just assigned to {id} is doubted: {doubted:?}"
            );
        }
    }
}
