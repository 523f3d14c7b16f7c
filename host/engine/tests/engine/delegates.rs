//! Networks with a delegate: nothing is given twice, and nothing leaks on either side, no matter what fails or crashes when.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_engine::{Gc, Phase};
use tenure_types::{ConditionName, ContainerId, Error, ErrorCode, InterfaceName};

use crate::claiming::{agent, ask, leasing};
use crate::delegating::{Foreign, start};
use crate::support::{Bench, fits, network, poll_once};

#[tokio::test]
async fn what_a_delegate_gives_is_the_ledgers() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    let granted = engine.add(bench.delegated(1), fits).await.unwrap();
    assert_eq!(granted.addresses[0].address.to_string(), "10.7.0.2/16");
    assert_eq!(granted.addresses[0].gateway(), "10.7.0.1".parse().ok());
    // A repeat is answered from the ledger.
    assert_eq!(engine.add(bench.delegated(1), fits).await.unwrap(), granted);
    assert_eq!(foreign.calls(), ["ADD c1"]);
    engine.check(&network(), &crate::support::owner(1)).await.unwrap();
    assert_eq!(foreign.calls().last().unwrap(), "CHECK c1");
    let listed = engine.delegations();
    assert!(listed.len() == 1 && listed[0].phase == Phase::InUse);
    bench.tick(1);
    engine.del(bench.del(1)).await.unwrap();
    assert!(foreign.given().is_empty() && engine.delegations().is_empty());
    // Its range has gone with it, and it may be given again at once.
    let book = engine.book(&network()).await.unwrap();
    assert_eq!(book.ranges(0).count() + book.ranges(1).count(), 0);
    foreign.next("10.7.0.2");
    bench.tick(1);
    engine.add(bench.delegated(2), fits).await.unwrap();
}

#[tokio::test]
async fn an_address_that_is_given_twice_is_refused_and_given_back() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    engine.add(bench.delegated(1), fits).await.unwrap();
    foreign.next("10.7.0.2");
    let refused = engine.add(bench.delegated(2), fits).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DelegateRejected);
    assert!(refused.cause.contains("10.7.0.2, which somebody else has"), "{refused}");
    assert_eq!(foreign.given(), ["c1"], "the second was given back, and only that");
    let told = |name| engine.conditions().list().iter().any(|condition| condition.name == name);
    assert!(told(ConditionName::DelegateRejected));
    engine.add(bench.delegated(2), fits).await.unwrap();
    assert!(!told(ConditionName::DelegateRejected) && foreign.given() == ["c1", "c2"]);
    // So is its own gateway, and a caller that cannot use the answer.
    foreign.next("10.7.0.1");
    let refused = engine.add(bench.delegated(3), fits).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DelegateRejected);
    let unfit = |_: &[_]| Err(Error::new(ErrorCode::IncompatibleVersion, "no"));
    assert_eq!(engine.add(bench.delegated(3), unfit).await.unwrap_err().code, ErrorCode::IncompatibleVersion);
    assert_eq!((foreign.given().len(), engine.delegations().len()), (2, 2));
}

/// Regression: only an accepted answer ended the condition, and there was none any more.
#[tokio::test]
async fn a_refused_answer_is_over_once_the_network_has_no_delegate() {
    let (bench, foreign) = start().await;
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    foreign.next("10.7.0.2");
    bench.engine.add(bench.delegated(2), fits).await.unwrap_err();
    let is_told =
        || bench.engine.whats_wrong().iter().any(|wrong| wrong.name == ConditionName::DelegateRejected);
    assert!(is_told());
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    assert!(!is_told());
}

#[tokio::test]
async fn a_delegate_that_refuses_is_asked_again_after_a_del() {
    let (bench, foreign) = start().await;
    foreign.knows("c1");
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    assert_eq!(foreign.calls(), ["ADD c1", "DEL c1", "ADD c1"]);
    foreign.refuses(true);
    let refused = bench.engine.add(bench.delegated(2), fits).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DelegateFailed);
    assert!(bench.engine.delegations().len() == 1 && foreign.given() == ["c1"]);
}

