//! What may not be there, or may be somebody's: it is handed out to nobody, and nothing is concluded from it.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::former::leave;
use tenure_ec2_double::{Fault, Kind, Violation};
use tokio::time::timeout;

use crate::cloud::{Cloud, Trip};
use crate::node::{Node, network};
use crate::usual::ONE;

const DETACH: &str = "DetachNetworkInterface";

#[tokio::test(start_paused = true)]
async fn free_addresses_that_somebody_took_are_handed_out_to_nobody_once_a_describe_lacks_them() {
    for restarts in [false, true] {
        let cloud = Cloud::new(1, &[24]);
        let ipam = r#"{ "warm": { "addresses": 3 }, "idleSeconds": 3600 }"#;
        let mut node = Node::start(&cloud, "m5.large", ipam).await;
        node.rest(1800).await;
        for (interface, nets) in node.ranges().await {
            let taken: Vec<_> = nets.iter().map(|net| net.addr().to_string().parse().unwrap()).collect();
            let now = cloud.now();
            let mut inner = cloud.inner();
            inner.state.unassign(&interface, &taken, &[], now).unwrap();
            inner.state.note(now);
        }
        match restarts {
            true => node.crash().await,
            false => node.handle.look_again(),
        }
        node.rest(2).await;
        node.add_all(0..3).await;
        assert_eq!(cloud.verdict(), [], "after a restart: {restarts}");
        node.settles("at the end").await;
    }
}

/// EC2 accepts a Detach, describes lag behind it, and another Detach is refused: the interface is gone all the same.
#[tokio::test(start_paused = true)]
async fn an_interface_that_ec2_is_about_to_detach_serves_no_pods_though_the_repetition_is_refused() {
    for lost in [false, true] {
        let cloud = Cloud::new(1, &[24]);
        let mut node = Node::start(&cloud, "t3.small", ONE).await;
        *node.routes.links.lock().unwrap() = None;
        node.add_all(0..5).await;
        node.rest(120).await;
        if lost {
            cloud.fault(Fault::once(DETACH, Kind::LostAfter));
        }
        let refused =
            Kind::Code { code: "UnauthorizedOperation".to_owned(), message: "no".to_owned(), status: 400 };
        cloud.fault(Fault { from: 2, ..Fault::always(DETACH, refused) });
        for pod in 0..5 {
            node.del(pod).await;
        }
        let calls = |cloud: &Cloud| cloud.inner().calls.get(DETACH).copied().unwrap_or_default();
        while calls(&cloud) == 0 {
            node.rest(1).await;
        }
        cloud.inner().state.consistency.describe_lag_ms = 90_000;
        for _ in 0..300 {
            if calls(&cloud) >= 2 {
                break;
            }
            node.rest(1).await;
        }
        assert_eq!(calls(&cloud), 2, "lost: {lost}");
        node.rest(2).await;
        for pod in 10..18 {
            let _ = node.add_within(pod, 5).await;
        }
        let mut verdict = cloud.verdict();
        // It is deleted once that is known.
        verdict.retain(|violation| !matches!(violation, Violation::WithoutOwner { .. }));
        assert_eq!(verdict, [], "lost: {lost}");
        cloud.inner().state.consistency.describe_lag_ms = 0;
        cloud.inner().faults.clear();
        node.settles("at the end").await;
    }
}

