//! Blocks come when pods wait, and go when the server wants them back.

use std::sync::Arc;

use tenure_engine::Refusal;
use tenure_types::{Attributes, Effect, EffectKind};

use crate::node::Node;

#[tokio::test(start_paused = true)]
async fn blocks_come_for_the_pods_that_wait_and_go_once_they_are_unused() {
    let mut node = Node::start();
    // Together they are one demand.
    let mut pods = tokio::task::JoinSet::new();
    for pod in 0..6 {
        let (engine, add) = (Arc::clone(&node.engine), node.request(pod));
        pods.spawn(async move { engine.add(add, |_| Ok(())).await.map(|grant| grant.addresses[0].ip()) });
    }
    node.rest(1).await;
    let mut served = 0;
    while let Some(pod) = pods.join_next().await {
        // The first ADDs may have come before the executor attended.
        served += usize::from(pod.unwrap().is_ok());
    }
    for pod in 0..6 {
        node.add(pod).await;
    }
    assert!(served > 0, "requests wait, and are served");
    assert_eq!(node.settles("six pods").await.len(), 2, "four addresses each");
    node.server.leases().wanted = Some("b1".to_owned());
    node.rest(60).await;
    let refused = node.handle.progress().plan.unwrap().refused;
    assert!(refused.len() == 1 && refused[0].contains("have owners"), "{refused:?}");
    for pod in 0..6 {
        node.del(pod).await;
    }
    assert_eq!(node.settles("no pods").await.into_iter().collect::<Vec<_>>(), ["b2"]);
    let ends = node.handle.progress().ends;
    assert_eq!(ends.get(&("request-block", "done")), Some(&2));
    assert_eq!(ends.get(&("give-back-block", "done")), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_told_and_at_rest_nothing_is() {
    let mut node = Node::start();
    node.rest(90).await;
    let mut changes = node.handle.changes();
    node.rest(25).await;
    assert!(!changes.has_changed().unwrap(), "nothing happens between two looks");
    node.add(0).await;
    assert!(changes.has_changed().unwrap(), "a lease came");
    changes.mark_unchanged();
    node.rest(60).await;
    assert!(changes.has_changed().unwrap(), "the outside was looked at");
}

/// As a wing that answers a handshake does: the answer says why not, and what has begun is carried out at once.
#[tokio::test(start_paused = true)]
async fn the_host_gives_back_what_is_unused_without_a_plan() {
    let mut node = Node::start();
    node.add(0).await;
    let attributes = Attributes::new([("block", "b1")]).unwrap();
    let give_back = Effect { kind: EffectKind::GiveBackBlock, pool: 0, attributes };
    let begun = node.handle.begin(vec![give_back.clone()]).await.unwrap();
    assert!(matches!(begun.refused[0].1, Refusal::InUse { addresses: 1, .. }), "{begun:?}");
    node.del(0).await;
    node.rest(1).await;
    let begun = node.handle.begin(vec![give_back.clone()]).await.unwrap();
    assert!(matches!(begun.refused[0].1, Refusal::Cooling { .. }), "{begun:?}");
    node.rest(60).await;
    let begun = node.handle.begin(vec![give_back]).await.unwrap();
    assert_eq!((begun.intents.len(), begun.refused.len()), (1, 0));
    assert_eq!(node.settles("given back").await.len(), 0);
    assert_eq!(node.server.leases().calls, ["lease", "give back"]);
}
