//! From a request that finds nothing to the supply that serves it: demand, plan, intent, end.

use std::pin::pin;

use tenure_engine::{Outlook, Supply};
use tenure_types::{EffectKind, Error, ErrorCode, Object, RangeName};

use crate::delegating::without_network;
use crate::planning::{Cloud, added, id, pairs, pool, withdrawn};
use crate::support::{Bench, fits, network, poll_once};

#[tokio::test]
async fn an_add_that_finds_nothing_waits_for_the_plan_and_is_served_by_it() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let mut attending = bench.engine.attend(&network());
    let (mut one, mut two) = (pin!(bench.takes(1)), pin!(bench.takes(2)));
    assert!(poll_once(one.as_mut()).is_pending() && poll_once(two.as_mut()).is_pending());
    assert_eq!(bench.waiting(), 2);
    attending.demanded().await;
    let planned = bench.plan(&cloud, &[]).await;
    let asked: Vec<_> = planned.intents.iter().map(|intent| intent.attributes.get("addresses")).collect();
    assert_eq!((asked, planned.refused), (vec![Some("2")], vec![]), "the whole need in one effect");
    assert_eq!(bench.plan(&cloud, &[]).await.intents, [], "what is under way is not asked for again");
    assert!(poll_once(one.as_mut()).is_pending(), "nothing has come yet");
    bench.engine.effect_done(&id("i-1"), &[added("b1", 1)]).await.unwrap();
    assert_eq!(bench.staged(2), ["added b1", "done i-1"]);
    assert_eq!((one.await.unwrap(), two.await.unwrap()), ("10.0.1.16".to_owned(), "10.0.1.17".to_owned()));
    assert_eq!((bench.waiting(), bench.open().len()), (0, 0));
}

#[tokio::test]
async fn who_waits_is_refused_once_a_plan_finds_the_supply_full_and_waits_again_after_it() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let _attending = bench.engine.attend(&network());
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending());
    let full = || Outlook { attributes: pairs(&[("full", "true")]), ..Outlook::default() };
    let explained = bench.engine.explain_effects(&network(), full(), &cloud).await;
    assert_eq!(explained.unwrap_err().code, ErrorCode::PoolExhausted);
    assert!(poll_once(waits.as_mut()).is_pending(), "an explanation changes nothing");
    let refused = bench.engine.plan_effects(&network(), full(), &cloud).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::PoolExhausted);
    assert_eq!(waits.await.unwrap_err().code, ErrorCode::PoolExhausted);
    assert_eq!(bench.takes(2).await.unwrap_err().code, ErrorCode::PoolExhausted, "nobody waits in vain");
    bench.plan(&cloud, &[]).await;
    assert!(poll_once(pin!(bench.takes(3))).is_pending(), "there is more again");
}

#[tokio::test]
async fn why_a_request_waits_can_be_told_while_it_waits() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    let _attending = bench.engine.attend(&network());
    assert_eq!(bench.engine.why_waiting(&network()), None);
    {
        let mut waits = pin!(bench.takes(1));
        assert!(poll_once(waits.as_mut()).is_pending());
        let why = || bench.engine.why_waiting(&network()).map(|error| (error.code, error.cause)).unwrap();
        assert_eq!(why(), (ErrorCode::NotYet, "no block has a free address".to_owned()));
        let later = Outlook { attributes: pairs(&[("later", "true")]), ..Outlook::default() };
        assert_eq!(
            bench.engine.plan_effects(&network(), later, &cloud).await.unwrap_err().code,
            ErrorCode::NotYet
        );
        assert_eq!(why().1, "no block has a free address; throttled");
        bench.plan(&cloud, &[]).await;
        assert_eq!(why().1, "no block has a free address");
    }
    assert_eq!(bench.engine.why_waiting(&network()), None, "nobody waits any more");
}

