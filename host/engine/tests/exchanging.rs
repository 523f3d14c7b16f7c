//! Requests while an exchange of their network's policy is not durable yet.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

#[cfg(test)]
#[expect(dead_code, reason = "other tests need the rest of it")]
mod claiming;
#[cfg(test)]
#[expect(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::pin::pin;

use claiming::ask;
use support::{Bench, activate, fits, network, owner, poll_once};
use tenure_engine::{Activate, Define};
use tenure_ledger::{Fact, LedgerFact};
use tenure_types::{Definer, Error, ErrorCode, PolicyName};

/// A network with one pod, served by `first`, whose journal holds its answers back from now on.
async fn bench() -> Bench {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.journal.hold();
    bench
}

impl Bench {
    fn serves(&self) -> String {
        self.engine.policies_of(&network()).unwrap().now.policy.name.to_string()
    }

    /// Who has an address in memory, by the policy that has decided it.
    async fn decided(&self) -> Vec<(String, String)> {
        let book = self.engine.book(&network()).await.unwrap();
        let held = book.allocations().map(|held| (held.owner.to_string(), held.policy.name.to_string()));
        held.collect()
    }

    fn staged(&self) -> usize {
        self.journal.facts().len()
    }

    /// Undoes what has been abandoned.
    fn undo(&mut self) {
        let mut abandoned = pin!(self.abandoned.take().unwrap().run());
        assert!(poll_once(abandoned.as_mut()).is_pending());
    }
}

fn no_sync() -> Result<(), Error> {
    Err(Error::new(ErrorCode::CheckpointFailed, "no sync"))
}

/// Without the suite, which gives way to other tasks.
fn exchange(policy: &str) -> Activate {
    Activate { unchecked: true, ..activate(policy) }
}

/// A definition by an operator, with other ranges.
fn define(bench: &Bench, ipam: &str) -> Define {
    Define {
        network: network(),
        policy: PolicyName::new("first").unwrap(),
        config: bench.add_with(9, "first", ipam).config,
        by: Definer::Operator,
        apply: true,
        change_ranges: true,
    }
}

fn pod(number: u32, policy: &str) -> (String, String) {
    (owner(number).to_string(), policy.to_owned())
}

