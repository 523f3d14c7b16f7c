//! What EC2 does not have, does not allow, or does not allow so often.

use tenure_aws::port::InstanceLimits;
use tenure_ec2_double::state::Exhaustion;

use crate::cloud::{Cloud, limits};
use crate::node::Node;
use crate::usual::ONE;

#[tokio::test(start_paused = true)]
async fn an_exhausted_subnet_is_asked_rarely_whatever_ec2_calls_it() {
    for exhaustion in [Exhaustion::Code, Exhaustion::Message] {
        // Eleven addresses, one of them the node's own, seven of them others'.
        let cloud = Cloud::new(1, &[28]);
        {
            let mut inner = cloud.inner();
            inner.state.rules.exhaustion = exhaustion;
            // The number of free addresses says nothing about it.
            inner.state.consistency.subnet_lag_ms = 3_000_000;
            use tenure_ec2_double::state::{Creation, Time, Wanted};
            let wanted =
                Creation { subnet: "subnet-1".to_owned(), ipv4: Wanted::Count(6), ..Creation::default() };
            inner.state.create(&wanted, None, Time::START).unwrap();
        }
        let mut node = Node::start(&cloud, "m5.large", ONE).await;
        for pod in 0..3 {
            node.add(pod).await.unwrap();
        }
        let waits = node.add_within(3, 600).await;
        assert!(waits.is_err(), "{exhaustion:?}: {waits:?}");
        let asked = cloud.inner().changes.iter().filter(|(_, outcome)| *outcome == "refused").count();
        assert!(asked <= 10, "{exhaustion:?}: {asked} vain calls in 10 minutes");
        let status = node.handle.status();
        assert!(!status.backoffs.is_empty(), "{exhaustion:?}: {status:?}");
        let words = status.plan.unwrap().words.unwrap_or_default();
        assert!(words.contains("is exhausted; EC2 is asked again in"), "{exhaustion:?}: {words}");
        // Another node gives some back.
        for pod in 0..2 {
            node.del(pod).await;
        }
        node.add_within(3, 600).await.unwrap();
        node.rest(60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn another_tagged_subnet_is_used_when_one_is_exhausted() {
    let cloud = Cloud::new(1, &[28, 24]);
    let mut node = Node::start(&cloud, "m5.large", ONE).await;
    node.add_all(0..18).await;
    let second = node.pods.values().filter(|address| address.to_string().starts_with("10.0.1.")).count();
    assert!(second >= 8, "{:?}", node.pods);
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn single_addresses_are_assigned_where_no_block_is_free() {
    let cloud = Cloud::new(1, &[24]);
    {
        // Every block has a taken address.
        use tenure_ec2_double::state::{Creation, Time, Wanted};
        let mut inner = cloud.inner();
        let these = (0..16).map(|block| std::net::Ipv4Addr::new(10, 0, 0, block * 16 + 8)).collect();
        let wanted =
            Creation { subnet: "subnet-1".to_owned(), ipv4: Wanted::These(these), ..Creation::default() };
        inner.state.create(&wanted, None, Time::START).unwrap();
    }
    let ipam = r#"{ "prefixes": true, "warm": { "addresses": 1 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    for pod in 0..5 {
        node.add(pod).await.unwrap();
    }
    let ranges = node.ranges().await;
    assert!(ranges.values().flatten().all(|net| net.prefix_len() == 32), "{ranges:?}");
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_throttling_passes_and_few_calls_are_made_in_it() {
    let cloud = Cloud::new(1, &[24]);
    {
        let now = cloud.now();
        let mut inner = cloud.inner();
        for action in ["AssignPrivateIpAddresses", "CreateNetworkInterface", "AttachNetworkInterface"] {
            inner.state.throttle.set_load(action, 100, now);
        }
    }
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    let waits = node.add_within(0, 300).await;
    assert!(waits.is_err());
    let calls: u64 = cloud
        .inner()
        .calls
        .iter()
        .filter(|(call, _)| !call.starts_with("Describe"))
        .map(|(_, count)| count)
        .sum();
    assert!(calls <= 40, "{calls} calls in 5 minutes of throttling");
    let now = cloud.now();
    for action in ["AssignPrivateIpAddresses", "CreateNetworkInterface", "AttachNetworkInterface"] {
        cloud.inner().state.throttle.set_load(action, 0, now);
    }
    for pod in 0..5 {
        node.add_within(pod, 300).await.unwrap();
    }
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn limits_that_were_wrong_are_learnt() {
    let cloud = Cloud::new(1, &[24]);
    let instance = cloud.launch("t3.small");
    let believed = InstanceLimits { interfaces: 5, addresses: 7, ..limits("t3.small") };
    let mut node = Node::of(&cloud, instance, believed, ONE).await;
    for pod in 0..9 {
        node.add_within(pod, 600).await.unwrap();
    }
    let full = node.add_within(9, 300).await;
    assert!(full.is_err(), "{full:?}");
    node.rest(300).await;
    let learnt = node.handle.status().limits.unwrap();
    assert_eq!((learnt.interfaces, learnt.addresses), (3, 4));
    let before = cloud.inner().changes.len();
    node.rest(600).await;
    assert_eq!(cloud.inner().changes.len(), before, "it is full, and nothing is tried");
    let words = node.handle.status().plan.unwrap().words.unwrap_or_default();
    assert!(words.contains("EC2 refuses another one although it shows fewer"), "{words}");
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_is_shown_and_rarely_repeated() {
    // Without the second, an interface is created and attached, and must go again.
    for denied in ["CreateNetworkInterface", "ModifyNetworkInterfaceAttribute"] {
        let cloud = Cloud::new(1, &[24]);
        cloud.deny(denied);
        let mut node = Node::start(&cloud, "t3.small", ONE).await;
        for pod in 0..3 {
            node.add(pod).await.unwrap();
        }
        assert!(node.add_within(3, 300).await.is_err());
        let calls = cloud.inner().calls["CreateNetworkInterface"];
        assert!(calls <= 6, "{denied}: {calls} calls in 5 minutes");
        let status = node.handle.status();
        assert!(
            status.barred.iter().any(|barred| barred.why.contains("UnauthorizedOperation")),
            "{denied}: {:?}",
            status.barred
        );
        node.settles(denied).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_given_back_is_tried_as_rarely() {
    let cloud = Cloud::new(1, &[24]);
    let denied = ["UnassignPrivateIpAddresses", "DetachNetworkInterface"];
    denied.iter().for_each(|call| cloud.deny(call));
    let mut node = Node::start(&cloud, "m5.large", ONE).await;
    node.add_all(0..14).await;
    node.rest(60).await;
    for pod in 0..14 {
        node.del(pod).await;
    }
    node.rest(300).await;
    for call in denied {
        let calls = cloud.inner().calls[call];
        assert!((2..=6).contains(&calls), "{calls} of {call} in 5 minutes");
    }
    let refusal = node.handle.status().refusal.unwrap();
    assert!(refusal.contains("lacks the permission ec2:"), "{refusal}");
    cloud.allow();
    node.settles("at the end").await;
    assert_eq!(node.shape().await, [1]);
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_may_not_be_deleted_is_tried_as_rarely_and_causes_no_looks() {
    let cloud = Cloud::new(1, &[24]);
    cloud.deny("DeleteNetworkInterface");
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add_all(0..5).await;
    node.rest(60).await;
    for pod in 0..5 {
        node.del(pod).await;
    }
    node.rest(300).await;
    let calls = |call: &str| cloud.inner().calls.get(call).copied().unwrap_or_default();
    let counts = || (calls("DeleteNetworkInterface"), calls("DescribeNetworkInterfaces"));
    let (deletes, looks) = counts();
    assert!(deletes >= 1);
    node.rest(900).await;
    let (more_deletes, more_looks) = counts();
    let (deletes, looks) = (more_deletes - deletes, more_looks - looks);
    assert!((8..=17).contains(&deletes) && looks <= 2, "{deletes} deletes and {looks} looks in 15 minutes");
    cloud.allow();
    node.settles("at the end").await;
    assert_eq!(node.shape().await, [1]);
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_must_go_and_may_not_be_detached_is_tried_as_rarely() {
    let cloud = Cloud::new(1, &[24]);
    ["ModifyNetworkInterfaceAttribute", "DetachNetworkInterface"].iter().for_each(|call| cloud.deny(call));
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add_all(0..3).await;
    node.rest(300).await;
    let calls = cloud.inner().calls["DetachNetworkInterface"];
    assert!((2..=6).contains(&calls), "{calls} calls in 5 minutes");
    cloud.allow();
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_stops_keeps_nothing_half_attached() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(10).await;
    for pod in 0..3 {
        node.add(pod).await.unwrap();
    }
    let now = cloud.now();
    cloud.inner().state.timing.stop_ms = 100_000;
    cloud.inner().state.stop(&node.instance, now).unwrap();
    assert!(node.add_within(3, 60).await.is_err());
    node.rest(30).await;
    assert_eq!(cloud.verdict(), [], "the interface that could not be attached is deleted");
    let attempts = cloud.inner().calls.get("AttachNetworkInterface").copied().unwrap_or_default();
    assert!(attempts <= 3, "{attempts} attempts");
}
