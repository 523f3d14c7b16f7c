//! Targets that depend on the time, and on what the node is. The clock starts at 01:00 on the 1st of January 1970, a Thursday.

use tenure_aws::situation::NodeFacts;

use crate::cloud::Cloud;
use crate::node::Node;

const TARGETS: &str = r#"{ "warm": { "addresses": 1 }, "idleSeconds": 10, "targets": [
    { "instanceTypes": ["t3.*"], "labels": { "pool": "batch" }, "warm": { "addresses": 4 } },
    { "days": ["thu"], "time": "02:00-03:00", "warm": { "addresses": 5 } }
] }"#;

#[tokio::test(start_paused = true)]
async fn a_pool_grows_when_a_window_begins_and_shrinks_after_its_end() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", TARGETS).await;
    node.rest(3590).await;
    assert_eq!(node.shape().await, [1], "at 01:59:50");
    node.rest(70).await;
    assert_eq!(node.shape().await, [2, 3], "at 02:01");
    node.rest(58 * 60).await;
    assert_eq!(node.shape().await, [2, 3], "at 02:59");
    node.rest(180).await;
    assert_eq!(node.shape().await, [1], "at 03:02");
    node.rest(23 * 3600).await;
    assert_eq!(node.shape().await, [1], "on Friday");
    node.settles("at the end").await;
}

#[tokio::test(start_paused = true)]
async fn a_new_label_brings_its_targets_and_is_explained() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", TARGETS).await;
    let of = |pool: &str| NodeFacts {
        instance_type: Some("t3.small".to_owned()),
        labels: [("pool".to_owned(), pool.to_owned())].into(),
        ..NodeFacts::default()
    };
    node.handle.set_node(of("web"));
    node.rest(60).await;
    assert_eq!(node.shape().await, [1]);
    node.handle.set_node(of("batch"));
    node.rest(10).await;
    assert_eq!(node.shape().await, [1, 3]);

    node.stop().await;
    node.handle.set_node(of("web"));
    node.rest(60).await;
    let explained = node.handle.explain().await.unwrap();
    assert_eq!(explained.outlook.attributes.get("time.utc"), Some("1970-01-01T01:02:10Z"));
    let label = explained.outlook.objects.iter().find(|object| object.kind == "label").unwrap();
    assert_eq!((label.name.as_str(), label.attributes.get("value")), ("pool", Some("web")));
    let release = &explained.planned.unwrap().intents[0];
    let reason = release.attributes.get("reason").unwrap();
    assert!(reason.ends_with("4 free of 4, 0 held, 0 cooling; targets: no entry"), "{reason}");
    node.handle.set_node(of("batch"));
    node.add(0).await.unwrap();
    let grown = node.handle.explain().await.unwrap().planned.unwrap();
    let reason = grown.intents[0].attributes.get("reason").unwrap();
    assert!(reason.ends_with("; targets: entry 1 (instance type t3.*, label pool=batch)"), "{reason}");
}
