//! Requests that wait for supply: who hears of them, and what wakes them.

use std::pin::pin;
use std::task::Poll;

use tenure_engine::{Add, Attending, Outlook};
use tenure_types::{Attributes, EffectKind, ErrorCode, NetworkName, Object, agreed};

use crate::planning::{Cloud, added, pairs};
use crate::support::{Bench, fits, network, poll_once};

/// Whether a request has begun to wait since this was asked last.
fn is_demanded(attending: &mut Attending) -> bool {
    poll_once(pin!(attending.demanded())).is_ready()
}

fn other() -> NetworkName {
    NetworkName::new("other").unwrap()
}

impl Bench {
    /// An ADD on another network that the same policy serves.
    fn elsewhere(&self) -> Add {
        let mut add = self.add_with(1, "blocks", "");
        add.request.network = other();
        add
    }
}

#[tokio::test]
async fn whoever_carries_effects_out_hears_of_a_request_when_it_begins_to_wait() {
    let bench = Bench::new(8, 8);
    let mut attending = bench.engine.attend(&network());
    assert!(!is_demanded(&mut attending), "nobody waits");
    let (mut one, mut two) = (pin!(bench.takes(1)), pin!(bench.takes(2)));
    assert!(poll_once(one.as_mut()).is_pending());
    assert!(is_demanded(&mut attending) && !is_demanded(&mut attending), "told once");
    assert!(poll_once(two.as_mut()).is_pending());
    assert!(is_demanded(&mut attending));
}

/// A request that is woken in vain begins to wait again, and the next plan is made for it at once.
#[tokio::test]
async fn a_plan_that_brings_nothing_wakes_nobody() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let mut attending = bench.engine.attend(&network());
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending() && is_demanded(&mut attending));
    let later = Outlook { attributes: pairs(&[("later", "true")]), ..Outlook::default() };
    let refused = bench.engine.plan_effects(&network(), later, &cloud).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotYet);
    assert!(poll_once(waits.as_mut()).is_pending() && !is_demanded(&mut attending));
    assert_eq!(bench.plan(&cloud, &[]).await.intents.len(), 1);
    assert!(poll_once(waits.as_mut()).is_pending() && !is_demanded(&mut attending));
}

/// Regression: a pool for claims had the demand of the pods that waited for the others, and a plan for it that could not begin hid that they are full.
#[tokio::test]
async fn a_pool_that_is_kept_for_names_has_no_demand() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let _attending = bench.engine.attend(&network());
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending());
    let name = "blocks".to_owned();
    let kept = Object { kind: agreed::KEPT_POOL.to_owned(), name, attributes: Attributes::default() };
    bench.engine.objects_seen(&[kept], &[]).await.unwrap();
    assert_eq!((bench.waiting(), bench.plan(&cloud, &[]).await.intents.len()), (1, 0));
}

#[tokio::test]
async fn a_plan_for_one_network_wakes_nobody_who_waits_for_another() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let mut attending = bench.engine.attend(&other());
    let mut waits = pin!(bench.engine.add(bench.elsewhere(), fits));
    assert!(poll_once(waits.as_mut()).is_pending() && is_demanded(&mut attending));
    bench.plan(&cloud, &[]).await;
    assert!(poll_once(waits.as_mut()).is_pending() && !is_demanded(&mut attending));
}

/// Of the executors of a node, the one that attends to another network can do nothing for it: nobody would end the wait but its caller's
/// deadline.
#[tokio::test]
async fn nobody_waits_for_a_network_whose_effects_nobody_carries_out() {
    let bench = Bench::new(8, 8);
    let mut attending = bench.engine.attend(&other());
    let refused = poll_once(pin!(bench.takes(1)));
    assert!(
        matches!(&refused, Poll::Ready(Err(error)) if error.code == ErrorCode::NotYet),
        "refused at once: {refused:?}"
    );
    assert!(!is_demanded(&mut attending), "it is nothing to the other network's executor");
    let _own = bench.engine.attend(&network());
    assert!(poll_once(pin!(bench.takes(1))).is_pending());
    assert!(!is_demanded(&mut attending));
}

#[tokio::test]
async fn what_one_network_gets_wakes_nobody_who_waits_for_another() {
    let bench = Bench::with_block().await;
    let (_own, mut attending) = (bench.engine.attend(&network()), bench.engine.attend(&other()));
    let mut waits = pin!(bench.engine.add(bench.elsewhere(), fits));
    assert!(poll_once(waits.as_mut()).is_pending() && is_demanded(&mut attending));
    bench.engine.supply(&network(), &[added("b2", 2)]).await.unwrap();
    assert!(poll_once(waits.as_mut()).is_pending() && !is_demanded(&mut attending), "it did not begin again");
    drop(bench.engine.attend(&network()));
    assert!(poll_once(waits.as_mut()).is_pending() && !is_demanded(&mut attending));
    bench.engine.supply(&other(), &[added("b1", 3)]).await.unwrap();
    assert!(waits.await.is_ok());
}

