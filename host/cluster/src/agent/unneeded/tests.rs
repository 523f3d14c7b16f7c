use std::sync::Arc;

use tenure_engine::Del;
use tenure_fixtures::ports::ManualClock;
use tenure_leases::Uid;

use super::*;
use crate::agent::sample::{agent_with, lease, network, owner, unreachable};

/// Regression: the block stayed with the node for good, and the pool's CIDR with it.
#[tokio::test]
async fn a_block_of_a_pool_that_the_network_no_longer_uses_is_given_up_once_it_is_empty() {
    let clock = Arc::new(ManualClock::default());
    let (core, _abandoned) = agent_with(unreachable(), Arc::clone(&clock) as _, 1).await;
    core.record(&lease()).await.unwrap();
    core.is_told();
    core.supply_all().await;
    let is_held = async || {
        // A second apart, as the settings ask for.
        for _ in 0..2 {
            core.engine.look_at_networks();
            core.supply_all().await;
            core.give_up_unneeded().await.unwrap();
            clock.advance(Duration::from_secs(1));
        }
        !core.leases().is_empty()
    };
    assert!(core.takes(network(), "pod").await.is_some() && is_held().await);
    core.redefine(false).await;
    assert!(is_held().await, "a pod uses it");
    let del = Del { network: network(), owner: owner("pod"), requested_at: core.engine.now() };
    core.engine.del(del).await.unwrap();
    assert!(is_held().await, "its address cools down");
    core.redefine(true).await;
    clock.advance(Duration::from_secs(3_600));
    assert!(is_held().await, "the network uses the pool again");
    core.redefine(false).await;
    core.supply_all().await;
    core.give_up_unneeded().await.unwrap();
    assert!(!core.leases().is_empty(), "it may be a mistake");
    assert!(!is_held().await);
    assert!(core.dropped().contains_key(&Uid(6)), "the node says so");
}

#[tokio::test]
async fn a_block_whose_pool_is_in_no_network_is_given_up_and_one_of_a_network_that_is_not_defined_yet_is_not()
{
    for is_listed in [true, false] {
        let clock = Arc::new(ManualClock::default());
        let (mut core, _abandoned) = agent_with(unreachable(), Arc::clone(&clock) as _, 1).await;
        core.record(&lease()).await.unwrap();
        let other = tenure_types::NetworkName::new("later").unwrap();
        let pools = if is_listed { vec!["names".to_owned()] } else { Vec::new() };
        core.settings.networks = [(other, pools)].into();
        for _ in 0..3 {
            core.supply_all().await;
            core.give_up_unneeded().await.unwrap();
            clock.advance(Duration::from_secs(1));
        }
        assert_eq!(!core.leases().is_empty(), is_listed);
    }
}
