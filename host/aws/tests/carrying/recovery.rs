//! The way back: how soon the first waiting pod has its address after a fault of EC2 has ended.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_aws::port::InstanceLimits;
use tenure_ec2_double::state::{Creation, Exhaustion, Wanted};
use tenure_ec2_double::{Fault, Kind};
use tokio::time::Instant;

use crate::cloud::{Cloud, limits};
use crate::node::Node;
use crate::usual::ONE;

/// The longest wait for the budget's next call while a pod waits, jittered, and what follows from that call.
const NEXT_CALL: Duration = Duration::from_secs(75 + 10);

/// The same for a call that EC2 refuses.
const REFUSED_CALL: Duration = Duration::from_secs(94 + 10);

/// The same while EC2 has not yet said what a plan needs.
const UNKNOWN: Duration = Duration::from_secs(10);

/// How long a runtime waits for an ADD, and how long the kubelet waits before the next.
const RUNTIME: (u64, u64) = (19, 12);

fn broken() -> Kind {
    Kind::Code { code: "InternalError".to_owned(), message: "oops".to_owned(), status: 500 }
}

/// Somebody else's interface that leaves `left` addresses of the subnet.
fn fill(cloud: &Cloud, left: u32) -> String {
    let now = cloud.now();
    let mut inner = cloud.inner();
    let free = inner.state.subnets()["subnet-1"].free_at(now);
    let wanted = Creation {
        subnet: "subnet-1".to_owned(),
        ipv4: Wanted::Count(free - left - 1),
        ..Creation::default()
    };
    let id = inner.state.create(&wanted, None, now).unwrap();
    inner.state.note(now);
    id
}

/// That interface goes.
fn empty(cloud: &Cloud, interface: &str) {
    let now = cloud.now();
    let mut inner = cloud.inner();
    inner.state.delete(interface, now).unwrap();
    inner.state.note(now);
}

