//! Agents among themselves and beside pods: what one has under way, or makes fail, does not keep anybody else's.

use std::cell::Cell;
use std::collections::HashSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join;
use tenure_engine::{Agent, Ask};
use tenure_ledger::{Fact, LedgerFact};
use tenure_types::{ErrorCode, Owner};

use crate::claiming::{addresses, agent, ask, key, leasing, named, names};
use crate::support::{Bench, fits, poll_once};

fn on(network: &str, ask: Ask) -> Ask {
    Ask { network: named(network), ..ask }
}

/// An agent that may have many claims, and so many of them.
fn many(number: usize) -> (Agent, Vec<Ask>) {
    let asks = (0..number).map(|number| ask(&format!("c{number:03}"))).collect();
    (Agent { most: 1_000, ..agent("cilium") }, asks)
}

/// Polls what never ends beyond the places at which it lets others go first.
fn until_it_waits<F: Future>(mut future: Pin<&mut F>) {
    (0..10).for_each(|_| assert!(poll_once(future.as_mut()).is_pending()));
}

/// Regression: a declaration held the turns of all its networks while the policy of one of them worked, also without effect.
#[tokio::test]
async fn a_declaration_keeps_no_network_while_the_policy_of_another_works() {
    for apply in [true, false] {
        for stalled in ["a-stalled", "z-stalled"] {
            let bench = Bench::with_network().await;
            bench.define_with(stalled, "stalled", "10.1.0.0/29").await;
            let (cilium, asks) = (agent("cilium"), [ask("router"), on(stalled, ask("ingress"))]);
            let mut declaring = pin!(bench.engine.declare(&cilium, &asks, apply));
            until_it_waits(declaring.as_mut());
            let mut add = pin!(bench.address(1));
            assert!(poll_once(add.as_mut()).is_ready(), "{stalled}, {apply}");
        }
    }
}

/// Regression: as above, while a pod's request has the turn of one of them.
#[tokio::test]
async fn a_declaration_keeps_no_network_while_it_waits_for_another() {
    for stalled in ["a-stalled", "z-stalled"] {
        let bench = Bench::with_network().await;
        bench.define_with(stalled, "stalled", "10.1.0.0/29").await;
        let mut stuck = bench.add_with(7, "stalled", "10.1.0.0/29");
        stuck.request.network = named(stalled);
        let mut stuck = Box::pin(bench.engine.add(stuck, fits));
        assert!(poll_once(stuck.as_mut()).is_pending());
        let (cilium, asks) = (agent("cilium"), [ask("router"), on(stalled, ask("ingress"))]);
        let mut declaring = pin!(bench.engine.declare(&cilium, &asks, true));
        for number in [1, 2] {
            until_it_waits(declaring.as_mut());
            let mut add = pin!(bench.address(number));
            assert!(poll_once(add.as_mut()).is_ready(), "{stalled}");
        }
    }
}

/// Regression: a declaration of many claims had its network's turn from its first claim to its last.
#[tokio::test]
async fn pods_are_served_between_the_claims_of_a_large_declaration() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "yielding", "10.0.0.0/22").await;
    let (cilium, asks) = many(200);
    let add = bench.engine.add(bench.add_with(1, "yielding", "10.0.0.0/22"), fits);
    let (declared, added) = join(bench.engine.declare(&cilium, &asks, true), add).await;
    added.unwrap();
    let declared = declared.unwrap();
    assert_eq!(declared.created.len(), 200);
    let facts = bench.journal.facts();
    let owner = |fact: &Fact| match fact {
        Fact::Ledger(LedgerFact::Allocated(allocation)) => Some(allocation.owner.clone()),
        _ => None,
    };
    let owners: Vec<Owner> = facts.iter().filter_map(owner).collect();
    assert!(matches!(owners[0], Owner::Attachment { .. }), "the pod did not wait for the claims");
    let book = bench.engine.book(&named("net")).await.unwrap();
    let held: HashSet<_> = book.allocations().map(|held| held.addresses[0].ip()).collect();
    assert_eq!(held.len(), 201);
}