#[tokio::test]
async fn nobody_waits_where_nobody_carries_effects_out() {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.takes(1).await.unwrap_err().code, ErrorCode::NotYet);
    let attending = bench.engine.attend(&network());
    let mut waits = pin!(bench.takes(1));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(attending);
    assert_eq!(waits.await.unwrap_err().code, ErrorCode::NotYet, "it is over");
    assert_eq!(bench.waiting(), 0);
}

#[tokio::test]
async fn who_waits_holds_nobody_up_and_goes_away_without_a_trace() {
    let bench = Bench::new(1, 8);
    let _attending = bench.engine.attend(&network());
    {
        let mut waits = pin!(bench.takes(1));
        assert!(poll_once(waits.as_mut()).is_pending());
        // The only place is free, and so are the turns of its attachment and of its network.
        assert!(bench.engine.load().in_flight == 0 && bench.engine.load().queued == 0);
        bench.tick(1);
        bench.engine.del(bench.del(1)).await.unwrap();
        bench.engine.supply(&network(), &[added("b1", 1)]).await.unwrap();
        assert_eq!(waits.await.unwrap_err().code, ErrorCode::Superseded, "the DEL ended it");
    }
    assert_eq!(bench.takes(2).await.unwrap(), "10.0.1.16");
    for number in 3..6 {
        bench.takes(number).await.unwrap();
    }
    {
        let mut gone = pin!(bench.takes(9));
        assert!(poll_once(gone.as_mut()).is_pending() && bench.waiting() == 1);
    }
    assert_eq!(bench.waiting(), 0);
}

#[tokio::test]
async fn an_address_that_has_cooled_down_serves_who_waits_once_somebody_plans() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let _attending = bench.engine.attend(&network());
    for number in 1..5 {
        bench.takes(number).await.unwrap();
    }
    bench.engine.del(bench.del(3)).await.unwrap();
    let mut waits = pin!(bench.takes(5));
    assert!(poll_once(waits.as_mut()).is_pending());
    bench.tick(31_000);
    bench.plan(&cloud, &[]).await;
    assert_eq!(waits.await.unwrap(), "10.0.1.18");
}

#[tokio::test]
async fn nothing_is_taken_while_anybody_has_it_or_it_cools() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.takes(1).await.unwrap();
    assert_eq!(bench.gives_back(&cloud, "b1").await.unwrap_err(), "1 addresses of block b1 have owners");
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.gives_back(&cloud, "b1").await.unwrap_err(), "1 addresses of range b1 are cooling");
    bench.tick(31_000);
    bench.gives_back(&cloud, "b1").await.unwrap();
    assert_eq!(bench.staged(2), ["drains b1", "intended i-1"]);
    assert_eq!(bench.takes(2).await.unwrap_err().code, ErrorCode::NotYet, "nobody gets what is taken");
    let twice = bench.gives_back(&cloud, "b1").await.unwrap_err();
    assert_eq!(twice, "give-back-block of b1 is under way as i-1");
    bench.engine.effect_done(&id("i-1"), &[withdrawn("b1")]).await.unwrap();
    assert_eq!(bench.staged(2), ["removed b1", "done i-1"]);
    assert_eq!(bench.engine.effect_done(&id("i-1"), &[]).await.unwrap_err().code, ErrorCode::Internal);
}

#[tokio::test]
async fn what_has_an_owner_is_not_taken_though_its_range_has_gone() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.takes(1).await.unwrap();
    bench.engine.supply(&network(), &[withdrawn("b1")]).await.unwrap();
    assert_eq!(bench.gives_back(&cloud, "b1").await.unwrap_err(), "1 addresses of block b1 have owners");
}

#[tokio::test]
async fn what_the_configuration_supplies_is_not_taken() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    assert!(bench.engine.add(bench.add_with(0, "blocks", "10.9.0.0/29"), fits).await.is_err());
    let refused = bench.gives_back(&cloud, "own").await.unwrap_err();
    assert_eq!(refused, "range 10.9.0.0-10.9.0.7 of pool own is the configuration's");
}

