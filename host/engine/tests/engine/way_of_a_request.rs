//! The path of a request, with ports that the test controls.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use tenure_engine::Gc;
use tenure_engine::ports::{DelRecord, ServedDel};
use tenure_ledger::{Fact, LedgerFact};
use tenure_types::{ConditionName, Error, ErrorCode, Moment, NetworkName, Owner, PolicyFailure};

use crate::support::{Bench, activate, fits, network, owner, poll_once};

fn broken() -> Error {
    Error::new(ErrorCode::CheckpointFailed, "the disk is gone")
}

#[tokio::test]
async fn a_repeated_add_answers_the_same_and_stages_nothing() {
    let bench = Bench::new(8, 8);
    let first = bench.engine.add(bench.add(1), fits).await.unwrap();
    let staged = bench.journal.facts().len();
    assert_eq!(bench.engine.add(bench.add(1), fits).await.unwrap(), first);
    assert_eq!(bench.journal.facts().len(), staged);
}

#[tokio::test]
async fn a_repeated_add_that_began_later_is_durable_before_it_is_answered() {
    let bench = Bench::new(8, 8);
    let first = bench.engine.add(bench.add(1), fits).await.unwrap();
    let held_up = bench.del(1);
    bench.tick(1);
    bench.journal.hold();
    let mut again = pin!(bench.engine.add(bench.add(1), fits));
    assert!(poll_once(again.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    assert_eq!(again.await.unwrap(), first, "the same allocation");
    bench.engine.del(held_up).await.unwrap();
    assert!(bench.engine.check(&network(), &owner(1)).await.is_ok(), "that DEL was for the earlier ADD");
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert!(bench.engine.check(&network(), &owner(1)).await.is_err(), "this DEL is for the repeated ADD");
}

#[tokio::test]
async fn a_repeated_add_on_a_full_disk_takes_no_room_from_dels() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.tick(1);
    bench.journal.set_health(Some(Error::new(ErrorCode::DiskFull, "no room")));
    assert_eq!(bench.address(1).await.unwrap_err(), Error::new(ErrorCode::DiskFull, "no room"));
}

#[tokio::test]
async fn an_add_of_a_namespace_that_was_left_is_refused() {
    let bench = Bench::new(8, 8);
    let of = |netns: &str| {
        let mut add = bench.add(1);
        add.request.sandbox.netns = netns.into();
        add
    };
    let left = of("/run/netns/left");
    bench.tick(1);
    let lives = of("/run/netns/lives");
    let granted = bench.engine.add(lives.clone(), fits).await.unwrap();
    assert_eq!(bench.engine.add(left, fits).await.unwrap_err().code, ErrorCode::Superseded);
    assert_eq!(bench.engine.add(lives, fits).await.unwrap(), granted);
}

#[tokio::test]
async fn nothing_is_answered_before_it_is_durable() {
    let bench = Bench::new(8, 8);
    bench.journal.hold();
    let mut add = pin!(bench.engine.add(bench.add(1), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    assert!(add.await.is_ok());

    bench.journal.hold();
    let mut del = pin!(bench.engine.del(bench.del(1)));
    assert!(poll_once(del.as_mut()).is_pending());
    bench.journal.resolve(&Err(broken()));
    assert_eq!(del.await.unwrap_err().code, ErrorCode::CheckpointFailed);
}

#[tokio::test]
async fn a_repeated_del_waits_for_what_the_first_could_not_make_durable() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.journal.hold();
    let mut del = pin!(bench.engine.del(bench.del(1)));
    assert!(poll_once(del.as_mut()).is_pending());
    bench.journal.resolve(&Err(broken()));
    assert!(del.await.is_err());
    bench.journal.hold();
    let mut again = pin!(bench.engine.del(bench.del(1)));
    assert!(poll_once(again.as_mut()).is_pending(), "the address is free in memory, but not on disk");
    bench.journal.resolve(&Ok(()));
    assert!(again.await.is_ok());
}

#[tokio::test]
async fn an_add_whose_caller_is_gone_is_undone_before_anyone_sees_it() {
    let mut bench = Bench::new(8, 8);
    tokio::spawn(bench.abandoned.take().unwrap().run());
    bench.journal.hold();
    {
        let mut add = pin!(bench.engine.add(bench.add(1), fits));
        assert!(poll_once(add.as_mut()).is_pending());
    }
    bench.journal.resolve(&Ok(()));
    // The DEL waits until the undo gives up its turn.
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(
        bench.engine.check(&network(), &owner(1)).await.unwrap_err().code,
        ErrorCode::UnknownAttachment
    );
    let facts = bench.journal.facts();
    let reasons: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Ledger(LedgerFact::Released { reason, .. }) => Some(&**reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, ["undone"]);
}

#[tokio::test]
async fn an_add_that_cannot_be_made_durable_is_undone() {
    let mut bench = Bench::new(8, 8);
    tokio::spawn(bench.abandoned.take().unwrap().run());
    bench.journal.hold();
    let mut add = pin!(bench.engine.add(bench.add(1), fits));
    assert!(poll_once(add.as_mut()).is_pending());
    bench.journal.resolve(&Err(broken()));
    assert_eq!(add.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.3", "the first address is cooling down");
}

#[tokio::test]
async fn a_del_overtakes_the_add_that_began_before_it() {
    let bench = Bench::new(8, 8);
    let late = bench.add(1);
    bench.tick(5_000);
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.tick(1);
    assert_eq!(bench.engine.add(late, fits).await.unwrap_err().code, ErrorCode::Superseded);
    assert!(bench.address(1).await.is_ok(), "an ADD that began later gets a new allocation");
}

#[tokio::test]
async fn an_add_older_than_any_tombstone_is_refused() {
    let bench = Bench::new(8, 8);
    let ancient = bench.add(1);
    bench.tick(600_000);
    assert_eq!(bench.engine.add(ancient, fits).await.unwrap_err().code, ErrorCode::Superseded);
}

/// An earlier engine may have served a DEL that this one does not know of.
#[tokio::test]
async fn an_add_that_began_before_the_engine_did_is_refused() {
    let bench = Bench::new(8, 8);
    let mut early = bench.add(1);
    early.request.requested_at.boot_ns -= 1;
    assert_eq!(bench.engine.add(early, fits).await.unwrap_err().code, ErrorCode::Superseded);
    assert!(bench.address(1).await.is_ok(), "an ADD that began with the engine is served");
}

#[tokio::test]
async fn a_late_duplicate_del_does_not_free_the_next_life() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.tick(10);
    let duplicate = bench.del(1);
    bench.engine.del(duplicate.clone()).await.unwrap();
    bench.tick(10);
    let address = bench.address(1).await.unwrap();
    bench.engine.del(duplicate).await.unwrap();
    assert_eq!(bench.address(1).await.unwrap(), address);
    assert!(bench.engine.check(&network(), &owner(1)).await.is_ok());
}

#[tokio::test]
async fn load_beyond_the_queue_is_refused_at_once() {
    let bench = Bench::new(1, 1);
    bench.journal.hold();
    let mut serving = pin!(bench.engine.add(bench.add(1), fits));
    assert!(poll_once(serving.as_mut()).is_pending());
    {
        let mut waiting = pin!(bench.engine.add(bench.add(2), fits));
        assert!(poll_once(waiting.as_mut()).is_pending());
        assert_eq!((bench.engine.load().in_flight, bench.engine.load().queued), (1, 1));
        assert_eq!(bench.engine.add(bench.add(3), fits).await.unwrap_err().code, ErrorCode::Overloaded);
    }
    assert_eq!(bench.engine.load().queued, 0, "a caller that goes away leaves the queue");
    bench.journal.resolve(&Ok(()));
    serving.await.unwrap();
    assert!(bench.address(3).await.is_ok());
}

#[tokio::test]
async fn a_lie_fails_its_request_alone() {
    let bench = Bench::new(8, 8);
    let error = bench.engine.add(bench.add_with(1, "liar", "10.0.0.0/29"), fits).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ProposalRejected);
    assert_eq!(
        error.cause,
        "policy liar@d made an invalid proposal for network net: 203.0.113.7 is outside pool 0"
    );
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    let outcomes = bench.outcomes.requests();
    assert_eq!(outcomes, [("add", Some(ErrorCode::ProposalRejected)), ("add", None)]);
}

#[tokio::test]
async fn every_failure_of_a_policy_is_told_by_its_kind() {
    let bench = Bench::new(8, 8);
    for (policy, ipam) in
        [("liar", "10.0.0.0/29"), ("first", "nothing"), ("first", "trap"), ("first", "what?")]
    {
        bench.engine.add(bench.add_with(1, policy, ipam), fits).await.unwrap_err();
    }
    bench.address(1).await.unwrap();
    let heard = bench.outcomes.policies();
    let failure = |policy: &str, failure| (policy.to_owned(), failure);
    let failures = [
        failure("liar@d", PolicyFailure::Rejected),
        failure("first@d", PolicyFailure::Rejected),
        failure("first@d", PolicyFailure::Trap),
    ];
    assert_eq!(heard.failures, failures, "a policy's own refusal is not a failure");
    assert_eq!(heard.calls, 7, "each call counts: five definitions and two proposals");
}

/// The DELs that an engine has served.
#[derive(Debug, Default)]
struct Dels(Mutex<Vec<ServedDel>>);

impl DelRecord for Dels {
    fn served(&self, network: &NetworkName, owner: &Owner, began: Moment, served: Moment) {
        let (network, owner) = (network.clone(), owner.clone());
        self.0.lock().unwrap().push(ServedDel { network, owner, began, served });
    }
}

#[tokio::test]
async fn an_add_that_a_del_has_overtaken_at_an_earlier_engine_is_refused() {
    let (bench, dels) = (Bench::new(8, 8), Arc::new(Dels::default()));
    let since = bench.now();
    bench.engine.remember_dels(since, [], Arc::clone(&dels) as _);
    let add = bench.add(1);
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    let served = dels.0.lock().unwrap().clone();
    let now = bench.now();
    assert_eq!(served, [ServedDel { network: network(), owner: owner(1), began: now, served: now }]);

    let next = Bench::new(8, 8);
    next.engine.remember_dels(since, served, Arc::new(Dels::default()));
    next.tick(2);
    assert_eq!(next.engine.add(add, fits).await.unwrap_err().code, ErrorCode::Superseded);
    next.address(1).await.expect("an ADD that began later is served");
}

#[tokio::test]
async fn a_start_that_lies_in_the_future_counts_as_now() {
    let bench = Bench::new(8, 8);
    let mut del = bench.del(1);
    del.requested_at.boot_ns += 3_600_000_000_000;
    bench.engine.del(del).await.unwrap();
    bench.tick(1);
    bench.address(1).await.expect("an ADD that began later is served");
    bench.engine.del(bench.del(1)).await.unwrap();

    bench.tick(1);
    let mut add = bench.add(2);
    add.request.requested_at.boot_ns += 3_600_000_000_000;
    bench.engine.add(add, fits).await.unwrap();
    bench.tick(1);
    bench.engine.del(bench.del(2)).await.unwrap();
    let left = bench.engine.check(&network(), &owner(2)).await.unwrap_err();
    assert_eq!(left.code, ErrorCode::UnknownAttachment, "its DEL did not free it");
}

#[tokio::test]
async fn a_changed_configuration_takes_effect_and_live_allocations_stay() {
    let bench = Bench::new(8, 8);
    let old = bench.address(1).await.unwrap();
    let changed = bench.engine.add(bench.add_with(2, "first", "10.9.0.0/29"), fits).await.unwrap();
    assert_eq!(changed.addresses[0].address.to_string(), "10.9.0.2/29");
    let book = bench.engine.book(&network()).await.unwrap();
    let outside: Vec<_> = book.allocations().filter(|held| book.is_outside(held)).collect();
    assert_eq!(outside.len(), 1);
    assert_eq!(outside[0].addresses[0].ip().to_string(), old);
    assert_eq!(
        bench.engine.add(bench.add_with(3, "first", "what?"), fits).await.unwrap_err().code,
        ErrorCode::InvalidConfig
    );
}

#[tokio::test]
async fn an_activated_policy_wins_over_the_configuration() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let activated = bench.engine.activate(&activate("last")).await.unwrap();
    let before = activated.before.unwrap();
    assert_eq!((before.name.as_str(), activated.after.name.as_str()), ("first", "last"));
    assert_eq!(bench.address(2).await.unwrap(), "10.0.0.6");
    assert_eq!(bench.engine.activate(&activate("missing")).await.unwrap_err().code, ErrorCode::UnknownPolicy);
    assert_eq!(bench.address(3).await.unwrap(), "10.0.0.5", "the previous policy keeps serving");
}

