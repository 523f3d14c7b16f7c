//! A network that is redefined while the node is at rest: what serves no new pods serves none from then on.

use std::collections::BTreeSet;

use ipnet::IpNet;
use tenure_aws::situation::{CustomNetwork, NodeFacts};
use tenure_ec2_double::state::{Creation, Interface, Place, Wanted};

use crate::cloud::Cloud;
use crate::node::Node;

/// The id of the primary interface, and what is on it.
fn primary(cloud: &Cloud, node: &Node) -> (String, BTreeSet<IpNet>) {
    let is_primary = |known: &Interface| known.attachment.as_ref().is_some_and(|place| place.device == 0);
    let id = {
        let inner = cloud.inner();
        let own = inner.state.interfaces().all().filter(|known| known.is_on(&node.instance));
        own.filter(|known| is_primary(known)).map(|known| known.id.clone()).next().unwrap()
    };
    let carries = cloud.carried(&node.instance).remove(&id).unwrap();
    (id, carries)
}

#[tokio::test(start_paused = true)]
async fn a_primary_interface_that_a_custom_network_retires_serves_no_more_pods() {
    for rests in [0, 30] {
        let cloud = Cloud::new(1, &[24, 24]);
        let ipam = r#"{ "prefixes": true, "warm": { "prefixes": 1 } }"#;
        let mut node = Node::start(&cloud, "m5.large", ipam).await.with_hints();
        node.add(0).await.unwrap();
        node.rest(1800).await;
        let custom = CustomNetwork { subnet: "subnet-2".to_owned(), groups: Vec::new() };
        node.handle.set_node(NodeFacts { custom: Some(custom), ..NodeFacts::default() });
        let described = cloud.inner().calls["DescribeNetworkInterfaces"];
        let ipam = r#"{ "prefixes": true, "warm": { "prefixes": 1 }, "customNetwork": { "enabled": true } }"#;
        node.redefine(ipam).await;
        node.rest(rests).await;
        let (id, carries) = primary(&cloud, &node);
        for pod in 1..4 {
            let address = node.add(pod).await.unwrap();
            let is_retired = carries.iter().any(|net| net.contains(&address));
            assert!(!is_retired, "{rests}: {address} is on the primary interface with {carries:?}");
        }
        node.rest(30).await;
        let drains = node.drains().await;
        let own = node.ranges().await.remove(&id).unwrap_or_default();
        assert!(own.iter().all(|net| drains.contains(net)), "{rests}: {own:?}, {drains:?}");
        if rests > 0 {
            let asked = cloud.inner().calls["DescribeNetworkInterfaces"] - described;
            assert!(asked <= 2, "{asked} describes: none is needed for it");
        }
        node.del(0).await;
        node.rest(300).await;
        assert_eq!(primary(&cloud, &node).1, BTreeSet::new(), "{rests}: it is given back");
        assert_eq!(cloud.verdict(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_becomes_somebody_elses_by_a_reload_serves_no_more_pods() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 36000 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await.with_hints();
    node.rest(10).await;
    let untagged = {
        let now = cloud.now();
        let mut inner = cloud.inner();
        let wanted =
            Creation { subnet: "subnet-1".to_owned(), ipv4: Wanted::Count(4), ..Creation::default() };
        let id = inner.state.create(&wanted, None, now).unwrap();
        let place = Place { instance: node.instance.clone(), device: 1, card: Some(0) };
        inner.state.attach(&id, &place, now).unwrap();
        inner.state.note(now);
        id
    };
    node.rest(3600).await;
    let carries = cloud.carried(&node.instance)[&untagged].clone();
    assert_eq!(node.ranges().await.get(&untagged), Some(&carries), "it is managed here");
    let refuses =
        r#"{ "warm": { "addresses": 1 }, "idleSeconds": 36000, "interfaces": { "manageUntagged": false } }"#;
    node.redefine(refuses).await;
    node.rest(20).await;
    for pod in 0..4 {
        let address = node.add(pod).await.unwrap();
        assert!(!carries.iter().any(|net| net.contains(&address)), "{address} is somebody else's");
    }
    node.rest(300).await;
    assert_eq!(node.ranges().await.get(&untagged), None, "what nobody uses is left to its owner");
    assert_eq!(cloud.carried(&node.instance)[&untagged], carries, "nothing is taken from it");
}

#[tokio::test(start_paused = true)]
async fn a_family_that_is_turned_on_again_has_what_is_on_the_interfaces() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1, "minimum": 5 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await.with_hints();
    node.rest(1800).await;
    let before = node.ranges().await;
    let changes = cloud.inner().changes.len();
    node.redefine(r#"{ "ipv4": false, "ipv6": true, "fixedSupply": true }"#).await;
    node.rest(30).await;
    assert_eq!(node.ranges().await.len(), 0);
    node.redefine(ipam).await;
    node.rest(30).await;
    assert_eq!(node.ranges().await, before);
    assert_eq!(cloud.inner().changes.len(), changes, "nothing is assigned or released for it");
}