/// Regression: everything that a declaration did became durable in one turn of its network, however much it was.
#[tokio::test]
async fn pods_are_served_between_the_changes_of_a_large_declaration() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "yielding", "10.0.0.0/20").await;
    let (cilium, asks) = many(1_000);
    let others: Vec<_> = (0..1_000).map(|number| ask(&format!("d{number:03}"))).collect();
    let mut numbers = 0..;
    for asks in [&asks, &others] {
        let before = bench.journal.facts().len();
        let declared = Cell::new(false);
        let declaring = async {
            let answer = bench.engine.declare(&cilium, asks, true).await;
            declared.set(true);
            answer
        };
        let pods = async {
            while !declared.get() {
                let add = bench.add_with(numbers.next().unwrap(), "yielding", "10.0.0.0/20");
                bench.engine.add(add, fits).await.unwrap();
            }
        };
        let (answer, ()) = join(declaring, pods).await;
        assert_eq!(answer.unwrap().created.len(), 1_000);
        let mut changes: Vec<usize> = vec![0];
        for fact in &bench.journal.facts()[before..] {
            match fact {
                Fact::Claims(_) => *changes.last_mut().unwrap() += 1,
                Fact::Ledger(LedgerFact::Allocated(held)) if held.owner.claim().is_none() => changes.push(0),
                _ => {}
            }
        }
        let most = changes.iter().max().unwrap();
        assert!(*most <= 32, "a pod waited for {most} of {} changes", changes.iter().sum::<usize>());
    }
}

/// Regression: a policy that answers at once left the runtime's thread no moment in which it read what had arrived, until it had been
/// asked for the last of the claims.
#[tokio::test]
async fn a_large_declaration_lets_the_runtime_serve_others() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "first", "10.0.0.0/22").await;
    let (cilium, asks) = many(200);
    let served = Arc::new(AtomicUsize::new(0));
    let serving = tokio::spawn({
        let served = Arc::clone(&served);
        async move {
            loop {
                served.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    for apply in [false, true] {
        let before = served.load(Ordering::Relaxed);
        bench.engine.declare(&cilium, &asks, apply).await.unwrap();
        let between = served.load(Ordering::Relaxed) - before;
        assert!(between >= 200 / 32, "others ran {between} times beside 200 claims");
    }
    serving.abort();
}

#[tokio::test]
async fn a_large_declaration_that_is_refused_has_changed_nothing() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "first", "10.0.0.0/26").await;
    let (cilium, asks) = many(62);
    bench.engine.declare(&cilium, &asks[..40], true).await.unwrap();
    let before = (bench.journal.facts().len(), bench.engine.claims_of(None));
    for apply in [true, false] {
        let refused = bench.engine.declare(&cilium, &asks, apply).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PoolExhausted);
        assert!(!refused.cause.contains("in part"), "{refused:?}");
        assert_eq!((bench.journal.facts().len(), bench.engine.claims_of(None)), before);
    }
    // What ends makes room for what begins.
    let others: Vec<_> = (0..21).map(|number| ask(&format!("d{number:03}"))).collect();
    let foreseen = bench.engine.declare(&cilium, &others, false).await.unwrap();
    let declared = bench.engine.declare(&cilium, &others, true).await.unwrap();
    assert_eq!((declared.created.len(), declared.released.len()), (21, 40));
    let held =
        |declared: &tenure_engine::Declared| declared.created.iter().flat_map(addresses).collect::<Vec<_>>();
    assert_eq!(held(&foreseen), held(&declared));
}

/// The last free address goes to a pod after the declaration was decided on: it says that it is carried out in part, and the same one
/// completes it later.
#[tokio::test]
async fn a_large_declaration_that_fails_halfway_says_so_and_the_same_one_completes_it() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "yielding", "10.0.0.0/26").await;
    let (cilium, asks) = many(61);
    let add = bench.engine.add(bench.add_with(1, "yielding", "10.0.0.0/26"), fits);
    let mut declaring = pin!(bench.engine.declare(&cilium, &asks, true));
    // Until the policy is asked, on a copy of the book.
    (0..10).for_each(|_| assert!(poll_once(declaring.as_mut()).is_pending()));
    let (refused, added) = join(declaring, add).await;
    let (refused, _) = (refused.unwrap_err(), added.unwrap());
    assert_eq!(refused.code, ErrorCode::PoolExhausted);
    assert!(
        refused.cause.ends_with("; the declaration is carried out in part: declare again"),
        "{refused:?}"
    );
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.tick(30_000);
    let completed = bench.engine.declare(&cilium, &asks, true).await.unwrap();
    assert_eq!((completed.kept.len(), completed.created.len(), completed.released.len()), (60, 1, 0));
}