#[tokio::test]
async fn gc_frees_what_is_not_listed_and_what_is_older_than_itself() {
    let bench = Bench::new(8, 8);
    for number in 1..=3 {
        bench.address(number).await.unwrap();
    }
    bench.tick(10);
    let listed = owner(2);
    let (container, interface) = listed.attachment().unwrap();
    let valid = HashSet::from([(container.clone(), interface.clone())]);
    let gc = Gc { network: network(), valid, requested_at: bench.now() };
    bench.tick(10);
    bench.address(4).await.unwrap();
    assert_eq!(bench.engine.gc(gc).await.unwrap(), 2);
    let book = bench.engine.book(&network()).await.unwrap();
    let owners: Vec<_> = book.allocations().map(|held| held.owner.to_string()).collect();
    assert_eq!(owners, ["c2/eth0", "c4/eth0"]);
}

#[tokio::test]
async fn status_says_when_an_add_would_fail() {
    let bench = Bench::new(8, 8);
    let add = bench.add_with(1, "first", "10.0.0.0/30");
    let status = || bench.engine.status(&add.request.network, &add.policy, &add.config);
    assert!(status().await.is_ok(), "the network does not exist yet, and an ADD would succeed");
    bench.engine.add(add.clone(), fits).await.unwrap();
    assert_eq!(status().await.unwrap_err().code, ErrorCode::Unavailable);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(
        status().await.unwrap_err().code,
        ErrorCode::Unavailable,
        "the address is cooling down, and cooling is strict"
    );
    bench.tick(30_000);
    assert!(status().await.is_ok());
    bench.engine.conditions().set(ConditionName::Stopping, "", "draining");
    assert_eq!(status().await.unwrap_err().cause, "stopping: draining");
    assert_eq!(bench.address(9).await.unwrap_err().code, ErrorCode::Stopping);
    bench.engine.conditions().clear(ConditionName::Stopping, "");
    bench.journal.set_health(Some(Error::new(ErrorCode::DiskFull, "no space")));
    assert_eq!(bench.address(9).await.unwrap_err().code, ErrorCode::DiskFull);
    assert!(bench.engine.del(bench.del(9)).await.is_ok(), "DEL is still served");
}

#[tokio::test]
async fn addresses_that_the_caller_cannot_use_are_not_kept() {
    let bench = Bench::new(8, 8);
    let unusable =
        |_: &[tenure_types::AssignedAddress]| Err(Error::new(ErrorCode::InvalidConfig, "too many"));
    let error = bench.engine.add(bench.add(1), unusable).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidConfig);
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 0);
}
