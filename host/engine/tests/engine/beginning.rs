//! Effects that the host begins without a plan: the check and the record are one, and each refusal says what it is.

use std::pin::pin;
use std::task::Poll;

use tenure_engine::{Agent, Ask, Begun, EffectTarget, Refusal};
use tenure_ledger::{ClaimKey, IntentOrigin, Wish};
use tenure_types::{AgentName, ClaimName, ConditionName, Effect, EffectKind, Error, ErrorCode};

use crate::planning::{Cloud, added, id, pairs, withdrawn};
use crate::support::{Bench, fits, network, poll_once};

fn give_back(target: (&str, &str)) -> Effect {
    Effect { kind: EffectKind::GiveBackBlock, pool: 0, attributes: pairs(&[target]) }
}

fn named(label: &'static str, name: &str) -> EffectTarget {
    EffectTarget { label, name: name.to_owned() }
}

impl Bench {
    async fn begins(&self, cloud: &Cloud, effects: Vec<Effect>) -> Begun {
        self.engine.begin_effects(&network(), effects, cloud).await.unwrap()
    }

    /// Why the host must not give a target back.
    async fn refused(&self, cloud: &Cloud, target: (&str, &str)) -> Refusal {
        let mut begun = self.begins(cloud, vec![give_back(target)]).await;
        assert_eq!(begun.intents, []);
        begun.refused.remove(0).1
    }
}

#[tokio::test]
async fn what_the_host_gives_back_hands_out_nothing_from_the_check_on() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.journal.hold();
    {
        let mut begins = pin!(bench.begins(&cloud, vec![give_back(("block", "b1"))]));
        assert!(poll_once(begins.as_mut()).is_pending(), "it has not begun before it is durable");
        let mut taken = pin!(bench.takes(1));
        let refused = poll_once(taken.as_mut());
        assert!(
            matches!(&refused, Poll::Ready(Err(error)) if error.code == ErrorCode::NotYet),
            "nobody gets what is about to be taken: {refused:?}"
        );
        bench.journal.resolve(&Ok(()));
        let begun = begins.await;
        assert_eq!((begun.intents.len(), begun.refused), (1, vec![]));
        assert_eq!(begun.intents[0].origin, IntentOrigin::Host);
    }
    assert_eq!(bench.staged(2), ["drains b1", "intended i-1"]);
    let again = bench.resumed();
    assert_eq!(again.engine.intents()[0].origin, IntentOrigin::Host);
    assert_eq!(again.takes(1).await.unwrap_err().code, ErrorCode::NotYet, "nor after a restart");
    again.engine.effect_undone(&id("i-1"), "the mark is gone").await.unwrap();
    assert_eq!(again.takes(1).await.unwrap(), "10.0.1.16");
}

/// An ADD whose policy is thinking has the network's turn: the host's check comes after it, and sees what it took.
#[tokio::test]
async fn the_check_waits_for_an_add_under_way() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.journal.hold();
    let mut takes = pin!(bench.takes(1));
    assert!(poll_once(takes.as_mut()).is_pending());
    let refused = bench.refused(&cloud, ("block", "b1")).await;
    assert_eq!(refused, Refusal::InUse { addresses: 1, target: named("block", "b1") });
    bench.journal.resolve(&Ok(()));
    assert_eq!(takes.await.unwrap(), "10.0.1.16");
}