#[tokio::test]
async fn a_large_declaration_that_is_cut_off_leaves_whole_claims_and_the_same_one_completes_it() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "yielding", "10.0.0.0/22").await;
    let (cilium, asks) = many(200);
    {
        let mut declaring = pin!(bench.engine.declare(&cilium, &asks, true));
        let mut pods = pin!(async {
            for number in 0.. {
                bench.engine.add(bench.add_with(number, "yielding", "10.0.0.0/22"), fits).await.unwrap();
            }
        });
        while bench.engine.claims_of(None).is_empty() {
            assert!(poll_once(declaring.as_mut()).is_pending());
            assert!(poll_once(pods.as_mut()).is_pending());
        }
    }
    let bench = bench.restarted(false);
    let made = bench.engine.claims_of(None).len();
    let book = bench.engine.book(&named("net")).await.unwrap();
    assert_eq!(book.allocations().filter(|held| held.owner.claim().is_some()).count(), made);
    let completed = bench.engine.declare(&cilium, &asks, true).await.unwrap();
    assert_eq!((completed.kept.len(), completed.created.len()), (made, 200 - made));
    assert!((1..200).contains(&made), "{made}");
}

/// A policy that keeps a state answers one request after the other, each with the state that the one before has left.
#[tokio::test]
async fn a_large_declaration_leaves_a_policys_state_as_it_was_asked() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "counting", "10.0.0.0/22").await;
    let (cilium, asks) = many(100);
    let add = bench.engine.add(bench.add_with(1, "counting", "10.0.0.0/22"), fits);
    let (declared, added) = join(bench.engine.declare(&cilium, &asks, true), add).await;
    assert_eq!((declared.unwrap().created.len(), added.is_ok()), (100, true));
    let states = bench.engine.states_of(&named("net")).await.unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&states.now.bytes), "counting 101");
}

/// Regression: an agent on whose claims a policy failed had it refused to pods, too.
#[tokio::test]
async fn an_agent_benches_a_policy_for_itself_only() {
    let bench = Bench::new(8, 8);
    bench.define_with("net", "failing", "10.0.0.0/29").await;
    for _ in 0..5 {
        assert_eq!(bench.code(bench.claimed("cilium", &ask("router")).await), ErrorCode::PolicyFailed);
    }
    assert_eq!(bench.code(bench.claimed("cilium", &ask("router")).await), ErrorCode::PolicyBenched);
    assert_eq!(bench.code(bench.claimed("monitor", &ask("probe")).await), ErrorCode::PolicyFailed);
    let pod = bench.engine.add(bench.add_with(1, "failing", "10.0.0.0/29"), fits).await.unwrap_err();
    assert_eq!(pod.code, ErrorCode::PolicyFailed, "pods still have it asked");
    let wrong = bench.engine.whats_wrong();
    assert_eq!(wrong[0].subject, "net/failing/agents.cilium");
}

/// Regression: leases of other agents did not run out while the calls of one were under way or too many.
#[tokio::test]
async fn leases_run_out_whatever_another_agent_has_under_way() {
    let bench = Bench::with_network().await;
    bench.define_with("stalled", "stalled", "10.1.0.0/29").await;
    bench.claimed("busy", &leasing("probe", 60)).await.unwrap();
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    let (busy, asks) = (agent("busy"), on("stalled", ask("never")));
    let mut calls: Vec<_> = (0..64).map(|_| Box::pin(bench.engine.ensure(&busy, &asks))).collect();
    assert!(calls.iter_mut().all(|call| poll_once(call.as_mut()).is_pending()));
    bench.tick(60_000);
    let mut lapse = pin!(bench.engine.lapse());
    assert_eq!(poll_once(lapse.as_mut()), std::task::Poll::Ready(Ok(2)));
    assert_eq!(names(&bench.engine.claims_of(None)), [""; 0]);
}

