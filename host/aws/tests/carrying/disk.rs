//! What EC2 has done, or is about to do, while the ledger takes nothing.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_ec2_double::{Fault, Kind};
use tenure_engine::{NetworkBounds, Supply};
use tenure_types::{Error, ErrorCode, NetworkName, PoolName, Range, agreed};

use crate::cloud::Cloud;
use crate::node::{Node, define, network};
use crate::usual::ONE;

fn full() -> Option<Error> {
    Some(Error::new(ErrorCode::DiskFull, "no space left on device"))
}

/// A node whose pods have all of its addresses, and which gets its last interface, whose link the kernel does not have yet.
async fn growing(cloud: &Arc<Cloud>) -> Node {
    const KEEP: &str = "ModifyNetworkInterfaceAttribute";
    let mut node = Node::start(cloud, "t3.small", ONE).await;
    node.add_all(0..5).await;
    node.rest(120).await;
    let calls = |cloud: &Cloud| cloud.inner().calls.get(KEEP).copied().unwrap_or_default();
    let before = calls(cloud);
    *node.routes.links.lock().unwrap() = Some((Arc::clone(cloud), "i-other".to_owned()));
    node.redefine(r#"{ "warm": { "addresses": 4 }, "idleSeconds": 3600 }"#).await;
    for _ in 0..100 {
        if calls(cloud) > before {
            break;
        }
        node.rest(1).await;
    }
    assert_eq!(calls(cloud), before + 1);
    node.add(5).await.unwrap();
    assert_eq!(node.engine.intents().len(), 1, "it is on its way");
    node
}

/// The link of the interface that is on its way comes.
fn arrives(node: &Node) {
    *node.routes.links.lock().unwrap() = Some((Arc::clone(&node.cloud), node.instance.clone()));
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_comes_while_the_disk_is_full_serves_pods_once_there_is_room() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = growing(&cloud).await;
    node.journal.set_health(full());
    arrives(&node);
    node.rest(60).await;
    assert!(node.add_within(6, 10).await.is_err(), "the disk is full");
    node.journal.set_health(None);
    node.rest(2).await;
    for pod in 6..9 {
        node.add_within(pod, 2).await.unwrap();
    }
    assert_eq!(node.shape().await, [3, 3, 3]);
    node.settles("at the end").await;
}

/// The last interface of a node, and what it carries.
async fn last(node: &Node) -> BTreeSet<IpNet> {
    let known: BTreeSet<String> = node.ranges().await.into_keys().collect();
    let mut new = node.cloud.carried(&node.instance);
    new.retain(|interface, _| !known.contains(interface));
    assert_eq!(new.len(), 1);
    new.into_values().next().unwrap()
}

/// The addresses of an interface come as one group; another network has a range over one of them.
#[tokio::test(start_paused = true)]
async fn one_address_that_the_ledger_refuses_keeps_the_others_from_nobody() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = growing(&cloud).await;
    let nets = last(&node).await;
    let taken = *nets.first().unwrap();
    let other = NetworkName::new("other").unwrap();
    define(&node.engine, &other, &node.config).await;
    let mut settings = node.engine.settings().as_ref().clone();
    let mut bounds = settings.bounds.as_ref().clone();
    bounds.networks.insert(network(), NetworkBounds { exclusive: true, ..NetworkBounds::default() });
    settings.bounds = Arc::new(bounds);
    node.engine.set(settings);
    let subnet = "10.0.0.0/24".parse().unwrap();
    let range = Range::new(subnet, taken.addr(), taken.addr(), None, 24).unwrap();
    let add = Supply::Add { pool: PoolName::new(agreed::IPV4).unwrap(), range: Box::new(range) };
    node.engine.supply(&other, &[add]).await.unwrap();
    arrives(&node);
    node.rest(10).await;
    let mut given: BTreeSet<IpAddr> = BTreeSet::new();
    for pod in 6..8 {
        given.insert(node.add_within(pod, 2).await.unwrap());
    }
    assert_eq!(given, nets.iter().skip(1).map(IpNet::addr).collect());
}

/// Regression: an address that overlapped a range at the end of its intent served nobody for up to two hours.
#[tokio::test(start_paused = true)]
async fn an_address_that_cannot_be_a_range_at_once_is_looked_at_again_soon() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = growing(&cloud).await;
    let nets = last(&node).await;
    let taken = *nets.first().unwrap();
    let subnet = "10.0.0.0/24".parse().unwrap();
    let range = Range::new(subnet, taken.addr(), taken.addr(), None, 24).unwrap();
    let (pool, name) = (PoolName::new(agreed::IPV4).unwrap(), range.name().clone());
    let add = Supply::Add { pool: pool.clone(), range: Box::new(range) };
    node.engine.supply(&network(), &[add]).await.unwrap();
    // The next look begins before the range is gone, and hears from EC2 after that.
    let slowly = Kind::DelayBefore { delay_ms: 5_000 };
    cloud.fault(Fault::always("DescribeNetworkInterfaces", slowly));
    arrives(&node);
    for _ in 0..60 {
        if node.engine.intents().is_empty() {
            break;
        }
        node.rest(1).await;
    }
    assert_eq!(node.engine.intents().len(), 0);
    node.engine.supply(&network(), &[Supply::Withdraw { pool, range: name }]).await.unwrap();
    node.rest(20).await;
    assert_eq!(node.shape().await, [3, 3, 3]);
}

/// The witnesses are asked again where a release was about to be written down before it is made.
#[tokio::test(start_paused = true)]
async fn what_somebody_takes_while_a_release_waits_for_the_disk_stays() {
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
    node.rest(2).await;
    node.journal.set_health(full());
    node.rest(600).await;
    assert_eq!(calls(&cloud), 6, "what is asked for is not durable");
    let intents = node.engine.intents();
    let used: IpNet = intents[0].attributes.get("range").unwrap().parse().unwrap();
    node.routes.pods.lock().unwrap().insert(used.addr());
    node.journal.set_health(None);
    node.rest(120).await;
    let carried: BTreeSet<IpNet> = cloud.carried(&node.instance).into_values().flatten().collect();
    assert!(carried.contains(&used), "{used} is in use: {carried:?}");
    assert_eq!(node.engine.intents().len(), 0, "nothing waits for it");
    node.routes.pods.lock().unwrap().remove(&used.addr());
    node.settles("at the end").await;
}