#[tokio::test]
async fn nobody_opens_what_is_being_taken() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.gives_back(&cloud, "b1").await.unwrap();
    let opened = Supply::Drain { pool: pool(), range: RangeName::new("b1").unwrap(), draining: false };
    let refused = bench.engine.supply(&network(), &[opened]).await.unwrap_err();
    assert!(refused.cause.contains("is being taken away by i-1"), "{refused}");
    bench.engine.supply(&network(), &[withdrawn("b1")]).await.unwrap();
    assert!(
        bench.engine.supply(&network(), &[added("b1", 1)]).await.is_err(),
        "nor under the same label again"
    );
    bench.engine.supply(&network(), &[added("b2", 2)]).await.unwrap();
    // What had been draining before is not opened by the end of an intent.
    let drains = Supply::Drain { pool: pool(), range: RangeName::new("b2").unwrap(), draining: true };
    bench.engine.supply(&network(), &[drains]).await.unwrap();
    bench.gives_back(&cloud, "b2").await.unwrap();
    bench.engine.effect_undone(&id("i-2"), "").await.unwrap();
    assert_eq!(bench.takes(1).await.unwrap_err().code, ErrorCode::NotYet);
}

#[tokio::test]
async fn what_was_not_taken_after_all_is_handed_out_again() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.gives_back(&cloud, "b1").await.unwrap();
    bench.engine.effect_undone(&id("i-1"), "the pool's controller did not answer").await.unwrap();
    assert_eq!(bench.staged(2), ["opens b1", "undone i-1: the pool's controller did not answer"]);
    assert_eq!(bench.takes(1).await.unwrap(), "10.0.1.16");
}

#[tokio::test]
async fn what_was_not_taken_after_all_ends_also_without_its_pool() {
    // The host supplies the pools of a delegate, too.
    for (policy, ipam) in [("first", "10.0.9.0/29"), ("delegate.foreign", "{}")] {
        let (bench, cloud) = (without_network().0.that_gets_a_block().await, Cloud::default());
        bench.gives_back(&cloud, "b1").await.unwrap();
        bench.defines("net", policy, ipam, true).await.unwrap();
        bench.engine.effect_undone(&id("i-1"), "its range has gone").await.unwrap();
        assert_eq!((&bench.staged(1)[0][..], bench.open().len()), ("undone i-1: its range has gone", 0));
    }
}

#[tokio::test]
async fn whoever_carries_effects_out_has_rules_of_its_own() {
    let bench = Bench::with_block().await;
    let cloud = Cloud { refuses: Some(EffectKind::GiveBackBlock), ..Cloud::default() };
    assert_eq!(bench.gives_back(&cloud, "b1").await.unwrap_err(), "not on this node");
    assert_eq!((bench.open().len(), bench.takes(1).await.unwrap()), (0, "10.0.1.16".to_owned()));
}

#[tokio::test]
async fn an_explanation_begins_nothing() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let before = bench.journal.facts().len();
    let outlook = Outlook { attributes: pairs(&[("give-back", "b1")]), ..Outlook::default() };
    let explained = bench.engine.explain_effects(&network(), outlook, &cloud).await.unwrap();
    assert_eq!((explained.intents.len(), bench.open().len()), (1, 0));
    assert_eq!(bench.journal.facts().len(), before);
    assert_eq!(bench.takes(1).await.unwrap(), "10.0.1.16");
}

