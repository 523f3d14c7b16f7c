//! Delegates that do not work: what operators see of them, who waits for them, and when they are tried again.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tenure_engine::ports::DelegateFailure;
use tenure_engine::{Gc, Phase};
use tenure_types::{ConditionName, Error, ErrorCode, NetworkConfig, PolicyName};

use crate::claiming::{agent, ask, leasing};
use crate::delegating::{Foreign, start};
use crate::support::{Bench, fits, network, poll_once};

impl Bench {
    /// The failing delegates that operators see.
    fn failing(&self) -> Vec<String> {
        let all = self.engine.conditions().list().into_iter();
        all.filter(|condition| condition.name == ConditionName::DelegateFailing)
            .map(|condition| condition.message)
            .collect()
    }

    /// Whether there is something to tidy up.
    fn is_untidy(&self) -> bool {
        poll_once(pin!(self.engine.untidy())).is_ready()
    }

    /// A bench with the owners 1 to `owners`, of which nothing is untidy.
    async fn with_owners(owners: u32) -> (Self, Arc<Foreign>) {
        let (bench, foreign) = start().await;
        for number in 1..=owners {
            bench.engine.add(bench.delegated(number), fits).await.unwrap();
        }
        bench.tick(1);
        assert_eq!(bench.engine.tidy().await, 0);
        let _ = bench.is_untidy();
        assert!(!bench.is_untidy());
        (bench, foreign)
    }

    async fn dels(&self, number: u32) {
        self.engine.del(self.del(number)).await.unwrap();
    }
}

#[tokio::test]
async fn a_delegate_counts_as_failing_until_it_says_that_it_works() {
    let (bench, foreign) = start().await;
    foreign.fails(true);
    let refused = bench.engine.add(bench.delegated(1), fits).await.unwrap_err();
    assert_eq!((refused.code, bench.engine.delegations().len()), (ErrorCode::DelegateUnavailable, 0));
    bench.engine.tidy().await;
    assert_eq!(bench.failing(), ["it does not run"]);
    foreign.fails(false);
    bench.engine.tidy().await;
    assert_eq!(bench.failing(), [""; 0]);
}

#[tokio::test]
async fn a_delegate_that_refuses_works() {
    let (bench, foreign) = Bench::with_owners(1).await;
    foreign.refuses(true);
    foreign.hold(3);
    let mut refused = pin!(bench.engine.add(bench.delegated(2), fits));
    while !foreign.is_held() {
        assert!(poll_once(refused.as_mut()).is_pending());
    }
    // While the refused ADD is being undone, others are given back without waiting for the next look.
    foreign.hold(9);
    bench.dels(1).await;
    assert!(foreign.given().is_empty());
}

#[tokio::test]
async fn a_delegate_that_says_try_again_later_is_not_asked_again_at_once() {
    let failure = |code, is_refusal| DelegateFailure {
        error: Error::new(code, "not now"),
        may_have_run: true,
        is_refusal,
    };
    for failure in [failure(ErrorCode::DelegateUnavailable, true), failure(ErrorCode::DelegateFailed, false)]
    {
        let (bench, foreign) = start().await;
        foreign.next_fails(failure.clone());
        assert_eq!(bench.engine.add(bench.delegated(1), fits).await.unwrap_err(), failure.error);
        assert_eq!(foreign.calls(), ["ADD c1", "DEL c1"]);
        assert!(bench.engine.delegations().is_empty());
    }
}

#[tokio::test]
async fn status_says_whether_a_networks_delegate_works() {
    let (bench, foreign) = start().await;
    let policy = PolicyName::new("delegate.foreign").unwrap();
    let config = Arc::new(NetworkConfig { ipam: "{}".into(), attributes: Vec::new() });
    let status = async || bench.engine.status(&network(), &policy, &config).await;
    status().await.unwrap();
    assert_eq!(foreign.calls(), ["STATUS net"]);
    foreign.fails(true);
    let unavailable = status().await.unwrap_err();
    assert_eq!(unavailable.code, ErrorCode::Unavailable);
    assert!(unavailable.cause.contains("it does not run"), "{unavailable}");
}

#[tokio::test]
async fn nobody_waits_for_a_delegate_that_is_known_to_fail() {
    let (bench, foreign) = Bench::with_owners(2).await;
    foreign.fails(true);
    bench.dels(1).await;
    assert!(bench.is_untidy());
    bench.dels(2).await;
    assert!(bench.is_untidy(), "it is left to those who tidy up");
    let pending: Vec<_> = bench.engine.delegations().into_iter().map(|pending| pending.attempts).collect();
    assert_eq!(pending, [1, 0], "the second was not tried");
}

/// Regression: one that knows no STATUS counted as working as soon as nobody called it.
#[tokio::test]
async fn a_delegate_that_knows_no_status_works_once_it_has_taken_back_what_it_has_to() {
    let (bench, foreign) = Bench::with_owners(3).await;
    foreign.is_old();
    foreign.fails(true);
    bench.dels(1).await;
    bench.engine.tidy().await;
    bench.dels(2).await;
    let pending = || -> Vec<u32> { bench.engine.delegations().iter().map(|of| of.attempts).collect() };
    assert_eq!(pending(), [1, 0, 0], "the second was not tried, and the third is in use");
    foreign.fails(false);
    bench.tick(60_000);
    bench.engine.tidy().await;
    assert_eq!((bench.failing(), pending()), (vec![], vec![0]));
    // Where it has nothing to take back, that it runs will do.
    foreign.fails(true);
    bench.engine.add(bench.delegated(4), fits).await.unwrap_err();
    bench.engine.tidy().await;
    assert_eq!(bench.failing(), [""; 0]);
}

