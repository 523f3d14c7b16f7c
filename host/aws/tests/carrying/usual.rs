//! What happens on an ordinary day.

use std::collections::BTreeSet;

use crate::cloud::Cloud;
use crate::node::Node;

/// One free address, given back after 10 s.
pub(crate) const ONE: &str = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 10 }"#;

#[tokio::test(start_paused = true)]
async fn a_node_grows_with_its_pods_and_shrinks_again() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(10).await;
    assert_eq!(node.shape().await, [1], "one warm address");
    node.add_all(0..5).await;
    node.rest(20).await;
    assert_eq!(node.shape().await, [3, 3]);
    let attachments = cloud.inner().state.interfaces().all().filter(|eni| eni.is_on(&node.instance)).count();
    assert_eq!(attachments, 2);
    for pod in 0..5 {
        node.del(pod).await;
    }
    node.rest(200).await;
    assert_eq!(node.shape().await, [1], "the primary interface keeps one");
    node.settles("at the end").await;
    let status = node.handle.status();
    assert_eq!((status.interfaces.len(), status.trouble), (1, None));
    let (primary, subnet) = (&status.interfaces[0], &status.subnets[0]);
    assert_eq!((primary.card, primary.device, &primary.subnet), (Some(0), Some(0), &subnet.id));
    let own = primary.address.unwrap();
    assert!(subnet.ranges.iter().any(|range| range.contains(&own)), "{own} is not in {subnet:?}");
    assert!(primary.carries.iter().all(|carried| !carried.net.contains(&own)), "{own} is no pod's");
    assert_eq!(primary.mac.as_ref().map(|mac| mac.split(':').count()), Some(6), "{primary:?}");
    assert!(status.ends.keys().all(|(_, outcome)| *outcome == "done"), "{:?}", status.ends);
}