#[tokio::test]
async fn an_intent_and_what_it_has_reached_outlive_a_restart() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.gives_back(&cloud, "b1").await.unwrap();
    bench.engine.effect_reached(&id("i-1"), pairs(&[("asked", "yes")])).await.unwrap();
    assert_eq!(
        bench.engine.effect_reached(&id("i-9"), pairs(&[])).await.unwrap_err().code,
        ErrorCode::Internal
    );
    let object = Object { kind: "block".into(), name: "b1".into(), attributes: pairs(&[("uid", "7")]) };
    let gone = ("block".to_owned(), "b0".to_owned());
    bench.engine.objects_seen(std::slice::from_ref(&object), std::slice::from_ref(&gone)).await.unwrap();
    let facts = bench.journal.facts().len();
    bench.engine.objects_seen(std::slice::from_ref(&object), &[gone]).await.unwrap();
    assert_eq!(bench.journal.facts().len(), facts, "it is known already");

    let again = bench.resumed();
    assert_eq!(again.open(), ["i-1 give-back-block"]);
    assert_eq!(again.engine.intents()[0].reached.get("asked"), Some("yes"));
    assert_eq!(again.engine.objects().iter().map(|object| &**object).collect::<Vec<_>>(), [&object]);
    assert_eq!(again.takes(1).await.unwrap_err().code, ErrorCode::NotYet, "its range still drains");
    again.engine.effect_undone(&id("i-1"), "it is not asked for any more").await.unwrap();
    assert_eq!(again.takes(1).await.unwrap(), "10.0.1.16");
}

#[tokio::test]
async fn a_network_with_effects_under_way_stays() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.gives_back(&cloud, "b1").await.unwrap();
    let kept = bench.engine.remove_network(&network(), true).await.unwrap_err();
    assert_eq!(kept.code, ErrorCode::NetworkInUse);
    bench.engine.effect_done(&id("i-1"), &[withdrawn("b1")]).await.unwrap();
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
}

#[tokio::test]
async fn what_is_not_durable_has_not_begun() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.journal.set_health(Some(Error::new(ErrorCode::CheckpointFailed, "no space left")));
    let outlook = Outlook { attributes: pairs(&[("give-back", "b1")]), ..Outlook::default() };
    let refused = bench.engine.plan_effects(&network(), outlook, &cloud).await.unwrap_err();
    assert_eq!((refused.code, bench.open().len()), (ErrorCode::CheckpointFailed, 0));
    bench.journal.set_health(None);
    bench.journal.hold();
    let mut begins = pin!(bench.gives_back(&cloud, "b1"));
    assert!(poll_once(begins.as_mut()).is_pending(), "nothing is done before the intent is durable");
    bench.journal.resolve(&Ok(()));
    assert_eq!(begins.await.unwrap().kind, EffectKind::GiveBackBlock);
}

#[tokio::test]
async fn one_sync_keeps_all_that_was_seen_at_once() {
    let bench = Bench::with_block().await;
    let object = |name: &str| Object { kind: "block".into(), name: name.into(), attributes: pairs(&[]) };
    bench.engine.objects_seen(&[object("b0")], &[]).await.unwrap();
    let before = bench.journal.facts().len();
    bench.journal.hold();
    let (seen, gone) = ([object("b1"), object("b2"), object("b3")], [("block".to_owned(), "b0".to_owned())]);
    let mut keeps = pin!(bench.engine.objects_seen(&seen, &gone));
    assert!(poll_once(keeps.as_mut()).is_pending());
    assert_eq!(bench.journal.facts().len() - before, 4, "all of it waits for the same sync");
    bench.journal.resolve(&Ok(()));
    keeps.await.unwrap();
}

#[tokio::test]
async fn a_policy_that_cannot_plan_goes_on_handing_out_what_is_free() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let plan = async || {
        let failing = Outlook { attributes: pairs(&[("fail", "true")]), ..Outlook::default() };
        bench.engine.plan_effects(&network(), failing, &cloud).await.unwrap_err().code
    };
    for _ in 0..5 {
        assert_eq!(plan().await, ErrorCode::PolicyFailed);
    }
    assert_eq!(plan().await, ErrorCode::PolicyBenched);
    assert_eq!(bench.takes(1).await.unwrap(), "10.0.1.16");
}