/// Regression: the condition stayed until the daemon's restart.
#[tokio::test]
async fn a_delegate_that_is_configured_no_more_fails_no_more() {
    let (bench, foreign) = start().await;
    foreign.fails(true);
    bench.engine.add(bench.delegated(1), fits).await.unwrap_err();
    bench.engine.tidy().await;
    assert_eq!(bench.failing(), ["it does not run"]);
    foreign.is_configured(false);
    bench.engine.tidy().await;
    assert_eq!(bench.failing(), [""; 0]);
}

#[tokio::test]
async fn what_cannot_be_given_back_is_tried_ever_more_rarely_up_to_once_a_minute() {
    let (bench, foreign) = Bench::with_owners(1).await;
    foreign.fails(true);
    bench.dels(1).await;
    let attempts = || bench.engine.delegations()[0].attempts;
    for (tried, pause) in (1..).zip([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
        bench.tick(pause - 1);
        assert_eq!((bench.engine.tidy().await, attempts()), (0, tried), "too early");
        bench.tick(1);
        assert_eq!((bench.engine.tidy().await, attempts()), (1, tried + 1));
    }
    // Once it was given back, the next one of its owner begins afresh.
    foreign.fails(false);
    bench.tick(60_000);
    assert_eq!(bench.engine.tidy().await, 0);
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    assert_eq!((attempts(), bench.engine.delegations()[0].why.as_str()), (0, ""));
}

#[tokio::test]
async fn operators_see_how_far_each_delegation_is() {
    let (bench, foreign) = Bench::with_owners(2).await;
    foreign.fails(true);
    bench.dels(2).await;
    foreign.fails(false);
    foreign.hold(0);
    let mut asks = pin!(bench.engine.add(bench.delegated(3), fits));
    assert!(poll_once(asks.as_mut()).is_pending());
    let phases: Vec<_> = bench.engine.delegations().iter().map(|pending| pending.phase.name()).collect();
    assert_eq!(phases, [Phase::InUse, Phase::Leaving, Phase::Open].map(Phase::name));
    assert_eq!(phases, ["in-use", "leaving", "open"]);
}

#[tokio::test]
async fn what_a_delegate_is_being_asked_for_does_not_count_as_waiting_to_be_given_back() {
    let (bench, foreign) = Bench::with_owners(1).await;
    foreign.fails(true);
    bench.dels(1).await;
    foreign.fails(false);
    bench.tick(1_000);
    bench.journal.hold();
    let mut tidy = pin!(bench.engine.tidy());
    assert!(poll_once(tidy.as_mut()).is_pending());
    let mut asks = pin!(bench.engine.add(bench.delegated(2), fits));
    assert!(poll_once(asks.as_mut()).is_pending());
    assert_eq!(bench.engine.delegations().len(), 2);
    bench.journal.resolve(&Ok(()));
    assert_eq!(tidy.await, 0);
    assert_eq!(bench.failing(), [""; 0]);
    asks.await.unwrap();
}

#[tokio::test]
async fn what_a_gc_or_an_operator_frees_is_given_back_at_the_next_look() {
    let (bench, foreign) = Bench::with_owners(2).await;
    let held = bench.engine.book(&network()).await.unwrap().allocations().next().unwrap().clone();
    assert!(bench.engine.reap(&held, tenure_types::End::Operator, "nobody is there").await.unwrap());
    assert!(bench.is_untidy() && !bench.is_untidy());
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    assert_eq!(bench.engine.gc(gc).await.unwrap(), 1);
    assert!(bench.is_untidy());
    assert_eq!(bench.engine.tidy().await, 0);
    assert!(foreign.given().is_empty());
}

/// Regression: one agent's call that waited for its delegate kept everybody else's claims from lapsing, and what had ended from
/// being given back.
#[tokio::test]
async fn a_delegate_that_hangs_keeps_neither_leases_nor_what_others_have_to_give_back() {
    let (bench, foreign) = Bench::with_owners(1).await;
    bench.claimed("busy", &leasing("old", 60)).await.unwrap();
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    foreign.hold(0);
    let (busy, wanted) = (agent("busy"), ask("new"));
    let mut stuck = pin!(bench.engine.ensure(&busy, &wanted));
    assert!(poll_once(stuck.as_mut()).is_pending());
    foreign.fails(true);
    bench.dels(1).await;
    foreign.fails(false);
    bench.tick(60_000);
    // Nor does one whose DEL hangs.
    foreign.hold(3);
    let mut lapse = pin!(bench.engine.lapse());
    assert_eq!(poll_once(lapse.as_mut()), Poll::Ready(Ok(2)));
    foreign.hold(9);
    let mut tidy = pin!(bench.engine.tidy());
    assert_eq!(poll_once(tidy.as_mut()), Poll::Ready(1), "what the busy agent had, later");
    assert_eq!(foreign.given().len(), 1);
}

/// Regression: the answer was an internal error.
#[tokio::test]
async fn what_a_delegate_gives_after_its_network_was_removed_is_given_back_and_requested_again() {
    let (bench, foreign) = start().await;
    let gate = foreign.waits();
    let mut add = pin!(bench.engine.add(bench.delegated(1), fits));
    while foreign.calls().is_empty() {
        assert!(poll_once(add.as_mut()).is_pending());
    }
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    gate.notify_one();
    assert_eq!(add.await.unwrap_err().code, ErrorCode::NotReady);
    assert_eq!((foreign.given(), bench.engine.delegations().len()), (Vec::new(), 0));
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
}