/// Regression: as above, while a policy works on another network.
#[tokio::test]
async fn leases_run_out_on_each_network_by_itself() {
    let bench = Bench::with_network().await;
    bench.define("busy", "10.1.0.0/29").await;
    bench.claimed("cilium", &on("busy", leasing("ingress", 60))).await.unwrap();
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    let mut stuck = bench.add_with(7, "stalled", "10.1.0.0/29");
    stuck.request.network = named("busy");
    {
        let mut stuck = pin!(bench.engine.add(stuck, fits));
        bench.engine.activate(&activation("busy")).await.unwrap();
        assert!(poll_once(stuck.as_mut()).is_pending());
        bench.tick(60_000);
        let mut lapse = pin!(bench.engine.lapse());
        assert!(poll_once(lapse.as_mut()).is_pending());
        assert_eq!(names(&bench.engine.claims_of(None)), ["ingress"]);
    }
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

fn activation(network: &str) -> tenure_engine::Activate {
    tenure_engine::Activate {
        network: named(network),
        unchecked: true,
        ..crate::support::activate("stalled")
    }
}

#[tokio::test]
async fn a_claim_does_not_lapse_while_its_agent_asks_for_it() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.journal.hold();
    {
        let (cilium, asks) = (agent("cilium"), leasing("router", 60));
        let mut asking = pin!(bench.engine.ensure(&cilium, &asks));
        assert!(poll_once(asking.as_mut()).is_pending());
        bench.tick(60_000);
        let mut lapse = pin!(bench.engine.lapse());
        assert_eq!(poll_once(lapse.as_mut()), std::task::Poll::Ready(Ok(0)));
        bench.journal.resolve(&Ok(()));
        asking.await.unwrap();
    }
    bench.tick(59_999);
    assert_eq!(bench.engine.lapse().await, Ok(0), "it was answered a minute ago");
    bench.tick(1);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

/// Regression: an agent that had more claims than it may have could give none of them up by declaring fewer.
#[tokio::test]
async fn an_agent_that_has_more_claims_than_it_may_can_go_down() {
    let bench = Bench::with_network().await;
    let asks = ["a", "b", "c", "d"].map(ask);
    bench.engine.declare(&agent("cilium"), &asks, true).await.unwrap();
    let less = Agent { most: 2, ..agent("cilium") };
    bench.engine.ensure(&less, &asks[3]).await.unwrap();
    let kept = bench.engine.declare(&less, &asks, true).await.unwrap().kept;
    assert_eq!(kept.len(), 4);
    let fewer = bench.engine.declare(&less, &asks[..3], true).await.unwrap();
    assert_eq!((fewer.kept.len(), fewer.released.len()), (3, 1));
    let with_a_new_one = [ask("a"), ask("b"), ask("e")];
    for refused in [
        bench.engine.declare(&less, &with_a_new_one, true).await.map(drop),
        bench.engine.ensure(&less, &ask("e")).await.map(drop),
    ] {
        let cause = "agents.cilium.claims allows 2 claims, and this would be ";
        assert!(refused.unwrap_err().cause.starts_with(cause));
    }
    assert!(bench.engine.release_claim(&key("cilium", "a")).await.unwrap());
    assert_eq!(names(&bench.engine.claims_of(None)), ["b", "c"]);
}

/// Has a declaration carried out that waits for the disk, and returns how many facts had been staged until then, and in the end.
async fn staged_and_in_all(bench: &Bench, agent: &Agent, asks: &[Ask]) -> (usize, usize) {
    let before = bench.journal.facts().len();
    bench.journal.hold();
    let mut declaring = Box::pin(bench.engine.declare(agent, asks, true));
    for _ in 0..200 {
        assert!(poll_once(declaring.as_mut()).is_pending(), "it is answered once it is durable");
        tokio::task::yield_now().await;
    }
    let staged = bench.journal.facts().len() - before;
    bench.journal.resolve(&Ok(()));
    declaring.await.unwrap();
    assert_eq!(bench.engine.claims_of(None).len(), asks.len());
    (staged, bench.journal.facts().len() - before)
}

#[tokio::test]
async fn a_declaration_becomes_durable_as_a_whole_unless_it_makes_changes_or_ends_more_than_32_claims() {
    let lasting =
        |asks: &[Ask]| asks.iter().map(|ask| Ask { wish: leasing("any", 60).wish, ..ask.clone() }).collect();
    for (number, is_whole) in [(32, true), (33, false)] {
        let bench = Bench::new(8, 8);
        bench.define("net", "10.0.0.0/24").await;
        let (cilium, asks) = many(number);
        let changed: Vec<Ask> = lasting(&asks);
        for asks in [&asks[..], &changed, &[]] {
            let (staged, all) = staged_and_in_all(&bench, &cilium, asks).await;
            assert!(staged > 0 && all >= number, "{staged} of {all}");
            assert_eq!(staged == all, is_whole, "{staged} of {all} facts for {number} claims");
        }
    }
}
