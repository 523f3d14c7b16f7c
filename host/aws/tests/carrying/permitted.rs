//! What a node does of which EC2 allows little: nothing at all in the mode `imdsOnly`, or no describing of subnets.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use tenure_ec2_double::state::{Creation, Place, Shown, Wanted};
use tenure_ec2_double::{Fault, Kind};
use tenure_engine::Define;
use tenure_types::{Definer, ErrorCode, NetworkConfig, PolicyName};

use crate::cloud::{Cloud, limits};
use crate::metadata;
use crate::node::{Node, network};

const IMDS_ONLY: &str = r#"{ "imdsOnly": true }"#;

/// An instance to which somebody else has attached a second interface, with addresses on both: three in all.
fn prepared(cloud: &Cloud) -> (String, BTreeSet<IpAddr>) {
    let instance = cloud.launch("t3.small");
    let primary = cloud.carried(&instance).into_keys().next().unwrap();
    let now = cloud.now();
    let mut inner = cloud.inner();
    inner.state.assign(&primary, &Wanted::Count(2), false, now).unwrap();
    let wanted = Creation { subnet: "subnet-1".to_owned(), ipv4: Wanted::Count(1), ..Creation::default() };
    let second = inner.state.create(&wanted, None, now).unwrap();
    inner.state.run_until(now.after(10_000));
    let place = Place { instance: instance.clone(), device: 1, card: Some(0) };
    inner.state.attach(&second, &place, now.after(10_000)).unwrap();
    inner.state.run_until(now.after(60_000));
    drop(inner);
    let carried = cloud.carried(&instance).into_values().flatten();
    let addresses = carried.map(|net| net.addr()).collect();
    (instance, addresses)
}

async fn imds_only() -> (Arc<Cloud>, Node, BTreeSet<IpAddr>) {
    let cloud = Cloud::new(1, &[24]);
    let (instance, addresses) = prepared(&cloud);
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    let node = Node::of(&cloud, instance, limits("t3.small"), IMDS_ONLY).await;
    (cloud, node, addresses)
}

#[tokio::test(start_paused = true)]
async fn a_node_with_the_metadata_alone_serves_what_is_attached_and_never_calls_ec2() {
    let (cloud, mut node, addresses) = imds_only().await;
    for pod in 0..3 {
        node.add(pod).await.unwrap();
    }
    assert_eq!(node.pods.values().copied().collect::<BTreeSet<_>>(), addresses);
    let full = node.add(3).await.unwrap_err();
    assert_eq!(full.code, ErrorCode::PoolExhausted, "{full}");
    // Somebody else assigns one more, and the metadata service shows it.
    let primary = cloud.carried(&node.instance).into_keys().next().unwrap();
    let now = cloud.now();
    cloud.inner().state.assign(&primary, &Wanted::Count(1), false, now).unwrap();
    node.handle.look_again();
    node.rest(60).await;
    node.add(3).await.unwrap();
    let pods = node.pods.clone();
    node.crash().await;
    node.rest(4 * 3600).await;
    assert_eq!(node.pods, pods);
    let ranges = node.ranges().await;
    node.agrees(&ranges, "at the end");
    assert_eq!(cloud.inner().calls, [].into(), "EC2 is never called");
    let reads = cloud.inner().metadata_reads;
    assert!(reads < 40, "{reads} reads in 4 hours");
    assert_eq!(node.handle.status().trouble, None);
}

