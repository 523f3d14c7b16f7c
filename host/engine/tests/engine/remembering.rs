//! The state with which a policy is asked, and what a snapshot has of it.

use tenure_engine::ReplaceState;
use tenure_ledger::{Page, PolicyState};

use crate::support::{Bench, activate, fits, network};

impl Bench {
    async fn count_with(&self, number: u32, policy: &str) {
        self.engine.add(self.add_with(number, policy, "10.0.0.0/28"), fits).await.unwrap();
    }

    async fn policy_state(&self) -> PolicyState {
        self.engine.states_of(&network()).await.unwrap().unwrap().now
    }

    /// The network's state in a snapshot.
    fn snapshot(&self) -> Vec<PolicyState> {
        let pages = self.engine.images().pages(1);
        let states = pages.filter_map(|page| match page {
            Page::Node(node) => node.states.of(&network()).map(|memory| memory.now.clone()),
            _ => None,
        });
        states.collect()
    }
}

#[tokio::test]
async fn a_snapshot_has_what_policies_remember() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    assert_eq!(bench.snapshot(), [], "nothing yet");
    bench.count_with(2, "counting").await;
    assert_eq!(bench.snapshot(), [bench.policy_state().await]);
}

#[tokio::test]
async fn a_policy_that_takes_over_an_empty_state_keeps_its_own() {
    let bench = Bench::new(8, 8);
    bench.count_with(1, "counting").await;
    let emptied =
        ReplaceState { network: network(), bytes: Vec::new(), if_version: None, reason: String::new() };
    let version = bench.engine.replace_state(&emptied).await.unwrap().version;
    bench.engine.activate(&activate("recounting")).await.unwrap();
    bench.count_with(2, "counting").await;
    let state = bench.policy_state().await;
    assert_eq!((state.policy.name.as_str(), &*state.bytes), ("recounting", b"recounting 1".as_slice()));
    assert_eq!(state.version, version + 1);
}
