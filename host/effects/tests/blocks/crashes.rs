//! A crash before and after each call: nothing is leased twice, and nothing leaks.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::node::Node;
use crate::server::Trip;

/// A life with every kind of call; returns them.
async fn life(words: &str, trip: Option<Trip>) -> Vec<&'static str> {
    let mut node = Node::start();
    node.server.leases().trip = trip;
    for pod in 0..5 {
        node.add(pod).await;
    }
    assert_eq!(node.settles(words).await.len(), 2, "{words}: blocks for five pods");
    for pod in 0..5 {
        node.del(pod).await;
    }
    for block in ["b1", "b2"] {
        node.server.leases().wanted = Some(block.to_owned());
        node.settles(words).await;
    }
    assert_eq!(node.settles(words).await.len(), 0, "{words}: at the end");
    assert_eq!(node.server.leases().count, 2, "{words}: a repeated call with the same token leases nothing");
    node.server.leases().calls.clone()
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_or_after_any_call_leaves_nothing_behind() {
    let usual = life("no crash", None).await;
    assert_eq!(usual, ["lease", "lease", "give back", "give back"]);
    for (number, call) in usual.iter().enumerate() {
        for trip in [Trip::Before(number), Trip::After(number)] {
            life(&format!("{trip:?} {call}"), Some(trip)).await;
        }
    }
}

/// Otherwise nothing would be carried out on its target until the daemon is restarted, and nobody would know.
#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_run_and_the_next_one_goes_on() {
    let mut node = Node::start();
    node.server.leases().trip = Some(Trip::Panic(0));
    node.rest(1).await;
    let (engine, add) = (Arc::clone(&node.engine), node.request(0));
    let waits = tokio::spawn(async move { engine.add(add, |_| Ok(())).await.map(drop) });
    let ended = timeout(Duration::from_secs(60), &mut node.task).await;
    let failure = ended.expect("the supervisor hears of it").unwrap();
    assert!(failure.to_string().contains("panic"), "{failure}");
    assert!(waits.await.unwrap().is_err(), "nobody waits for an executor that has gone");
    let open = node.engine.intents();
    assert_eq!(open.iter().map(|intent| intent.kind.name()).collect::<Vec<_>>(), ["request-block"]);
    node.restart();
    node.add(0).await;
    assert_eq!(node.settles("after the restart").await.len(), 1, "the same intent was carried on");
}
