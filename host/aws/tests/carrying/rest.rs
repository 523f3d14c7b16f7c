//! What a node does not ask of EC2: nothing while nothing happens, and nothing twice that goes with one call.

use tenure_ec2_double::{Fault, Kind};

use crate::cloud::Cloud;
use crate::node::Node;
use crate::usual::ONE;

#[tokio::test(start_paused = true)]
async fn a_node_at_rest_asks_ec2_a_few_times_an_hour_and_fewer_if_the_metadata_agree() {
    for agrees in [false, true] {
        let cloud = Cloud::new(1, &[24]);
        let mut node = Node::start(&cloud, "m5.large", ONE).await;
        if agrees {
            node = node.with_hints();
        }
        node.add_all(0..12).await;
        node.rest(3600).await;
        let before = cloud.inner().calls.clone();
        node.rest(8 * 3600).await;
        let after = cloud.inner().calls.clone();
        let calls = |call: &str| after[call] - before[call];
        let looks = calls("DescribeNetworkInterfaces");
        // So many looks at the interfaces, and a sweep for what has leaked a few hours after the start.
        let most = if agrees { 4..=6 } else { 28..=40 };
        assert!(most.contains(&looks), "{looks} looks in 8 hours, the metadata agree: {agrees}");
        assert!((1..=2).contains(&calls("DescribeSubnets")), "{after:?}");
        assert_eq!(
            after.values().sum::<u64>() - before.values().sum::<u64>(),
            looks + calls("DescribeSubnets")
        );
    }
}

/// The most requests to the metadata service in a minute, and the least time between two calls of EC2, in milliseconds.
const MOST_REQUESTS: u64 = 12;
const LEAST_TIME: u64 = 5 * 60 * 1000;

#[tokio::test(start_paused = true)]
async fn at_rest_five_minutes_lie_between_two_calls_and_a_minute_has_12_requests_at_most() {
    // As usual, and where the metadata never say that all is as it was.
    for stands_still in [false, true] {
        let cloud = Cloud::new(1, &[24]);
        let mut node = Node::start(&cloud, "m5.large", ONE).await.with_hints();
        node.add_all(0..12).await;
        node.rest(3600).await;
        if stands_still {
            let now = cloud.now();
            cloud.inner().state.consistency.imds_frozen_at.insert(node.instance.clone(), now);
            node.add_all(12..14).await;
            node.rest(4 * 3600).await;
        }
        cloud.inner().arrivals = Some(Vec::new());
        let mut requests = std::collections::BTreeSet::new();
        for _ in 0..12 * 60 {
            let before = cloud.inner().metadata_requests;
            node.rest(60).await;
            requests.insert(cloud.inner().metadata_requests - before);
        }
        let arrivals = cloud.inner().arrivals.take().unwrap();
        let gaps = arrivals.windows(2).map(|pair| pair[1].0.millis() - pair[0].0.millis());
        let (most, least) = (*requests.last().unwrap(), gaps.min().unwrap());
        assert!(
            most <= MOST_REQUESTS && least >= LEAST_TIME,
            "{most} requests in a minute, {least} ms between two calls, stands still: {stands_still}"
        );
        assert!(requests.first().unwrap() > &0, "{requests:?}");
        assert!(arrivals.len() >= 6, "{arrivals:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_its_own_that_the_metadata_show_late_brings_no_look() {
    let cloud = Cloud::new(1, &[24]);
    cloud.inner().state.consistency.imds_lag_ms = 30_000;
    let ipam = r#"{ "warm": { "addresses": 2 }, "idleSeconds": 30 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await.with_hints();
    node.rest(1200).await;
    let before = cloud.inner().calls["DescribeNetworkInterfaces"];
    for pod in 0..12 {
        node.add(pod).await.unwrap();
        node.rest(20).await;
    }
    for pod in 0..12 {
        node.del(pod).await;
        node.rest(20).await;
    }
    node.rest(600).await;
    // One before the further interface goes: the last is too old for that.
    let looks = cloud.inner().calls["DescribeNetworkInterfaces"] - before;
    assert!(looks <= 1, "{looks} looks");
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_detached_while_ec2_does_not_answer_brings_no_more_looks_than_retries() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 2 }, "idleSeconds": 30 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await.with_hints();
    node.rest(1200).await;
    node.add_all(0..12).await;
    node.rest(600).await;
    let is_full = node.shape().await;
    let oops = Kind::Code { code: "InternalError".to_owned(), message: "oops".to_owned(), status: 500 };
    cloud.fault(Fault::always("DescribeNetworkInterfaces", oops));
    let before = cloud.inner().calls["DescribeNetworkInterfaces"];
    for pod in 0..12 {
        node.del(pod).await;
    }
    node.rest(600).await;
    let refused = node.handle.status().plan.unwrap().refused;
    assert!(refused.iter().any(|why| why.contains("EC2 last confirmed this")), "{refused:?}");
    // Each 15 s, and a little more often at first; with jitter.
    let looks = cloud.inner().calls["DescribeNetworkInterfaces"] - before;
    assert!((10..=60).contains(&looks), "{looks} looks");
    cloud.inner().faults.clear();
    node.settles("at the end").await;
    assert!(node.shape().await.len() < is_full.len(), "the interface goes once EC2 answers");
}

#[tokio::test(start_paused = true)]
async fn what_others_take_is_found_by_the_metadata_or_where_they_stand_still_by_a_look() {
    for stands_still in [false, true] {
        let cloud = Cloud::new(1, &[24]);
        let mut node = Node::start(&cloud, "t3.small", FIVE).await.with_hints();
        node.rest(5 * 3600).await;
        let now = cloud.now();
        if stands_still {
            cloud.inner().state.consistency.imds_frozen_at.insert(node.instance.clone(), now);
        }
        let (interface, taken) = take_one(&cloud, &node).await;
        node.rest(if stands_still { 9500 } else { 400 }).await;
        assert!(!node.ranges().await[&interface].contains(&taken), "stands still: {stands_still}");
    }
}

/// Five addresses, two of them on a second interface.
const FIVE: &str = r#"{ "warm": { "addresses": 1, "minimum": 5 }, "idleSeconds": 3600 }"#;

/// Somebody else takes one of two addresses off an interface.
async fn take_one(cloud: &Cloud, node: &Node) -> (String, ipnet::IpNet) {
    let ranges = node.ranges().await;
    let (interface, nets) = ranges.iter().find(|(_, nets)| nets.len() == 2).unwrap();
    let net = *nets.first().unwrap();
    let taken = net.addr().to_string().parse().unwrap();
    let now = cloud.now();
    cloud.inner().state.unassign(interface, &[taken], &[], now).unwrap();
    (interface.clone(), net)
}

#[tokio::test(start_paused = true)]
async fn what_others_take_away_is_found_by_a_node_at_rest_and_soon_after_a_hint() {
    let cloud = Cloud::new(1, &[24]);
    for hint in [false, true] {
        let mut node = Node::start(&cloud, "t3.small", FIVE).await;
        node.rest(5 * 3600).await;
        let (interface, net) = take_one(&cloud, &node).await;
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
    let calls = cloud.inner().calls.clone();
    let (detached, deleted) = (calls["DetachNetworkInterface"], calls["DeleteNetworkInterface"]);
    assert_eq!((detached, deleted), (2, 2), "an interface is deleted once EC2 has let it go");
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
