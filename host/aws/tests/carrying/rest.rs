//! What a node does not ask of EC2: nothing while nothing happens, and nothing twice that goes with one call.

use crate::cloud::Cloud;
use crate::node::Node;
use crate::usual::ONE;

#[tokio::test(start_paused = true)]
async fn a_node_at_rest_asks_ec2_a_few_times_an_hour() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "m5.large", ONE).await;
    node.add_all(0..12).await;
    node.rest(3600).await;
    let before = cloud.inner().calls.clone();
    node.rest(4 * 3600).await;
    let after = cloud.inner().calls.clone();
    let calls = |call: &str| after[call] - before[call];
    let looks = calls("DescribeNetworkInterfaces");
    // Four looks an hour, and a sweep for what has leaked.
    assert!((12..=28).contains(&looks), "{looks} looks in 4 hours");
    assert!((3..=5).contains(&calls("DescribeSubnets")), "{after:?}");
    assert_eq!(after.values().sum::<u64>() - before.values().sum::<u64>(), looks + calls("DescribeSubnets"));
}

#[tokio::test(start_paused = true)]
async fn what_others_take_away_is_found_by_a_node_at_rest_and_soon_after_a_hint() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1, "minimum": 5 }, "idleSeconds": 3600 }"#;
    for hint in [false, true] {
        let mut node = Node::start(&cloud, "t3.small", ipam).await;
        node.rest(5 * 3600).await;
        let (interface, net) = {
            let ranges = node.ranges().await;
            let (interface, nets) = ranges.iter().find(|(_, nets)| nets.len() == 2).unwrap();
            (interface.clone(), *nets.first().unwrap())
        };
        let ipnet::IpNet::V4(taken) = net else { panic!() };
        let now = cloud.now();
        cloud.inner().state.unassign(&interface, &[taken.addr()], &[], now).unwrap();
        if hint {
            node.handle.look_again();
        }
        node.rest(if hint { 180 } else { 1500 }).await;
        assert!(!node.ranges().await[&interface].contains(&net), "with a hint: {hint}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_at_the_same_time_goes_with_one_call_for_each_interface() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "m5.large", ONE).await;
    node.add_all(0..25).await;
    for pod in 0..25 {
        node.del(pod).await;
    }
    node.settles("at the end").await;
    assert_eq!(node.shape().await, [1]);
    let unassigned = cloud.applied().iter().filter(|call| *call == "UnassignPrivateIpAddresses").count();
    assert!(unassigned <= 3, "{unassigned} calls");
}

#[tokio::test(start_paused = true)]
async fn of_what_is_given_back_together_one_is_refused_and_the_others_go() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 30 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    node.add_all(0..8).await;
    let gone = node.pods[&3];
    for pod in 0..8 {
        node.del(pod).await;
    }
    // Somebody else takes one of them away, which EC2 does not show for long.
    let interface = node.ranges().await.into_keys().next().unwrap();
    let std::net::IpAddr::V4(gone) = gone else { panic!() };
    let now = cloud.now();
    cloud.inner().state.consistency.describe_lag_ms = 500_000;
    cloud.inner().state.unassign(&interface, &[gone], &[], now).unwrap();
    node.rest(200).await;
    assert_eq!(cloud.carried(&node.instance)[&interface].len(), 1, "the others have gone");
    cloud.inner().state.consistency.describe_lag_ms = 0;
    node.settles("at the end").await;
}
