//! What is wrong, in words: for those who wait, and for the node's conditions.

use std::time::Duration;

use tenure_aws::port::{CallError, Failure};
use tenure_ec2_double::{Fault, Kind};

use crate::cloud::{Cloud, limits};
use crate::node::{Node, network};
use crate::usual::ONE;

/// One free address, and no further interface.
const ONE_INTERFACE: &str = r#"{ "warm": { "addresses": 1 }, "maxInterfaces": 1, "idleSeconds": 10 }"#;

fn code(code: &str, message: &str, status: u16) -> Kind {
    Kind::Code { code: code.to_owned(), message: message.to_owned(), status }
}

/// Lets a pod wait for so long, and returns what it is told then.
async fn waits(node: &Node, seconds: u64) -> String {
    let engine = std::sync::Arc::clone(&node.engine);
    let request = node.request_of("waits");
    let waiting = tokio::spawn(async move { engine.add(request, |_| Ok(())).await });
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert!(!waiting.is_finished(), "{:?}", waiting.await);
    let why = node.engine.why_waiting(&network()).map(|error| error.cause).unwrap_or_default();
    waiting.abort();
    why
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_told_the_subnet_and_the_permission_that_is_missing() {
    let cloud = Cloud::new(1, &[24]);
    cloud.deny("CreateNetworkInterface");
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    for pod in 0..3 {
        node.add(pod).await.unwrap();
    }
    let why = waits(&node, 20).await;
    assert!(why.contains("subnet-1: EC2 refuses CreateNetworkInterface: UnauthorizedOperation"), "{why}");
    let status = node.handle.status();
    let refusal = status.refusal.unwrap();
    let words = "the node's role lacks the permission ec2:CreateNetworkInterface, so EC2 refuses CreateNetworkInterface: UnauthorizedOperation: You are";
    assert!(refusal.starts_with(words), "{refusal}");
    assert_eq!(refusal.matches("UnauthorizedOperation").count(), 1, "{refusal}");
    assert_eq!(status.silence, None, "EC2 answers");
    // The call may be made again, and is, again and again: the words stay meanwhile.
    for _ in 0..60 {
        node.rest(10).await;
        assert!(node.handle.status().refusal.is_some());
    }
    cloud.allow();
    node.add_within(3, 120).await.unwrap();
    assert_eq!(node.handle.status().refusal, None);
}

#[tokio::test(start_paused = true)]
async fn an_assignment_that_is_refused_is_told_to_who_waits() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE_INTERFACE).await;
    node.add(0).await.unwrap();
    node.rest(60).await;
    cloud.deny("AssignPrivateIpAddresses");
    node.add(1).await.unwrap();
    let why = waits(&node, 20).await;
    let words = "EC2 refuses AssignPrivateIpAddresses, and is asked again in";
    assert!(why.contains(words) && why.contains("UnauthorizedOperation"), "{why}");
}

/// On a full node: what the words say is missing is what is waited for.
#[tokio::test(start_paused = true)]
async fn who_waits_for_an_address_to_cool_down_is_told_so() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add_all(0..9).await;
    node.rest(120).await;
    node.del(3).await;
    let why = waits(&node, 10).await;
    let words = "no address of pool ipv4 is free: 8 of 9 are held, 1 are cooling down";
    assert!(why.starts_with(words), "{why}");
}

#[tokio::test(start_paused = true)]
async fn the_silence_of_ec2_is_told_to_who_waits() {
    let cloud = Cloud::new(1, &[24]);
    cloud.fault(Fault::always("*", Kind::Reset));
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(1).await;
    let why = waits(&node, 20).await;
    assert!(
        why.contains("EC2 has not said yet what this node has: DescribeNetworkInterfaces: Timeout"),
        "{why}"
    );
    assert!(node.handle.status().silence.unwrap().starts_with("EC2 does not answer Describe"));

    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE_INTERFACE).await;
    node.add(0).await.unwrap();
    node.rest(60).await;
    cloud.fault(Fault::always("AssignPrivateIpAddresses", Kind::LostBefore));
    node.add(1).await.unwrap();
    let why = waits(&node, 300).await;
    assert!(why.contains("EC2 does not answer AssignPrivateIpAddresses: Timeout"), "{why}");
    assert_eq!(node.handle.status().refusal, None, "nothing is refused");
    cloud.inner().faults.clear();
    node.add_within(2, 300).await.unwrap();
    node.rest(300).await;
    assert_eq!(node.handle.status().silence, None);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_named_before_all_that_follows_from_it() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add(0).await.unwrap();
    node.rest(60).await;
    cloud.fault(Fault::always("*", code("RequestExpired", "Request has expired.", 400)));
    node.add(1).await.unwrap();
    let _ = waits(&node, 60).await;
    let refusal = node.handle.status().refusal.unwrap();
    assert!(refusal.starts_with("EC2 finds the time of this node wrong, so set its clock: "), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_ec2_took_from_a_pod_is_told_with_its_owner() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    let address = node.add(0).await.unwrap();
    node.rest(120).await;
    let interface = node.ranges().await.into_keys().next().unwrap();
    let std::net::IpAddr::V4(taken) = address else { panic!() };
    let now = cloud.now();
    cloud.inner().state.unassign(&interface, &[taken], &[], now).unwrap();
    node.handle.look_again();
    node.rest(180).await;
    let status = node.handle.status();
    let [quarantined] = status.quarantine.as_slice() else { panic!("{:?}", status.quarantine) };
    let words = format!("an address of it is in use: {address} by a container whose pod is not known");
    assert_eq!(quarantined.why, words);
}

#[tokio::test(start_paused = true)]
async fn limits_that_ec2_has_told_are_no_longer_told_as_refused() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(60).await;
    let (code, message) = ("UnauthorizedOperation".to_owned(), "no".to_owned());
    let action = "DescribeInstanceTypes";
    let denied = CallError { action, failure: Failure::Denied, code, message, retry_after: None };
    node.handle.limits_failed(&denied);
    assert!(node.handle.status().refusal.unwrap().contains("ec2:DescribeInstanceTypes"));
    node.handle.set_limits(limits("t3.small"));
    let status = node.handle.status();
    assert_eq!((status.refusal, status.barred), (None, Vec::new()));
}
