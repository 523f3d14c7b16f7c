//! The security groups of the primary interface change, and the other interfaces of the node follow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_ec2_double::state::{Change, Creation, Place, Wanted};

use crate::cloud::Cloud;
use crate::node::Node;
use crate::usual::ONE;

const OTHER: &str = "sg-other";

/// The groups of each interface of a node, the primary one first.
fn groups(cloud: &Cloud, node: &Node) -> Vec<Vec<String>> {
    let inner = cloud.inner();
    let on = inner.state.interfaces().all().filter(|known| known.is_on(&node.instance));
    let by_device: BTreeMap<u32, Vec<String>> =
        on.map(|known| (known.attachment.as_ref().unwrap().device, known.groups.clone())).collect();
    by_device.into_values().collect()
}

/// Somebody gives the primary interface other groups, and the metadata service names them.
fn change(cloud: &Cloud, node: &Node) {
    let primary = {
        let inner = cloud.inner();
        inner.state.instances()[&node.instance].primary.clone()
    };
    let now = cloud.now();
    let mut inner = cloud.inner();
    inner.state.account.groups.push(OTHER.to_owned());
    inner.state.modify(&primary, Change::Groups(vec![OTHER.to_owned()]), now).unwrap();
    drop(inner);
    node.handle.groups_named(BTreeSet::from([OTHER.to_owned()]));
}

async fn full() -> (Arc<Cloud>, Node) {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.add_all(0..9).await;
    node.rest(1800).await;
    (cloud, node)
}

#[tokio::test(start_paused = true)]
async fn the_interfaces_of_a_node_follow_the_groups_of_the_primary_one() {
    for lag_ms in [0, 20_000] {
        let (cloud, mut node) = full().await;
        cloud.inner().state.consistency.describe_lag_ms = lag_ms;
        change(&cloud, &node);
        node.rest(30).await;
        assert_eq!(groups(&cloud, &node), vec![vec![OTHER.to_owned()]; 3], "a lag of {lag_ms} ms");
        node.rest(300).await;
        let calls = |cloud: &Cloud| -> u64 { cloud.inner().calls.values().sum() };
        let before = calls(&cloud);
        // The metadata service goes on to name them.
        for _ in 0..60 {
            node.handle.groups_named(BTreeSet::from([OTHER.to_owned()]));
            node.rest(20).await;
        }
        assert!(calls(&cloud) <= before + 4, "at rest: {} calls", calls(&cloud) - before);
        node.settles("at the end").await;
    }
}

#[tokio::test(start_paused = true)]
async fn groups_that_ec2_does_not_show_are_given_to_no_interface() {
    let (cloud, mut node) = full().await;
    cloud.inner().state.account.groups.push(OTHER.to_owned());
    let before = groups(&cloud, &node);
    let asked = cloud.inner().calls["DescribeNetworkInterfaces"];
    for _ in 0..60 {
        node.handle.groups_named(BTreeSet::from([OTHER.to_owned()]));
        node.rest(20).await;
    }
    assert_eq!(groups(&cloud, &node), before);
    let asked = cloud.inner().calls["DescribeNetworkInterfaces"] - asked;
    assert!(asked <= 20, "{asked} describes in 20 minutes");
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_has_attached_keeps_its_groups() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.add_all(0..4).await;
    let now = cloud.now();
    let foreign = {
        let mut inner = cloud.inner();
        let wanted =
            Creation { subnet: "subnet-1".to_owned(), ipv4: Wanted::Count(1), ..Creation::default() };
        let foreign = inner.state.create(&wanted, None, now).unwrap();
        let place = Place { instance: node.instance.clone(), device: 2, card: Some(0) };
        inner.state.run_until(now.after(10_000));
        inner.state.attach(&foreign, &place, now.after(10_000)).unwrap();
        foreign
    };
    node.rest(60).await;
    node.handle.look_again();
    node.rest(60).await;
    change(&cloud, &node);
    node.rest(30).await;
    let kept = cloud.inner().state.interfaces().get(&foreign).unwrap().groups.clone();
    assert_ne!(kept, [OTHER]);
    let shown = groups(&cloud, &node);
    assert_eq!(shown.iter().filter(|groups| **groups == [OTHER]).count(), 2, "{shown:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_may_not_change_groups_says_so_and_follows_once_it_may() {
    let (cloud, mut node) = full().await;
    cloud.deny("ModifyNetworkInterfaceAttribute");
    change(&cloud, &node);
    node.rest(600).await;
    let refused = {
        let inner = cloud.inner();
        let vain = |(action, outcome): &&(String, &str)| {
            action == "ModifyNetworkInterfaceAttribute" && *outcome == "refused"
        };
        inner.changes.iter().filter(vain).count()
    };
    assert!((2..=24).contains(&refused), "{refused} vain calls in 10 minutes");
    cloud.allow();
    node.rest(104).await;
    assert_eq!(groups(&cloud, &node), vec![vec![OTHER.to_owned()]; 3]);
    node.settles("at the end").await;
}