#[tokio::test]
async fn after_a_crash_at_any_point_nothing_is_left_on_either_side() {
    // Before it gives, after it has given, and after the ledger has it but nobody was answered.
    for stage in 0..3 {
        let (bench, foreign) = start().await;
        let engine = Arc::clone(&bench.engine);
        foreign.hold(stage);
        let mut add = Box::pin(engine.add(bench.delegated(1), fits));
        while !foreign.is_held() && stage < 2 {
            assert!(poll_once(add.as_mut()).is_pending());
        }
        if stage == 2 {
            add.as_mut().await.unwrap();
        }
        assert_eq!(foreign.given().len(), usize::from(stage > 0));
        let again = bench.delegated_after_a_restart(&foreign, false);
        drop(add);
        foreign.hold(9);
        assert_eq!(again.engine.delegations().len(), 1, "stage {stage}");
        assert_eq!(again.engine.tidy().await, 0);
        let left = usize::from(stage == 2);
        assert_eq!((foreign.given().len(), again.engine.delegations().len()), (left, left), "stage {stage}");
        // A boot ends the pod, and the delegate is told.
        let booted = again.delegated_after_a_restart(&foreign, true);
        assert_eq!(booted.engine.tidy().await, 0);
        assert_eq!((foreign.given().len(), booted.engine.delegations().len()), (0, 0), "stage {stage}");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_nothing_behind() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    foreign.hold(1);
    let mut add = Box::pin(engine.add(bench.delegated(1), fits));
    while !foreign.is_held() {
        assert!(poll_once(add.as_mut()).is_pending());
    }
    // Neither another key of the network nor a tidying of others waits for it.
    foreign.hold(9);
    engine.add(bench.delegated(2), fits).await.unwrap();
    drop(add);
    engine.untidy().await;
    assert_eq!(engine.tidy().await, 0);
    assert_eq!(foreign.given(), ["c2"]);
}

#[tokio::test]
async fn what_a_delegate_cannot_take_back_is_tried_again_until_it_can() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    engine.add(bench.delegated(1), fits).await.unwrap();
    foreign.fails(true);
    bench.tick(1);
    // The runtime's DEL succeeds.
    engine.del(bench.del(1)).await.unwrap();
    assert_eq!(engine.book(&network()).await.unwrap().allocations().len(), 0);
    let pending = engine.delegations();
    assert!(pending.len() == 1 && pending[0].phase == Phase::Leaving && pending[0].attempts == 1);
    engine.tidy().await;
    assert_eq!(engine.delegations()[0].attempts, 1, "too early");
    bench.tick(1_000);
    assert_eq!(engine.tidy().await, 1);
    assert_eq!(engine.delegations()[0].attempts, 2);
    let condition = engine.conditions().list().into_iter().next().unwrap();
    assert_eq!(condition.name, ConditionName::DelegateFailing);
    assert!(condition.message.contains("1 of its allocations wait"), "{}", condition.message);
    // Nothing else is asked for the same key meanwhile.
    bench.tick(1);
    let refused = engine.add(bench.delegated(1), fits).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DelegateUnavailable);
    let again = bench.delegated_after_a_restart(&foreign, true);
    foreign.fails(false);
    assert_eq!(again.engine.tidy().await, 0);
    assert!(foreign.given().is_empty() && again.engine.delegations().is_empty());
}

#[tokio::test]
async fn a_gc_handed_on_keeps_claims_and_what_is_on_its_way() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    engine.add(bench.delegated(1), fits).await.unwrap();
    let claimed = engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    let again = engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    assert_eq!(claimed, again);
    bench.tick(1);
    let valid = HashSet::from([(ContainerId::new("c9").unwrap(), InterfaceName::new("eth0").unwrap())]);
    engine.gc(Gc { network: network(), valid, requested_at: bench.now() }).await.unwrap();
    let told = foreign.calls().into_iter().find(|call| call.starts_with("GC")).unwrap();
    let kept: Vec<&str> = told.split(' ').skip(1).collect();
    assert!(kept.len() == 3 && kept.contains(&"c9") && kept.contains(&"c1"), "{told}");
    assert!(kept.iter().any(|kept| kept.starts_with("tenure-claim-cilium-net-router-")), "{told}");
    assert_eq!(engine.tidy().await, 0);
    assert_eq!(foreign.given().len(), 1, "the claim is left");
    assert!(engine.release_claim(&crate::claiming::key("cilium", "router")).await.unwrap());
    assert!(foreign.given().is_empty());
}

#[tokio::test]
async fn a_gc_waits_for_no_delegate_that_hangs_and_spares_what_it_is_asked_for() {
    let (bench, foreign) = start().await;
    foreign.hold(0);
    let mut add = Box::pin(bench.engine.add(bench.delegated(1), fits));
    while !foreign.is_held() {
        assert!(poll_once(add.as_mut()).is_pending());
    }
    bench.tick(1);
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    bench.engine.gc(gc).await.unwrap();
    assert_eq!(foreign.calls(), ["ADD c1", "GC c1"]);
}

