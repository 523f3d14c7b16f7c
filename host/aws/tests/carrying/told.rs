//! What the configuration says of the node: how many pods it runs, whether it takes more, and whether it is about to end.

use tenure_aws::situation::NodeFacts;

use crate::cloud::Cloud;
use crate::node::Node;

fn total(shape: &[usize]) -> usize {
    shape.iter().sum()
}

#[tokio::test(start_paused = true)]
async fn a_type_for_more_than_110_pods_is_used_as_a_whole_unless_somebody_says_how_many() {
    let cloud = Cloud::new(1, &[22]);
    let ipam = r#"{ "warm": { "addresses": 1, "minimum": 200 } }"#;
    let mut node = Node::start(&cloud, "m5.4xlarge", ipam).await;
    node.rest(300).await;
    assert_eq!(total(&node.shape().await), 200);
    node.settles("at the end").await;
    let mut node = Node::start(&cloud, "m5.4xlarge", ipam).await;
    node.handle.set_node(NodeFacts { most_pods: Some(58), ..NodeFacts::default() });
    node.rest(300).await;
    assert_eq!(total(&node.shape().await), 58);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_not_schedulable_serves_who_waits_and_keeps_nothing_warm() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 4 }, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    node.handle.set_node(NodeFacts { schedulable: Some(false), ..NodeFacts::default() });
    node.rest(120).await;
    let idle = total(&node.shape().await);
    assert!(idle <= 1, "{idle} addresses");
    for pod in 0..3 {
        node.add(pod).await.unwrap();
    }
    node.rest(120).await;
    assert_eq!(total(&node.shape().await), 3);
    node.handle.set_node(NodeFacts { schedulable: Some(true), ..NodeFacts::default() });
    node.rest(60).await;
    assert_eq!(total(&node.shape().await), 7);
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_of_ec2_for_an_instance_that_is_about_to_end() {
    let cloud = Cloud::new(1, &[24]);
    let ipam = r#"{ "warm": { "addresses": 2 }, "idleSeconds": 10 }"#;
    let mut node = Node::start(&cloud, "m5.large", ipam).await;
    node.add_all(0..12).await;
    node.rest(120).await;
    node.handle.set_node(NodeFacts { terminating: true, ..NodeFacts::default() });
    let before = cloud.inner().changes.len();
    for pod in 0..12 {
        node.del(pod).await;
    }
    node.rest(600).await;
    assert_eq!(cloud.inner().changes.len(), before, "{:?}", cloud.inner().changes.get(before..));
}