#[tokio::test]
async fn an_add_does_not_wait_for_the_sync_of_an_exchange_and_is_answered_after_it() {
    let bench = bench().await;
    let wanted = exchange("last");
    let mut exchange = pin!(bench.engine.activate(&wanted));
    assert!(poll_once(exchange.as_mut()).is_pending());
    let mut add = pin!(bench.engine.add(bench.add(2), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    assert_eq!(bench.decided().await, [pod(1, "first"), pod(2, "last")], "both wait for the same sync");
    bench.journal.resolve_first(&Ok(()));
    assert_eq!(exchange.await.unwrap().after.name.as_str(), "last");
    assert!(poll_once(add.as_mut()).is_pending(), "its own fact is not durable");
    bench.journal.resolve(&Ok(()));
    assert_eq!(add.await.unwrap().addresses[0].ip().to_string(), "10.0.0.6");
    assert_eq!(bench.address(3).await.unwrap(), "10.0.0.5");
}

/// The journal is in order again by the time of the ADD's own sync, as when it reopens between the two.
#[tokio::test]
async fn an_add_behind_an_exchange_that_fails_fails_and_leaves_nothing() {
    for own in [Ok(()), no_sync()] {
        let mut bench = bench().await;
        let before = bench.engine.policies_of(&network()).unwrap();
        {
            let wanted = exchange("last");
            let mut exchange = pin!(bench.engine.activate(&wanted));
            assert!(poll_once(exchange.as_mut()).is_pending());
            let mut add = pin!(bench.engine.add(bench.add(2), fits));
            assert!(poll_once(add.as_mut()).is_pending());
            bench.journal.resolve_first(&no_sync());
            bench.journal.resolve(&own);
            assert_eq!(exchange.await.unwrap_err().code, ErrorCode::CheckpointFailed);
            assert_eq!(add.await.unwrap_err().code, ErrorCode::CheckpointFailed, "its own sync: {own:?}");
        }
        let after = bench.engine.policies_of(&network()).unwrap();
        assert_eq!((&after.now, &after.before), (&before.now, &before.before));
        bench.undo();
        assert_eq!(bench.decided().await, [pod(1, "first")]);
        assert_eq!(bench.address(2).await.unwrap(), "10.0.0.3", "by the policy before, and its key is free");
    }
}

/// An ADD that has its turn before the exchange is undone waits for that.
#[tokio::test]
async fn an_add_that_comes_when_an_exchange_has_failed_is_decided_by_the_policy_before() {
    let bench = bench().await;
    let wanted = exchange("last");
    let mut exchange = pin!(bench.engine.activate(&wanted));
    assert!(poll_once(exchange.as_mut()).is_pending());
    let mut behind = pin!(bench.engine.add(bench.add(2), fits));
    assert!(poll_once(behind.as_mut()).is_pending());
    bench.journal.resolve_first(&no_sync());
    bench.journal.resolve(&Ok(()));
    assert_eq!(behind.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    let mut late = pin!(bench.engine.add(bench.add(3), fits));
    assert!(poll_once(late.as_mut()).is_pending());
    assert_eq!(exchange.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    late.await.unwrap();
    assert_eq!(bench.decided().await.pop(), Some(pod(3, "first")));
}

#[tokio::test]
async fn an_exchange_waits_for_the_one_before_it_and_returns_to_what_that_leaves() {
    for first in [Ok(()), no_sync()] {
        let bench = bench().await;
        let (one, two) = (exchange("last"), exchange("refusing"));
        let mut one = pin!(bench.engine.activate(&one));
        assert!(poll_once(one.as_mut()).is_pending());
        let staged = bench.staged();
        let mut two = pin!(bench.engine.activate(&two));
        assert!(poll_once(two.as_mut()).is_pending());
        assert_eq!(bench.staged(), staged, "nobody knows yet what it would return to");
        bench.journal.resolve_first(&first);
        assert_eq!(one.await.is_ok(), first.is_ok());
        assert!(poll_once(two.as_mut()).is_pending());
        assert_eq!(bench.serves(), "refusing");
        bench.journal.resolve(&no_sync());
        two.await.unwrap_err();
        assert_eq!(bench.serves(), if first.is_ok() { "last" } else { "first" });
    }
}

/// To undo any of these is more than to return to the policy before.
#[tokio::test]
async fn what_changes_a_network_otherwise_waits_for_an_exchange() {
    for first in [Ok(()), no_sync()] {
        let bench = bench().await;
        let wanted = exchange("last");
        let mut exchange = pin!(bench.engine.activate(&wanted));
        assert!(poll_once(exchange.as_mut()).is_pending());
        let staged = bench.staged();
        let mut redefining = pin!(bench.engine.add(bench.add_with(2, "first", "10.0.9.0/29"), fits));
        assert!(poll_once(redefining.as_mut()).is_pending());
        let agent = claiming::agent("cilium");
        let router = ask("router");
        let mut claim = pin!(bench.engine.ensure(&agent, &router));
        assert!(poll_once(claim.as_mut()).is_pending());
        let define = define(&bench, "10.0.8.0/29");
        let mut define = pin!(bench.engine.define_network(&define));
        assert!(poll_once(define.as_mut()).is_pending());
        assert_eq!(bench.staged(), staged);
        bench.journal.resolve(&first);
        assert_eq!(exchange.await.is_ok(), first.is_ok());
        assert_eq!(redefining.await.unwrap().addresses[0].ip().to_string().split('.').nth(2), Some("9"));
        claim.await.unwrap();
        define.await.unwrap();
        let decided = if first.is_ok() { "last" } else { "first" };
        assert_eq!(bench.decided().await[1], pod(2, decided));
    }
}

#[tokio::test]
async fn a_del_stands_whatever_becomes_of_an_exchange() {
    let bench = bench().await;
    let wanted = exchange("last");
    let mut exchange = pin!(bench.engine.activate(&wanted));
    assert!(poll_once(exchange.as_mut()).is_pending());
    let mut del = pin!(bench.engine.del(bench.del(1)));
    assert!(poll_once(del.as_mut()).is_pending());
    assert!(matches!(bench.journal.facts().last(), Some(Fact::Ledger(LedgerFact::Released { .. }))));
    bench.journal.resolve_first(&no_sync());
    bench.journal.resolve(&Ok(()));
    del.await.unwrap();
    exchange.await.unwrap_err();
    assert_eq!(bench.decided().await, []);
    assert_eq!(bench.serves(), "first");
}

/// What a policy has kept would have to be undone, too, and nobody decides with a state that may not stay.
#[tokio::test]
async fn nobody_decides_behind_an_exchange_to_a_policy_that_keeps_a_state() {
    let bench = bench().await;
    let wanted = exchange("counting");
    let mut exchange = pin!(bench.engine.activate(&wanted));
    assert!(poll_once(exchange.as_mut()).is_pending());
    let staged = bench.staged();
    let mut add = pin!(bench.engine.add(bench.add(2), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    assert_eq!(bench.staged(), staged);
    bench.journal.resolve(&no_sync());
    exchange.await.unwrap_err();
    add.await.unwrap();
    assert_eq!(bench.decided().await, [pod(1, "first"), pod(2, "first")]);
}

/// The policy is asked before the exchange has its turn, in which somebody else may change the network first.
#[tokio::test]
async fn an_exchange_goes_by_the_configuration_that_the_network_has_at_its_turn() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let other = "10.0.9.0/29";
    let (wanted, redefine) = (exchange("last"), define(&bench, other));
    let mut redefine = pin!(bench.engine.define_network(&redefine));
    let mut exchange = pin!(bench.engine.activate(&wanted));
    {
        let mut stalled = pin!(bench.engine.add(bench.add_with(2, "stalled", "10.0.0.0/29"), fits));
        assert!(poll_once(stalled.as_mut()).is_pending());
        assert!(poll_once(redefine.as_mut()).is_pending());
        assert!(poll_once(exchange.as_mut()).is_pending());
    }
    redefine.await.unwrap();
    let exchanged = exchange.await.unwrap();
    assert_eq!((exchanged.added, exchanged.removed), (Vec::new(), Vec::new()));
    assert_eq!(bench.address(3).await.unwrap(), "10.0.9.6");
}

/// As when the daemon stops: nobody is left to undo the exchange.
#[tokio::test]
async fn an_exchange_that_is_given_up_holds_nobody_up() {
    let bench = bench().await;
    let wanted = exchange("last");
    {
        let mut given_up = pin!(bench.engine.activate(&wanted));
        assert!(poll_once(given_up.as_mut()).is_pending());
    }
    let mut add = pin!(bench.engine.add(bench.add(2), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    bench.journal.resolve_first(&no_sync());
    bench.journal.resolve(&Ok(()));
    add.await.unwrap();
    let wanted = exchange("first");
    assert_eq!(bench.engine.activate(&wanted).await.unwrap().before.unwrap().name.as_str(), "last");
}
