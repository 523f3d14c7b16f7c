//! Lives in which the answers of assignments are lost, while describes still show what the node has just given back.

use tenure_ec2_double::{Fault, Kind};
use tenure_fixtures::random::{Random, many_seeds};

use super::LIVES;
use crate::cloud::Cloud;
use crate::node::Node;

/// The rounds of a life: pods come and go, what they had is given back, and the next assignment is lost.
const ROUNDS: u32 = 12;

async fn life(seed: u64) {
    let mut random = Random::new(seed);
    let cloud = Cloud::new(seed, &[25]);
    cloud.inner().state.consistency.describe_lag_ms = 10_000 + random.below(20) * 1000;
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 5 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    let words = format!("TENURE_SEED={seed}");
    for round in 0..ROUNDS {
        let pods = round * 10..round * 10 + 2 + u32::try_from(random.below(4)).unwrap();
        for pod in pods.clone() {
            let added = node.add_within(pod, 120).await;
            assert!(added.is_ok(), "{words}: pod {pod}: {added:?}");
        }
        assert_eq!(cloud.verdict(), [], "{words}: after {pods:?} came");
        node.rest(random.below(30)).await;
        for pod in pods {
            node.del(pod).await;
        }
        // They cool down and are idle for a while, and are given back a moment before the next come.
        node.rest(44 + random.below(20)).await;
        let kind = if random.below(2) == 0 { Kind::LostBefore } else { Kind::LostAfter };
        // One at a time: that of a round in which nothing was assigned is over.
        cloud.inner().faults.clear();
        cloud.fault(Fault::once("AssignPrivateIpAddresses", kind));
    }
    cloud.inner().faults.clear();
    node.settles(&words).await;
}

#[tokio::test(start_paused = true)]
async fn an_assignment_that_is_lost_brings_nothing_back_that_was_given_back() {
    for seed in many_seeds("aws-lives", LIVES).unwrap() {
        life(seed).await;
    }
}
