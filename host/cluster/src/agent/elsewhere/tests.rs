use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Define, Del};
use tenure_fixtures::ports::ManualClock;
use tenure_types::{Definer, NetworkConfig, NetworkName, PolicyName};

use crate::agent::sample::{agent_with, lease, network, owner, unreachable};

fn blue() -> NetworkName {
    NetworkName::new("blue").unwrap()
}

/// Regression: the network of the new name gave the addresses of living pods out again, and their block looked empty to the cluster.
#[tokio::test]
async fn a_block_is_its_former_networks_while_a_pod_there_has_an_address_of_it() {
    for next in [Some(blue()), None] {
        let clock = Arc::new(ManualClock::default());
        let (mut core, _abandoned) = agent_with(unreachable(), Arc::clone(&clock) as _, 1).await;
        core.record(&lease()).await.unwrap();
        core.is_told();
        core.supply_all().await;
        let first = core.takes(network(), "first").await.unwrap();
        // As a daemon that has started with another configuration.
        core.settings.networks = next.iter().map(|next| (next.clone(), vec!["names".to_owned()])).collect();
        if let Some(next) = &next {
            let define = Define {
                network: next.clone(),
                policy: PolicyName::new("names").unwrap(),
                config: Arc::new(NetworkConfig { ipam: "".into(), attributes: Vec::new() }),
                by: Definer::Configuration,
                apply: true,
                change_ranges: false,
            };
            core.engine.define_network(&define).await.unwrap();
        }
        for _ in 0..3 {
            core.supply_all().await;
            assert_eq!(core.row_of_block().await.in_use, 1, "{first} is in use");
            assert_eq!(
                core.takes(network(), "second").await,
                None,
                "nothing more comes from the former network"
            );
            assert_eq!(core.takes(blue(), "third").await, None, "{first} would be next");
        }
        let del = Del { network: network(), owner: owner("first"), requested_at: core.engine.now() };
        core.engine.del(del).await.unwrap();
        core.supply_all().await;
        assert!(!core.row_of_block().await.is_empty(), "{first} cools down");
        clock.advance(Duration::from_secs(3_600));
        core.engine.wake_for_room(&network()).await;
        core.supply_all().await;
        core.supply_all().await;
        assert!(core.row_of_block().await.is_empty(), "nobody uses it");
        assert_eq!(core.takes(blue(), "third").await.is_some(), next.is_some());
    }
}
