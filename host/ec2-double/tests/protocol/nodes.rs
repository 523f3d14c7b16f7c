//! Several nodes share one account; the oracle sees what must never happen.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tenure_ec2_double::{Addresses, Double, Setup, Violation};

use super::client::{attached, call, send};
use super::doubles::{double, setup};

/// Tells the oracle the pods of a node.
fn pods(double: &Double, node: &str, addresses: &[IpAddr]) {
    double.with(|world, now| {
        let addresses: BTreeSet<IpAddr> = addresses.iter().copied().collect();
        world.oracle.pods_are(node, &addresses, &world.state, now);
    });
}

/// Assigns addresses, and returns them.
async fn assign(double: &Double, id: &str, wanted: &str) -> Vec<IpAddr> {
    let reply = call(double, "AssignPrivateIpAddresses", &format!("NetworkInterfaceId={id}&{wanted}")).await;
    reply.all("privateIpAddress").iter().map(|text| text.parse().unwrap()).collect()
}

#[tokio::test]
async fn each_node_has_its_own_metadata() {
    let double = double(&["t3.small", "m5.large"]).await;
    let mut seen = BTreeSet::new();
    for (node, address) in double.imds() {
        let ttl = [("x-aws-ec2-metadata-token-ttl-seconds", "60".to_owned())];
        let token = send(address, "PUT", "/latest/api/token", &ttl, "").await.unwrap().body;
        let header = [("x-aws-ec2-metadata-token", token)];
        let read = async |address: SocketAddr| {
            send(address, "GET", "/latest/meta-data/instance-id", &header, "").await.unwrap()
        };
        assert_eq!(read(address).await.body, node);
        for other in double.imds().into_values().filter(|other| *other != address) {
            assert_eq!(read(other).await.status, 401, "a token is good for its own service");
        }
        seen.insert(node);
    }
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn an_address_on_two_nodes_inside_its_cooldown_is_seen() {
    for (wait, expected) in [(29, 1), (30, 0)] {
        let double = double(&["m5.large", "m5.large"]).await;
        let nodes = double.nodes();
        let (one, _) = attached(&double, &nodes[0], 1).await;
        let (other, _) = attached(&double, &nodes[1], 1).await;
        let addresses = assign(&double, &one, "SecondaryPrivateIpAddressCount=1").await;
        pods(&double, &nodes[0], &addresses);
        pods(&double, &nodes[0], &[]);
        let named = format!("PrivateIpAddress.1={}", addresses[0]);
        call(&double, "UnassignPrivateIpAddresses", &format!("NetworkInterfaceId={one}&{named}")).await;
        assign(&double, &other, &named).await;
        double.advance(Duration::from_secs(wait));
        pods(&double, &nodes[1], &addresses);
        let verdict = double.verdict();
        let is_it = |found: &Violation| matches!(found, Violation::TwoNodes { after_ms: 29_000, instances, .. } if *instances == [nodes[0].clone(), nodes[1].clone()]);
        assert_eq!(
            (verdict.len(), verdict.iter().filter(|found| is_it(found)).count()),
            (expected, expected)
        );
    }
}

#[tokio::test]
async fn taking_an_address_from_a_pod_is_seen_whatever_the_call() {
    for action in ["DetachNetworkInterface", "UnassignPrivateIpAddresses"] {
        let double = double(&["m5.large"]).await;
        let node = super::doubles::node(&double);
        let (id, attachment) = attached(&double, &node, 1).await;
        let addresses = assign(&double, &id, "SecondaryPrivateIpAddressCount=2").await;
        pods(&double, &node, &addresses);
        double.advance(Duration::from_secs(10));
        assert_eq!(double.verdict(), []);
        let parameters = match action {
            "DetachNetworkInterface" => format!("AttachmentId={attachment}"),
            _ => format!("NetworkInterfaceId={id}&PrivateIpAddress.1={}", addresses[0]),
        };
        call(&double, action, &parameters).await;
        let verdict = double.verdict();
        let expected = if action == "DetachNetworkInterface" { 2 } else { 1 };
        assert_eq!(verdict.len(), expected, "{verdict:?}");
        for violation in verdict {
            assert!(matches!(&violation, Violation::Taken { call, .. } if call == action), "{violation:?}");
        }
    }
}

#[tokio::test]
async fn an_address_that_moves_away_later_is_seen() {
    let double = double(&["m5.large", "m5.large"]).await;
    let (one, _) = attached(&double, &double.nodes()[0], 1).await;
    let (other, _) = attached(&double, &double.nodes()[1], 1).await;
    let addresses = assign(&double, &one, "SecondaryPrivateIpAddressCount=1").await;
    pods(&double, &double.nodes()[0], &addresses);
    assign(&double, &other, &format!("AllowReassignment=true&PrivateIpAddress.1={}", addresses[0])).await;
    assert_eq!(double.verdict(), []);
    double.advance(Duration::from_secs(10));
    assert!(matches!(double.verdict().as_slice(), [Violation::NotOnNode { .. }]));
}

#[tokio::test]
async fn a_pod_whose_address_is_elsewhere_and_interfaces_without_an_owner_are_seen() {
    let double = double(&["t3.small"]).await;
    pods(&double, &super::doubles::node(&double), &["10.0.0.99".parse().unwrap()]);
    assert!(matches!(double.verdict().as_slice(), [Violation::NotOnNode { .. }]));
    let created = call(&double, "CreateNetworkInterface", "SubnetId=subnet-00000000000000000").await;
    let is_it = |violation: &Violation| matches!(violation, Violation::WithoutOwner { interface, .. } if interface == created.one("networkInterfaceId"));
    assert!(double.verdict().iter().any(is_it));
    double.with(|world, _| world.oracle.terms.idle_ms = 60_000);
    assert!(!double.verdict().iter().any(is_it), "not yet");
    double.advance(Duration::from_secs(60));
    assert!(double.verdict().iter().any(is_it));
}

#[tokio::test]
async fn calls_beyond_the_budget_are_seen() {
    let double = double(&[]).await;
    double.with(|world, _| world.oracle.terms.calls_per_minute = Some(2));
    for _ in 0..3 {
        call(&double, "DescribeSubnets", "").await;
        double.advance(Duration::from_secs(30));
    }
    assert_eq!(double.verdict(), []);
    call(&double, "DescribeSubnets", "").await;
    call(&double, "DescribeSubnets", "").await;
    assert_eq!(double.verdict(), [Violation::TooManyCalls { calls: 3, budget: 2 }]);
}

#[tokio::test]
async fn the_bucket_is_shared_by_all_nodes() {
    let double = double(&["m5.large", "m5.large"]).await;
    let calls = |key: &'static str| {
        super::client::call_as(
            &double,
            key,
            "AssignPrivateIpAddresses",
            "NetworkInterfaceId=eni-9&Ipv4PrefixCount=1",
        )
    };
    for _ in 0..50 {
        assert_eq!(calls("ONE").await.unwrap().status, 400);
        assert_eq!(calls("TWO").await.unwrap().status, 400);
    }
    assert_eq!(calls("ONE").await.unwrap().status, 503);
    double.with(|world, now| world.state.throttle.set_load("AssignPrivateIpAddresses", 5, now));
    double.advance(Duration::from_secs(60));
    assert_eq!(calls("TWO").await.unwrap().status, 503, "other nodes take all");
}

#[tokio::test]
async fn one_seed_gives_one_history() {
    let mut histories = Vec::new();
    for seed in [1, 1, 2] {
        let setup = Setup { seed, ..setup(&["m5.large", "t3.small"]) };
        let double = Double::start(&setup, Addresses::default()).await.unwrap();
        for node in double.nodes() {
            let (id, _) = attached(&double, node, 1).await;
            assign(&double, &id, "SecondaryPrivateIpAddressCount=2").await;
        }
        let described = call(&double, "DescribeNetworkInterfaces", "").await;
        histories.push((double.nodes().to_vec(), described.body));
    }
    assert_eq!(histories[0], histories[1]);
    assert_ne!(histories[0], histories[2]);
}