#[tokio::test(start_paused = true)]
async fn what_the_metadata_do_not_show_any_more_stays_with_its_pod() {
    let (cloud, mut node, _) = imds_only().await;
    for pod in 0..3 {
        node.add(pod).await.unwrap();
    }
    let before = node.ranges().await;
    let second = before.iter().find(|(_, nets)| nets.len() == 1).unwrap().0.clone();
    cloud.inner().state.consistency.imds_shows.insert(second.clone(), Shown::Missing);
    node.handle.look_again();
    node.rest(600).await;
    assert_eq!(node.ranges().await, before, "in quarantine");
    assert_eq!(node.handle.status().quarantine.len(), 1);
    cloud.inner().state.consistency.imds_shows.clear();
    node.handle.look_again();
    node.rest(120).await;
    assert_eq!(node.handle.status().quarantine, []);
    cloud.fault(Fault::always(metadata::PATH, Kind::Reset));
    node.crash().await;
    node.rest(60).await;
    assert_eq!(node.ranges().await, before);
    let trouble = node.handle.status().trouble.unwrap_or_default();
    assert!(trouble.contains("metadata service"), "{trouble}");
    assert_eq!(cloud.inner().calls, [].into());
}

#[tokio::test(start_paused = true)]
async fn without_discovery_a_node_needs_no_permission_to_describe_subnets() {
    let cloud = Cloud::new(1, &[24, 24]);
    cloud.deny("DescribeSubnets");
    let ipam = r#"{ "subnets": { "discover": false }, "warm": { "addresses": 1 }, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.add_all(0..9).await;
    assert!(node.pods.values().all(|pod| pod.to_string().starts_with("10.0.0.")), "{:?}", node.pods);
    node.settles("at the end").await;
    let status = node.handle.status();
    assert_eq!((status.trouble, status.barred), (None, Vec::new()), "nothing is wrong");
    let asked = cloud.inner().calls["DescribeSubnets"];
    assert!(asked <= 2, "{asked} calls for nothing");
}

#[tokio::test(start_paused = true)]
async fn with_discovery_a_node_grows_in_its_own_subnet_until_it_may_describe_the_others() {
    let cloud = Cloud::new(1, &[28, 24]);
    cloud.deny("DescribeSubnets");
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    node.add_all(0..9).await;
    node.rest(600).await;
    let trouble = node.handle.status().trouble.unwrap_or_default();
    assert!(trouble.contains("DescribeSubnets: UnauthorizedOperation"), "{trouble}");
    let asked = cloud.inner().calls["DescribeSubnets"];
    assert!((5..=12).contains(&asked), "{asked} calls in 10 minutes");
    assert!(node.add_within(9, 60).await.is_err(), "its own subnet is full");
    cloud.allow();
    node.add_within(9, 120).await.unwrap();
    assert!(node.pods[&9].to_string().starts_with("10.0.1."), "{:?}", node.pods);
    node.settles("at the end").await;
    assert_eq!(node.handle.status().trouble, None);
}

#[tokio::test(start_paused = true)]
async fn the_silence_of_ec2_is_over_once_it_is_not_asked_any_more() {
    for silent_from in [0, 120] {
        let cloud = Cloud::new(1, &[24]);
        let silence = Fault::always("*", Kind::LostBefore);
        if silent_from == 0 {
            cloud.fault(silence.clone());
        }
        let mut node = Node::start(&cloud, "t3.small", r#"{ "warm": { "addresses": 2 } }"#).await;
        node.rest(silent_from).await;
        cloud.fault(silence);
        // An interface is looked for, and the subnets.
        node.handle.look_again();
        node.rest(7 * 3600).await;
        let status = node.handle.status();
        assert!(status.silence.is_some() && status.trouble.is_some(), "{silent_from}: {status:?}");
        let define = Define {
            network: network(),
            policy: PolicyName::new("aws-eni").unwrap(),
            config: Arc::new(NetworkConfig { ipam: IMDS_ONLY.into(), attributes: Vec::new() }),
            by: Definer::Configuration,
            apply: true,
            change_ranges: false,
        };
        node.engine.define_network(&define).await.unwrap();
        node.rest(60).await;
        let status = node.handle.status();
        assert_eq!((status.silence, status.trouble), (None, None), "{silent_from}");
        let before = cloud.inner().calls.clone();
        node.rest(3600).await;
        assert_eq!(cloud.inner().calls, before, "{silent_from}");
    }
}