#[tokio::test]
async fn requests_wait_as_long_as_one_of_two_executors_attends() {
    let bench = Bench::new(8, 8);
    let mut first = bench.engine.attend(&network());
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending() && is_demanded(&mut first));
    let mut second = bench.engine.attend(&network());
    assert!(is_demanded(&mut second), "it hears of those that wait already");
    drop(first);
    assert!(poll_once(waits.as_mut()).is_pending() && is_demanded(&mut second), "it looked again");
    drop(second);
    assert_eq!(waits.await.unwrap_err().code, ErrorCode::NotYet);
}

#[tokio::test]
async fn a_request_that_waits_looks_again_when_an_address_has_cooled_down() {
    let bench = Bench::with_block().await;
    let mut attending = bench.engine.attend(&network());
    let number = (1..).find(|number| poll_once(pin!(bench.takes(*number))).is_pending()).unwrap();
    let mut waits = pin!(bench.takes(number));
    assert!(poll_once(waits.as_mut()).is_pending() && is_demanded(&mut attending));
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.engine.wake_for_room(&network()).await;
    assert!(poll_once(waits.as_mut()).is_pending() && !is_demanded(&mut attending), "it cools down");
    bench.engine.supply_lacks(&network(), "no block is left");
    let why = bench.engine.why_waiting(&network()).unwrap().cause;
    assert!(why.ends_with("; no block is left"), "{why}");
    bench.tick(30_000);
    assert!(poll_once(waits.as_mut()).is_pending(), "nobody has said so");
    bench.engine.wake_for_room(&network()).await;
    assert!(poll_once(waits.as_mut()).is_ready());
}

/// A refusal names the plan's shortage, as the conditions do, and does not suggest another range.
#[tokio::test]
async fn a_refusal_says_what_the_last_plan_lacked_where_somebody_attends() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let attending = bench.engine.attend(&network());
    let full = Outlook { attributes: pairs(&[("full", "true")]), ..Outlook::default() };
    {
        let mut waits = pin!(bench.takes(1));
        assert!(poll_once(waits.as_mut()).is_pending());
        bench.engine.plan_effects(&network(), full, &cloud).await.unwrap_err();
    }
    let refused = bench.takes(2).await.unwrap_err();
    assert_eq!(refused.cause, "no block has a free address; there are no more blocks");
    assert_eq!(refused.next_step(), ErrorCode::SUPPLY_STEP);
    bench.engine.look_at_networks();
    let told = bench.engine.whats_wrong().remove(0).message;
    assert!(told.ends_with("; there are no more blocks"), "{told}");

    // Whoever would wait if somebody attended is not refused for good.
    bench.plan(&cloud, &[]).await;
    drop(attending);
    let later = bench.takes(3).await.unwrap_err();
    assert_eq!((later.code, later.cause.as_str()), (ErrorCode::NotYet, "no block has a free address"));
    assert_ne!(later.next_step(), ErrorCode::SUPPLY_STEP);
    bench.define("plain", "10.7.0.0/30").await;
    let plain = async |number: u32| {
        let mut add = bench.add_with(number, "first", "10.7.0.0/30");
        add.request.network = NetworkName::new("plain").unwrap();
        bench.engine.add(add, fits).await
    };
    plain(1).await.unwrap();
    let refused = plain(2).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PoolExhausted);
    assert_ne!(refused.next_step(), ErrorCode::SUPPLY_STEP, "nobody supplies this network");
}

#[tokio::test]
async fn a_request_that_waits_is_told_why_nothing_of_a_plan_may_begin() {
    let (bench, cloud) =
        (Bench::new(8, 8), Cloud { refuses: Some(EffectKind::RequestBlock), ..Cloud::default() });
    let _attending = bench.engine.attend(&network());
    assert_eq!(bench.engine.demands(), [], "nobody waits");
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending());
    let (planned, demands) = (bench.plan(&cloud, &[]).await, bench.engine.demands());
    assert_eq!((planned.intents.len(), planned.refused.len(), demands.len()), (0, 1, 1));
    let why = bench.engine.why_waiting(&network()).unwrap().cause;
    assert!(why.ends_with(" is refused: not on this node"), "{why}");
}