/// An intent to release is carried on by a process that finds a pod with the address, of which the ledger knows nothing.
#[tokio::test(start_paused = true)]
async fn what_somebody_uses_is_not_taken_by_a_process_that_carries_on() {
    let cloud = Cloud::new(3, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "maxInterfaces": 1, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.add_all(0..3).await;
    node.rest(60).await;
    let next = cloud.inner().changes.len() as u64;
    cloud.inner().trip = Some(Trip::Before(next));
    for pod in 0..3 {
        node.del(pod).await;
    }
    timeout(Duration::from_secs(300), cloud.killed.notified()).await.unwrap();
    let intents = node.engine.intents();
    let used: IpNet = intents[0].attributes.get("range").unwrap().parse().unwrap();
    let address: IpAddr = used.addr();
    node.routes.pods.lock().unwrap().insert(address);
    node.crash().await;
    node.rest(600).await;
    let is_there = || cloud.carried(&node.instance).values().flatten().any(|net| *net == used);
    assert!(is_there(), "{used} is in use");
    assert_eq!(node.add_within(7, 30).await.ok().filter(|given| *given == address), None);
    node.routes.pods.lock().unwrap().remove(&address);
    node.rest(60).await;
    let carried: Vec<_> = cloud.carried(&node.instance).into_values().flatten().collect();
    assert!(!carried.contains(&used), "nobody uses it any more: {carried:?}");
    node.settles("at the end").await;
}

/// The witnesses are asked once a release may be made, and not before it waits for that.
#[tokio::test(start_paused = true)]
async fn what_somebody_takes_while_a_release_waits_for_its_turn_stays() {
    const UNASSIGN: &str = "UnassignPrivateIpAddresses";
    let cloud = Cloud::new(3, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "maxInterfaces": 1, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.add_all(0..3).await;
    node.rest(60).await;
    let throttled =
        Kind::Code { code: "RequestLimitExceeded".to_owned(), message: "slowly".to_owned(), status: 503 };
    cloud.fault(Fault { times: Some(6), ..Fault::always(UNASSIGN, throttled) });
    for pod in 0..3 {
        node.del(pod).await;
    }
    let calls = |cloud: &Cloud| cloud.inner().calls.get(UNASSIGN).copied().unwrap_or_default();
    for _ in 0..300 {
        if calls(&cloud) >= 6 {
            break;
        }
        node.rest(1).await;
    }
    assert_eq!(calls(&cloud), 6);
    // An intent tries again after 15 seconds, and its call is allowed after 24 at the earliest.
    node.rest(20).await;
    assert_eq!(calls(&cloud), 6);
    let intents = node.engine.intents();
    let used: IpNet = intents[0].attributes.get("range").unwrap().parse().unwrap();
    node.routes.pods.lock().unwrap().insert(used.addr());
    node.rest(120).await;
    let carried: Vec<_> = cloud.carried(&node.instance).into_values().flatten().collect();
    assert!(carried.contains(&used), "{used} is in use: {carried:?}");
    node.routes.pods.lock().unwrap().remove(&used.addr());
    node.settles("at the end").await;
}

/// A machine from an image of a running node, with that node's ledger and an intent that it had begun.
#[tokio::test(start_paused = true)]
async fn a_copy_of_another_nodes_disk_neither_hands_out_nor_changes_what_that_node_has() {
    let cloud = Cloud::new(3, &[24]);
    let mut node = Node::start(&cloud, "t3.small", r#"{ "warm": { "addresses": 2 } }"#).await;
    node.rest(60).await;
    let next = cloud.inner().changes.len() as u64;
    cloud.inner().trip = Some(Trip::Before(next));
    let first = node.add(0).await.unwrap();
    timeout(Duration::from_secs(60), cloud.killed.notified()).await.unwrap();
    assert_eq!(node.engine.intents().len(), 1);
    node.stop().await;
    let original = std::mem::replace(&mut node.instance, cloud.launch("t3.small"));
    let before = cloud.carried(&original);
    leave(&node.engine, &network()).await.unwrap();
    // No pod of the copied state lives here.
    node.forget_pods();
    node.crash().await;
    for pod in 10..14 {
        let address = node.add(pod).await.unwrap();
        let is_others = before.values().flatten().any(|net| net.contains(&address));
        assert!(!is_others, "{address} is on {before:?}");
    }
    assert_eq!(cloud.carried(&original), before, "nothing was done to the other's interface");
    node.rest(200).await;
    assert_eq!(cloud.verdict(), []);
    let left = node.ranges().await;
    let of_original: Vec<_> = left.iter().filter(|(id, _)| before.contains_key(*id)).collect();
    assert!(
        of_original.iter().all(|(_, nets)| nets.iter().all(|net| net.contains(&first))),
        "{of_original:?}"
    );
}