/// Asks for an address again and again, as a runtime and a kubelet do; returns how long that took.
async fn served(node: &mut Node, pod: u32) -> Duration {
    let began = Instant::now();
    while node.add_within(pod, RUNTIME.0).await.is_err() {
        node.rest(RUNTIME.1).await;
        assert!(began.elapsed() < Duration::from_secs(3600), "pod {pod} is never served");
    }
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_for_a_full_subnet_has_its_address_soon_after_it_is_free_again() {
    for exhaustion in [Exhaustion::Code, Exhaustion::Message] {
        for full in [20, 200, 900] {
            let cloud = Cloud::new(1, &[26]);
            cloud.inner().state.rules.exhaustion = exhaustion;
            let mut node = Node::start(&cloud, "m5.large", ONE).await;
            for pod in 0..3 {
                node.add(pod).await.unwrap();
            }
            node.rest(1800).await;
            let others = fill(&cloud, 0);
            let until = Instant::now() + Duration::from_secs(full);
            node.add(3).await.unwrap();
            while Instant::now() < until {
                assert!(node.add_within(4, RUNTIME.0).await.is_err(), "{full} s: there is nothing");
                node.rest(RUNTIME.1).await;
            }
            let words = node.handle.status().plan.unwrap().words.unwrap_or_default();
            assert!(words.contains("EC2 is asked again in"), "{full} s: {words}");
            empty(&cloud, &others);
            let after = served(&mut node, 4).await;
            // The kubelet may be waiting when the address comes.
            let most = NEXT_CALL + Duration::from_secs(RUNTIME.1);
            assert!(after <= most, "{exhaustion:?}, {full} s: {after:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_give_up_is_served_as_soon() {
    let cloud = Cloud::new(1, &[26]);
    let mut node = Node::start(&cloud, "m5.large", ONE).await;
    for pod in 0..3 {
        node.add(pod).await.unwrap();
    }
    node.rest(1800).await;
    let others = fill(&cloud, 0);
    node.add(3).await.unwrap();
    assert!(node.add_within(4, 600).await.is_err());
    empty(&cloud, &others);
    let began = Instant::now();
    node.add_within(4, 3600).await.unwrap();
    assert!(began.elapsed() <= NEXT_CALL, "{:?}", began.elapsed());
    let before = cloud.inner().calls["DescribeSubnets"];
    node.rest(1200).await;
    assert!(cloud.inner().calls["DescribeSubnets"] <= before + 1, "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_describe_that_fails_at_the_start_is_repeated_at_once() {
    for call in ["DescribeSubnets", "DescribeNetworkInterfaces"] {
        for times in 1..=3 {
            let cloud = Cloud::new(1, &[24]);
            (1..=times).for_each(|from| cloud.fault(Fault { from, ..Fault::once(call, broken()) }));
            let mut node = Node::start(&cloud, "t3.small", ONE).await;
            let after = served(&mut node, 0).await;
            assert!(after <= UNKNOWN * times.try_into().unwrap(), "{times} x {call}: {after:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_starts_while_ec2_is_broken_works_within_seconds_of_its_end() {
    for call in ["DescribeSubnets", "DescribeNetworkInterfaces"] {
        for minutes in [1, 10] {
            let cloud = Cloud::new(1, &[24]);
            cloud.fault(Fault::always(call, broken()));
            let mut node = Node::start(&cloud, "t3.small", ONE).await;
            assert!(node.add_within(0, minutes * 60).await.is_err());
            let asked = cloud.inner().calls[call];
            assert!(asked <= minutes * 10, "{asked} calls in {minutes} minutes");
            cloud.inner().faults.clear();
            let began = Instant::now();
            node.add_within(0, 600).await.unwrap();
            let after = began.elapsed();
            assert!(after <= UNKNOWN + Duration::from_secs(1), "{call}, {minutes} minutes: {after:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_denied_is_had_soon_after_it_is_granted() {
    for call in ["CreateNetworkInterface", "AttachNetworkInterface", "AssignPrivateIpAddresses"] {
        for seconds in [100, 500] {
            let cloud = Cloud::new(1, &[24]);
            let mut node = Node::start(&cloud, "t3.small", ONE).await;
            node.rest(600).await;
            cloud.deny(call);
            let mut pod = 0;
            while node.add_within(pod, seconds).await.is_ok() {
                pod += 1;
            }
            cloud.allow();
            let began = Instant::now();
            node.add_within(pod, 3600).await.unwrap();
            assert!(began.elapsed() <= REFUSED_CALL, "{call}, {seconds} s: {:?}", began.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_and_a_wrong_group_do_not_keep_pods_for_minutes_after_they_are_put_right() {
    for code in ["NetworkInterfaceLimitExceeded", "InvalidGroup.NotFound"] {
        let cloud = Cloud::new(1, &[24]);
        let mut node = Node::start(&cloud, "t3.small", ONE).await;
        for pod in 0..3 {
            node.add(pod).await.unwrap();
        }
        let kind = Kind::Code { code: code.to_owned(), message: "no".to_owned(), status: 400 };
        cloud.fault(Fault::always("CreateNetworkInterface", kind));
        assert!(node.add_within(3, 600).await.is_err());
        cloud.inner().faults.clear();
        let began = Instant::now();
        node.add_within(3, 3600).await.unwrap();
        assert!(began.elapsed() <= REFUSED_CALL, "{code}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_minimum_that_ec2_did_not_have_is_there_soon_after_without_any_pod() {
    let cloud = Cloud::new(1, &[26]);
    let others = fill(&cloud, 5);
    let ipam = r#"{ "warm": { "addresses": 1, "minimum": 9 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    node.rest(3600).await;
    assert!(node.shape().await.iter().sum::<usize>() < 9);
    empty(&cloud, &others);
    node.rest(160).await;
    assert_eq!(node.shape().await.iter().sum::<usize>(), 9);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_was_learnt_while_ec2_hid_an_interface_is_unlearnt() {
    for comes_back in [true, false] {
        let cloud = Cloud::new(1, &[24]);
        let mut node = Node::start(&cloud, "t3.small", ONE).await;
        node.add_all(0..8).await;
        node.rest(120).await;
        let hidden = {
            let inner = cloud.inner();
            let on = inner.state.interfaces().all().filter(|interface| interface.is_on(&node.instance));
            on.max_by_key(|interface| interface.created).unwrap().id.clone()
        };
        cloud.inner().state.consistency.describe_hides.insert(hidden.clone());
        node.crash().await;
        // All that EC2 shows is in use, and there seems to be room for an interface.
        node.add_within(8, 10).await.unwrap();
        assert!(node.add_within(9, 10).await.is_err());
        node.rest(10).await;
        if !comes_back {
            goes(&cloud, &mut node, &hidden).await;
        }
        cloud.inner().state.consistency.describe_hides.clear();
        node.rest(120).await;
        for pod in 0..9 {
            node.del(pod).await;
        }
        node.rest(1200).await;
        node.add_all(10..19).await;
        assert_eq!(node.handle.status().limits, Some(limits("t3.small")), "comes back: {comes_back}");
        node.settles("at the end").await;
    }
}

/// Somebody else takes an interface off the node and deletes it, once its pods have ended.
async fn goes(cloud: &Cloud, node: &mut Node, interface: &str) {
    let nets = node.ranges().await[interface].clone();
    let is_on = |address: &IpAddr| nets.iter().any(|net| net.contains(address));
    let pods: Vec<u32> =
        node.pods.iter().filter(|(_, address)| is_on(address)).map(|(pod, _)| *pod).collect();
    for pod in pods {
        node.del(pod).await;
    }
    let now = cloud.now();
    let attachment = cloud.inner().state.interfaces().get(interface).unwrap().attachment.clone().unwrap();
    cloud.inner().state.detach(&attachment.id, now).unwrap();
    node.rest(10).await;
    let now = cloud.now();
    cloud.inner().state.delete(interface, now).unwrap();
}

#[tokio::test(start_paused = true)]
async fn limits_that_were_too_low_are_raised_by_what_ec2_shows() {
    let cloud = Cloud::new(1, &[24]);
    let instance = cloud.launch("t3.small");
    let mut node = Node::of(&cloud, instance.clone(), limits("t3.small"), ONE).await;
    node.add_all(0..9).await;
    let low = InstanceLimits { interfaces: 2, addresses: 3, ..limits("t3.small") };
    node.handle.set_limits(low);
    node.handle.look_again();
    node.rest(10).await;
    let shown = node.handle.status().limits.unwrap();
    assert_eq!((shown.interfaces, shown.addresses), (3, 4), "EC2 shows so many");
}

/// A node without room for more, one of whose pods has just gone, and that pod's address.
async fn full_but_for_one() -> (Arc<Cloud>, Node, IpAddr) {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add_all(0..9).await;
    node.rest(120).await;
    let freed = node.pods[&3];
    node.del(3).await;
    (cloud, node, freed)
}

#[tokio::test(start_paused = true)]
async fn an_address_that_has_cooled_down_on_a_full_node_is_given_to_whoever_waits() {
    let (_cloud, mut node, freed) = full_but_for_one().await;
    node.rest(20).await;
    assert_eq!(node.add_within(9, 12).await.unwrap(), freed);
    assert!(node.handle.status().plan.unwrap().words.unwrap().contains("full"));
}

#[tokio::test(start_paused = true)]
async fn an_address_cools_down_though_nothing_can_be_planned() {
    let (cloud, mut node, freed) = full_but_for_one().await;
    cloud.fault(Fault::always("*", broken()));
    node.crash().await;
    assert_eq!(node.add_within(9, 35).await.unwrap(), freed);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_comes_while_an_interface_goes_waits_for_the_next_one() {
    let cloud = Cloud::new(1, &[24]);
    cloud.inner().state.timing.detach_ms = 30_000;
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add_all(0..9).await;
    for pod in 0..9 {
        node.del(pod).await;
    }
    let goes =
        |node: &Node| node.engine.intents().iter().any(|intent| intent.kind.name() == "detach-interface");
    while !goes(&node) {
        node.rest(1).await;
    }
    node.rest(3).await;
    assert!(goes(&node), "it takes long");
    node.add_all(10..19).await;
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn prefixes_that_fit_on_an_interface_on_its_way_are_not_replaced_by_single_addresses() {
    let cloud = Cloud::new(1, &[22]);
    cloud.inner().state.timing.attach_ms = 8000;
    let ipam = r#"{ "prefixes": true, "warm": { "prefixes": 1 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.add_all(0..30).await;
    node.rest(60).await;
    let mut waves = tokio::task::JoinSet::new();
    for pod in 30..90_u32 {
        let (engine, request) = (Arc::clone(&node.engine), node.request_of(&format!("c{pod}")));
        waves.spawn(async move {
            tokio::time::sleep(Duration::from_millis(u64::from(pod - 30) * 100)).await;
            engine.add(request, |_| Ok(())).await.unwrap();
        });
    }
    node.rest(1).await;
    while waves.join_next().await.is_some() {}
    let ranges = node.ranges().await;
    assert!(ranges.values().flatten().all(|net| net.prefix_len() == 28), "{ranges:?}");
    let singles = cloud.inner().state.interfaces().all().filter(|interface| interface.ipv4.len() > 1).count();
    assert_eq!(singles, 0);
}