#[tokio::test(start_paused = true)]
async fn an_interfaces_own_address_is_no_pods_though_an_assignment_names_it() {
    let cloud = Cloud::new(1, &[24]);
    cloud.inner().answers_all = true;
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(10).await;
    let own = node.handle.status().interfaces[0].address.unwrap();
    let ranges = node.ranges().await;
    assert!(ranges.values().flatten().all(|net| !net.contains(&own)), "{own} is in {ranges:?}");
    let pods = node.add_all(0..2).await;
    node.rest(10).await;
    assert!(!pods.contains(&own), "{own} is a pod's in {pods:?}");
    assert_eq!(node.shape().await, [3], "what had been there is not assigned twice");
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn one_plan_serves_all_that_wait() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    node.rest(10).await;
    node.add_all(0..20).await;
    node.rest(30).await;
    let applied = cloud.applied();
    let count = |action: &str| applied.iter().filter(|applied| *applied == action).count();
    assert!(count("AssignPrivateIpAddresses") <= 3, "{applied:?}");
    assert_eq!(count("CreateNetworkInterface"), 2, "{applied:?}");
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn prefixes_come_and_go() {
    let cloud = Cloud::new(1, &[22]);
    let ipam = r#"{ "prefixes": true, "warm": { "prefixes": 1 }, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await;
    node.add_all(0..60).await;
    node.rest(30).await;
    let ranges = node.ranges().await;
    assert!(ranges.values().flatten().all(|net| net.prefix_len() == 28), "{ranges:?}");
    for pod in 0..60 {
        node.del(pod).await;
    }
    node.rest(500).await;
    assert_eq!(node.shape().await, [1]);
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn what_others_attached_and_assigned_is_adopted() {
    let cloud = Cloud::new(1, &[24]);
    let instance = cloud.launch("t3.small");
    {
        use tenure_ec2_double::state::{Creation, Place, Time, Wanted};
        let mut inner = cloud.inner();
        let now = Time::from_millis(1000);
        let wanted =
            Creation { subnet: "subnet-1".to_owned(), ipv4: Wanted::Count(2), ..Creation::default() };
        let id = inner.state.create(&wanted, None, now).unwrap();
        let place = Place { instance: instance.clone(), device: 1, card: Some(0) };
        inner.state.attach(&id, &place, now).unwrap();
    }
    let ipam = r#"{ "warm": { "addresses": 2 }, "idleSeconds": 3600 }"#;
    let mut node = Node::of(&cloud, instance, crate::cloud::limits("t3.small"), ipam).await;
    // Another process may have taken them just before this one: they settle first.
    node.rest(75).await;
    assert_eq!(node.shape().await, [2], "nothing more is wanted");
    assert_eq!(cloud.applied(), [""; 0]);
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn an_interface_in_a_subnet_that_is_new_is_adopted_soon() {
    use tenure_ec2_double::state::{Creation, Place, Subnet, Wanted};
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 36000 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await.with_hints();
    node.rest(3600).await;
    let now = cloud.now();
    let added = {
        let mut inner = cloud.inner();
        let cidr = "10.0.8.0/24".parse().unwrap();
        inner.state.add_subnet(Subnet::new("subnet-9".to_owned(), "a".to_owned(), cidr, None));
        let ipv4 = Wanted::Count(2);
        let wanted = Creation { subnet: "subnet-9".to_owned(), ipv4, ..Creation::default() };
        inner.state.create(&wanted, None, now).unwrap()
    };
    node.rest(10).await;
    let place = Place { instance: node.instance.clone(), device: 1, card: Some(0) };
    cloud.inner().state.attach(&added, &place, now.after(10_000)).unwrap();
    node.rest(300).await;
    assert_eq!(node.ranges().await.get(&added).map(BTreeSet::len), Some(2));
    assert_eq!(cloud.inner().calls["DescribeSubnets"], 2);
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn two_nodes_share_an_account() {
    let cloud = Cloud::new(5, &[25]);
    let mut one = Node::start(&cloud, "t3.small", ONE).await;
    let mut two = Node::start(&cloud, "t3.small", ONE).await;
    for round in 0..4 {
        for pod in 0..6 {
            one.add(round * 10 + pod).await.unwrap();
            two.add(round * 10 + pod).await.unwrap();
        }
        for pod in 0..6 {
            one.del(round * 10 + pod).await;
            two.del(round * 10 + pod).await;
        }
        one.rest(90).await;
    }
    one.settles("one").await;
    two.settles("two").await;
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_somebody_else_takes_off_is_deleted_soon() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 1, "minimum": 5 }, "idleSeconds": 3600 }"#;
    let mut node = Node::start(&cloud, "t3.small", ipam).await.with_hints();
    node.rest(3600).await;
    let (id, attachment) = {
        let inner = cloud.inner();
        let mut on = inner.state.interfaces().all().filter(|known| known.is_on(&node.instance));
        let second =
            on.find(|known| known.attachment.as_ref().is_some_and(|place| place.device > 0)).unwrap();
        (second.id.clone(), second.attachment.clone().unwrap().id)
    };
    let now = cloud.now();
    cloud.inner().state.detach(&attachment, now).unwrap();
    node.rest(1500).await;
    assert!(cloud.inner().state.interfaces().get(&id).is_none(), "it would cost addresses of the subnet");
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn what_this_node_leaked_is_deleted_and_nothing_else() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    let (mine, other) = {
        use tenure_ec2_double::state::{Creation, Time};
        let mut inner = cloud.inner();
        let mut create = |instance: &str| {
            let tags = [("node.k8s.amazonaws.com/instance_id".to_owned(), instance.to_owned())].into();
            let wanted = Creation { subnet: "subnet-1".to_owned(), tags, ..Creation::default() };
            inner.state.create(&wanted, None, Time::START).unwrap()
        };
        (create(&node.instance), create("i-other"))
    };
    node.rest(290).await;
    assert!(cloud.inner().state.interfaces().get(&mine).is_some(), "it is young");
    // Nothing says that there may be one: it is found by a look at rest, and by the next one.
    node.rest(3 * 3600).await;
    assert!(cloud.inner().state.interfaces().get(&mine).is_none());
    assert!(cloud.inner().state.interfaces().get(&other).is_some());
}
