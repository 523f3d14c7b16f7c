//! What a plan would do, asked by an operator.

use tenure_aws::situation::NodeFacts;
use tenure_ec2_double::{Fault, Kind};
use tenure_types::ErrorCode;

use crate::cloud::Cloud;
use crate::node::Node;
use crate::usual::ONE;

#[tokio::test(start_paused = true)]
async fn an_explained_plan_has_its_arithmetic_and_begins_nothing() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(10).await;
    node.stop().await;
    let steady = node.handle.explain().await.unwrap();
    assert_eq!(steady.planned.unwrap().intents, [], "one warm address is there");
    node.add(0).await.unwrap();

    let before = cloud.inner().changes.len();
    let explained = node.handle.explain().await.unwrap();
    let planned = explained.planned.unwrap();
    let [intent] = planned.intents.as_slice() else { panic!("{planned:?}") };
    let reason = intent.attributes.get("reason").unwrap();
    assert_eq!((intent.kind.name(), intent.attributes.get("count")), ("assign-address", Some("1")));
    assert!(reason.contains("0 free of 1, 1 held"), "{reason}");
    let [pool] = explained.pools.as_slice() else { panic!("{:?}", explained.pools) };
    assert_eq!((pool.usage.total, pool.usage.held, pool.usage.cooling, pool.waiting), (1, 1, 0, 0));
    assert_eq!(explained.outlook.attributes.get("interfaces.slots"), Some("3"));
    assert_eq!((node.engine.intents(), cloud.inner().changes.len()), (Vec::new(), before));
}

#[tokio::test(start_paused = true)]
async fn that_nothing_fits_is_explained_in_the_policys_words() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    for pod in 0..9 {
        node.add(pod).await.unwrap();
    }
    node.rest(60).await;
    let full = node.handle.explain().await.unwrap().planned.unwrap_err();
    assert_eq!(full.code, ErrorCode::PoolExhausted);
    assert!(full.to_string().contains("pool ipv4 is full"), "{full}");
}

#[tokio::test(start_paused = true)]
async fn before_ec2_has_answered_there_is_nothing_to_explain() {
    let cloud = Cloud::new(1, &[24]);
    let (code, message) = ("InternalError".to_owned(), "oops".to_owned());
    cloud.fault(Fault::always("DescribeNetworkInterfaces", Kind::Code { code, message, status: 500 }));
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(10).await;
    let early = node.handle.explain().await.unwrap_err();
    assert_eq!(early.code, ErrorCode::NotReady);
    assert!(early.to_string().ends_with("DescribeNetworkInterfaces: InternalError: oops"), "{early}");
}

#[tokio::test(start_paused = true)]
async fn the_status_and_an_explained_plan_agree() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    for pod in 0..9 {
        node.add(pod).await.unwrap();
    }
    node.rest(120).await;
    // The wish changes without a change of the ledger, and the last plan is up to half a minute old.
    let facts = NodeFacts { most_pods: Some(5), ..NodeFacts::default() };
    let before = node.handle.status().plan.unwrap();
    assert!(before.words.is_some(), "{before:?}");
    node.handle.set_node(facts);
    node.handle.plan_now().await;
    let explained = node.handle.explain().await.unwrap().planned;
    let shown = node.handle.status().plan.unwrap();
    assert_eq!(shown.words, explained.as_ref().err().map(ToString::to_string), "{explained:?}");
    assert!(shown.at > before.at);
}