#[tokio::test]
async fn a_delegate_takes_nothing_back_that_a_crash_would_bring_back_to_its_owner() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    engine.add(bench.delegated(1), fits).await.unwrap();
    bench.tick(1);
    bench.journal.hold();
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    let mut gc = Box::pin(engine.gc(gc));
    assert!(poll_once(gc.as_mut()).is_pending());
    assert!(engine.book(&network()).await.unwrap().allocations().len() == 0, "freed, and not durably");
    let mut tidy = Box::pin(engine.tidy());
    assert!(poll_once(tidy.as_mut()).is_pending());
    assert_eq!(foreign.given(), ["c1"]);
    bench.journal.resolve(&Ok(()));
    gc.await.unwrap();
    assert_eq!(tidy.await, 0);
    assert!(foreign.given().is_empty());
}

/// Regression: the lease counted from when the declaration was durable, and lapsed right after an answer that said that the claim
/// is there.
#[tokio::test]
async fn a_lease_counts_from_the_answer_to_a_declaration_that_had_to_wait_for_a_delegate() {
    let (bench, foreign) = start().await;
    let (engine, cilium) = (&bench.engine, agent("cilium"));
    let kept = [leasing("router", 40)];
    engine.declare(&cilium, &[leasing("router", 40), ask("health")], true).await.unwrap();
    bench.journal.hold();
    let mut declare = Box::pin(engine.declare(&cilium, &kept, true));
    assert!(poll_once(declare.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    bench.journal.hold();
    assert!(
        poll_once(declare.as_mut()).is_pending(),
        "durable; the delegate has not yet taken the other one back"
    );
    bench.tick(41_000);
    bench.journal.resolve(&Ok(()));
    assert_eq!(crate::claiming::names(&declare.await.unwrap().kept), ["router"]);
    assert_eq!(engine.lapse().await, Ok(0));
    bench.tick(41_000);
    assert_eq!(engine.lapse().await, Ok(1));
    assert_eq!(engine.tidy().await, 0);
    assert!(foreign.given().is_empty());
}

/// Regression: the new network counts its allocations from one, and the owner's next allocation, which another policy proposed,
/// was taken for the one that the delegate had given in the network of that name before.
#[tokio::test]
async fn what_a_delegate_gave_in_a_removed_network_is_not_taken_for_the_next_allocation_of_its_owner() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    engine.add(bench.delegated(1), fits).await.unwrap();
    foreign.fails(true);
    bench.tick(1);
    engine.del(bench.del(1)).await.unwrap();
    assert!(engine.remove_network(&network(), true).await.unwrap());
    bench.tick(1);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2", "from a policy of the new network");
    let phases = |bench: &Bench| -> Vec<Phase> {
        bench.engine.delegations().iter().map(|pending| pending.phase).collect()
    };
    assert_eq!(phases(&bench), [Phase::Open]);
    let again = bench.delegated_after_a_restart(&foreign, false);
    assert_eq!(phases(&again), [Phase::Open]);
    foreign.fails(false);
    assert_eq!(again.engine.tidy().await, 0);
    assert!(foreign.given().is_empty() && again.engine.delegations().is_empty());
    assert_eq!(again.engine.book(&network()).await.unwrap().allocations().len(), 1);
}

#[tokio::test]
async fn a_node_that_lacks_the_delegate_refuses_and_forgets_nothing() {
    let (bench, foreign) = start().await;
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    let again = bench.delegated_after_a_restart(&foreign, false);
    foreign.is_configured(false);
    let refused = again.engine.add(again.delegated(2), fits).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DelegateUnavailable);
    again.tick(1);
    again.engine.del(again.del(1)).await.unwrap();
    assert_eq!((again.engine.tidy().await, foreign.given().len()), (0, 1));
    foreign.is_configured(true);
    again.tick(60_000);
    assert_eq!(again.engine.tidy().await, 0);
    assert!(foreign.given().is_empty());
    drop::<Arc<Foreign>>(foreign);
}

#[tokio::test]
async fn an_agent_that_watches_hears_of_its_own_addresses_only() {
    let (bench, _) = start().await;
    let engine = &bench.engine;
    engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    let name = agent("cilium").name;
    let seen = engine.changes(&name, None).await.unwrap();
    assert_eq!(seen.claims.len(), 1);
    engine.add(bench.delegated(1), fits).await.unwrap();
    bench.tick(1);
    engine.del(bench.del(1)).await.unwrap();
    let after = engine.changes(&name, Some(&seen.version)).await.unwrap();
    assert!(after.claims.is_empty() && !after.is_all, "{after:?}");
    engine.ensure(&agent("cilium"), &ask("health")).await.unwrap();
    let after = engine.changes(&name, Some(&seen.version)).await.unwrap();
    assert_eq!(crate::claiming::names(&after.claims), ["health"]);
}