#[tokio::test]
async fn each_refusal_says_what_it_is() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.engine.supply(&network(), &[added("b2", 2)]).await.unwrap();
    let b1 = ("block", "b1");
    bench.takes(1).await.unwrap();
    let target = named("block", "b1");
    assert_eq!(bench.refused(&cloud, b1).await, Refusal::InUse { addresses: 1, target: target.clone() });

    let router = Agent::new(AgentName::new("router").unwrap(), 4);
    let key =
        ClaimKey { agent: router.name.clone(), network: network(), name: ClaimName::new("vip").unwrap() };
    let ask = Ask { network: network(), name: key.name.clone(), wish: Wish::default() };
    bench.engine.ensure(&router, &ask).await.unwrap();
    assert_eq!(
        bench.refused(&cloud, b1).await,
        Refusal::InUse { addresses: 1, target: target.clone() },
        "the pod comes first, which may end soon"
    );
    bench.engine.del(bench.del(1)).await.unwrap();
    let claimed = bench.refused(&cloud, b1).await;
    assert_eq!(claimed, Refusal::Claimed { addresses: 1, target });
    assert_eq!(claimed.to_string(), "1 addresses of block b1 are promised to agents' claims");
    assert!(matches!(bench.refused(&cloud, ("range", "b1")).await, Refusal::Claimed { .. }));

    assert!(bench.engine.release_claim(&key).await.unwrap());
    let cooling = bench.refused(&cloud, b1).await;
    assert_eq!(cooling, Refusal::Cooling { addresses: 2, target: named("range", "b1") });
    bench.tick(31_000);

    let unknown = bench.refused(&cloud, ("range", "b9")).await;
    assert_eq!(unknown, Refusal::Unknown("there is no range b9".to_owned()));
    assert!(matches!(bench.refused(&cloud, ("colour", "red")).await, Refusal::Unknown(_)));

    // Of several effects, each is judged by itself, and after what the others take.
    let begun = bench.begins(&cloud, vec![give_back(b1), give_back(b1), give_back(("block", "b2"))]).await;
    assert_eq!(begun.intents.len(), 2, "{:?}", begun.refused);
    let kind = Some(EffectKind::GiveBackBlock);
    let under_way = Refusal::UnderWay { by: id("i-1"), kind, target: named("block", "b1") };
    assert_eq!(begun.refused[0].1, under_way);
    bench.engine.effect_done(&id("i-1"), &[withdrawn("b1")]).await.unwrap();
}

#[tokio::test]
async fn what_is_not_the_hosts_to_give_is_refused() {
    let (bench, cloud) = (Bench::new(8, 8), Cloud::default());
    assert!(bench.engine.add(bench.add_with(0, "blocks", "10.9.0.0/29"), fits).await.is_err());
    assert!(matches!(bench.refused(&cloud, ("block", "own")).await, Refusal::Configured { .. }));
    let strict = Cloud { refuses: Some(EffectKind::GiveBackBlock), ..Cloud::default() };
    bench.engine.supply(&network(), &[added("b1", 1)]).await.unwrap();
    let refused = bench.refused(&strict, ("block", "b1")).await;
    assert_eq!(refused, Refusal::Outside("not on this node".to_owned()));
    let other = Effect { pool: 7, ..give_back(("block", "b1")) };
    let begun = bench.begins(&cloud, vec![other]).await;
    assert_eq!(begun.refused[0].1.to_string(), "there is no such pool");
}

#[tokio::test]
async fn what_cannot_be_recorded_has_not_begun() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.journal.set_health(Some(Error::new(ErrorCode::CheckpointFailed, "no space left")));
    let begun = bench.engine.begin_effects(&network(), vec![give_back(("block", "b1"))], &cloud).await;
    assert_eq!((begun.unwrap_err().code, bench.open().len()), (ErrorCode::CheckpointFailed, 0));
    bench.journal.set_health(None);
    assert_eq!(bench.takes(1).await.unwrap(), "10.0.1.16");
    let elsewhere = tenure_types::NetworkName::new("elsewhere").unwrap();
    let unknown = bench.engine.begin_effects(&elsewhere, Vec::new(), &cloud).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnknownNetwork);
}

/// An owner that the ledger has forgotten would lose its address.
#[tokio::test]
async fn nothing_is_given_back_while_the_ledger_may_not_know_every_owner() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.engine.conditions().set(ConditionName::StateLost, "", "the state was lost");
    let begun = bench.engine.begin_effects(&network(), vec![give_back(("block", "b1"))], &cloud).await;
    assert!(begun.is_err());
    assert_eq!(bench.open().len(), 0);
}
