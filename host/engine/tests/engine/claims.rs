//! Claims of agents: made once, kept through everything, and ended by nobody but their agents and operators.

use std::collections::HashSet;
use std::pin::pin;
use std::task::Poll;

use tenure_engine::{Ask, ClaimFilter, Claimed, Declared, Gc};
use tenure_ledger::{ClaimFact, Fact, Families, LedgerFact, Presence, Wish};
use tenure_types::{End, Error, ErrorCode};

use crate::claiming::{addresses, agent, ask, key, leasing, named, names, wanting};
use crate::support::{Bench, activate, network, owner, poll_once};

#[tokio::test]
async fn a_claim_is_the_same_through_repeats_restarts_exchanges_and_reboots() {
    let bench = Bench::with_network().await;
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    let staged = bench.journal.facts().len();
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    assert_eq!(bench.journal.facts().len(), staged, "a repeat stages nothing");
    bench.engine.activate(&activate("last")).await.unwrap();
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    let bench = bench.restarted(false);
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    assert_eq!(bench.journal.facts().len(), 0);
    let bench = bench.restarted(true);
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    let [Fact::Claims(ClaimFact::Confirmed { .. })] = &bench.journal.facts()[..] else {
        panic!("{:?}", bench.journal.facts())
    };
    // Another agent's claim of the same name is another claim.
    assert_eq!(bench.claimed("monitor", &ask("router")).await.unwrap(), "10.0.0.6");
}

#[tokio::test]
async fn a_claim_and_its_allocation_begin_and_end_together() {
    let bench = Bench::with_network().await;
    let staged = bench.journal.facts().len();
    bench.claimed("cilium", &ask("router")).await.unwrap();
    assert!(bench.engine.release_claim(&key("cilium", "router")).await.unwrap());
    assert!(!bench.engine.release_claim(&key("cilium", "router")).await.unwrap());
    let facts = bench.journal.facts().split_off(staged);
    assert!(
        matches!(
            &facts[..],
            [
                Fact::Ledger(LedgerFact::Allocated(_)),
                Fact::Claims(ClaimFact::Claimed(_)),
                Fact::Ledger(LedgerFact::Released { .. }),
                Fact::Claims(ClaimFact::Released { .. })
            ]
        ),
        "{facts:?}"
    );
    assert_eq!(bench.engine.claims_of(None), []);
    // An operator's release ends both as well.
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let held = bench.engine.book(&network()).await.unwrap().allocations().next().unwrap().clone();
    for end in [End::Leak, End::Repair, End::Del, End::Gc, End::Reboot] {
        assert!(!bench.engine.reap(&held, end, "").await.unwrap(), "{end:?}");
    }
    assert!(bench.engine.reap(&held, End::Operator, "nobody is there").await.unwrap());
    assert_eq!(bench.engine.claims_of(None), []);
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 0);
}

/// Regression: an agent without claims that declared none was answered at once, although the end of its last claim was not
/// durable, and a crash brought the claim back.
#[tokio::test]
async fn that_an_agent_has_no_claims_is_answered_once_that_is_durable() {
    let bench = Bench::with_network().await;
    let cilium = agent("cilium");
    for apply in [true, false] {
        bench.claimed("cilium", &ask("router")).await.unwrap();
        bench.journal.hold();
        {
            let router = key("cilium", "router");
            let mut release = pin!(bench.engine.release_claim(&router));
            assert!(poll_once(release.as_mut()).is_pending());
        }
        assert_eq!(bench.engine.claims_of(None), [], "ended, and not durably");
        let mut declare = pin!(bench.engine.declare(&cilium, &[], apply));
        assert!(poll_once(declare.as_mut()).is_pending());
        bench.journal.resolve(&Ok(()));
        assert_eq!(declare.await.unwrap(), Declared::default());
    }
}

/// Regression: as above, once the network is removed, too.
#[tokio::test]
async fn that_a_claim_has_ended_with_its_network_is_answered_once_that_is_durable() {
    let bench = Bench::with_network().await;
    let (net, router) = (network(), key("cilium", "router"));
    bench.claimed("cilium", &ask("router")).await.unwrap();
    assert!(bench.engine.release_claim(&router).await.unwrap());
    bench.journal.hold();
    let removing = async || bench.engine.remove_network(&net, true).await;
    {
        let mut remove = pin!(removing());
        assert!(poll_once(remove.as_mut()).is_pending());
    }
    let mut release = pin!(bench.engine.release_claim(&router));
    let mut remove = pin!(removing());
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    let mut gc = pin!(bench.engine.gc(gc));
    assert!(poll_once(release.as_mut()).is_pending());
    assert!(poll_once(remove.as_mut()).is_pending());
    assert!(poll_once(gc.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    assert_eq!((release.await, remove.await, gc.await), (Ok(false), Ok(false), Ok(0)));
}

#[tokio::test]
async fn a_gc_with_an_empty_list_frees_every_pod_and_no_claim() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    for number in [1, 2] {
        assert_eq!(bench.address(number).await.unwrap(), format!("10.0.0.{}", number + 2));
    }
    bench.tick(1);
    bench.engine.del(bench.del(2)).await.unwrap();
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    assert_eq!(bench.engine.gc(gc).await.unwrap(), 1);
    assert!(bench.engine.check(&network(), &owner(1)).await.is_err());
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
    let verbs: Vec<_> = bench.outcomes.requests().into_iter().map(|(verb, _)| verb).collect();
    assert_eq!(verbs, ["define", "ensure", "add", "add", "del", "gc", "check"]);
}

#[tokio::test]
async fn of_two_agents_that_want_one_address_one_gets_it_and_the_other_learns_nothing_of_it() {
    let bench = Bench::with_network().await;
    let (cilium, wanted) = (agent("cilium"), wanting("router", &["10.0.0.4"]));
    let mut first = pin!(bench.engine.ensure(&cilium, &wanted));
    bench.journal.hold();
    assert!(poll_once(first.as_mut()).is_pending(), "not yet durable");
    let refusal = bench.claimed("monitor", &wanting("probe", &["10.0.0.4"])).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::AddressUnavailable);
    assert_eq!(refusal.cause, "10.0.0.4 of network net has another owner");
    bench.journal.resolve(&Ok(()));
    assert_eq!(addresses(&first.await.unwrap())[0].to_string(), "10.0.0.4");
    assert_eq!(names(&bench.engine.claims_of(Some(&agent("monitor").name))), [""; 0]);
}

#[tokio::test]
async fn one_that_asks_for_something_else_is_told_and_a_declaration_makes_it_anew() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let other = wanting("router", &["10.0.0.5"]);
    assert_eq!(bench.code(bench.claimed("cilium", &other).await), ErrorCode::ClaimDiffers);
    let declared = bench.engine.declare(&agent("cilium"), std::slice::from_ref(&other), true).await.unwrap();
    assert_eq!(addresses(&declared.created[0])[0].to_string(), "10.0.0.5");
    assert_eq!((declared.kept.len(), declared.released.len()), (0, 0));
    assert_eq!(bench.claimed("cilium", &other).await.unwrap(), "10.0.0.5");
    // What it holds anyway is no other wish.
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.5");
    let six = Families { ipv4: false, ipv6: true };
    let both = Ask { wish: Wish { families: six, ..Wish::default() }, ..ask("six") };
    let refusal = bench.claimed("cilium", &both).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::AddressUnavailable);
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
}

#[tokio::test]
async fn a_declaration_is_carried_out_as_a_whole_or_not_at_all() {
    let bench = Bench::with_network().await;
    bench.define("other", "10.1.0.0/30").await;
    let cilium = agent("cilium");
    let elsewhere = |name: &str| Ask { network: named("other"), ..ask(name) };
    let wanted = [ask("router"), ask("health"), elsewhere("ingress")];
    let would = bench.engine.declare(&cilium, &wanted, false).await.unwrap();
    assert_eq!(names(&would.created), ["health", "router", "ingress"]);
    assert_eq!(bench.engine.claims_of(None), [], "a dry run");
    let declared = bench.engine.declare(&cilium, &wanted, true).await.unwrap();
    let told = |claims: &[Claimed]| -> Vec<_> { claims.iter().map(addresses).collect() };
    assert_eq!(told(&declared.created), told(&would.created), "as the dry run said");

    // The other network has no second address, so neither is the health address released.
    let too_much = [ask("router"), elsewhere("ingress"), elsewhere("egress")];
    let staged = bench.journal.facts().len();
    let refusal = bench.engine.declare(&cilium, &too_much, true).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::PoolExhausted);
    assert_eq!(bench.journal.facts().len(), staged);
    assert_eq!(names(&bench.engine.claims_of(None)), ["health", "router", "ingress"]);

    // A feature that is switched off frees its address.
    let declared = bench.engine.declare(&cilium, &[ask("router")], true).await.unwrap();
    assert_eq!(names(&declared.kept), ["router"]);
    assert_eq!(declared.released.len(), 2);
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
    for network in ["net", "other"] {
        let held = bench.engine.book(&named(network)).await.unwrap().allocations().len();
        assert_eq!(held, usize::from(network == "net"), "{network}");
    }
    let none = bench.engine.declare(&cilium, &[], true).await.unwrap();
    assert_eq!((none.released.len(), bench.engine.claims_of(None).len()), (1, 0));
    assert_eq!(bench.engine.declare(&cilium, &[], true).await.unwrap(), tenure_engine::Declared::default());
}

#[tokio::test]
async fn the_number_of_claims_is_bounded_and_each_is_declared_once() {
    let bench = Bench::with_network().await;
    let monitor = agent("monitor");
    for name in ["a", "b", "c", "d"] {
        bench.claimed("monitor", &ask(name)).await.unwrap();
    }
    assert_eq!(bench.code(bench.claimed("monitor", &ask("e")).await), ErrorCode::ClaimDenied);
    let all: Vec<_> = ["a", "b", "c", "d", "e"].map(ask).into();
    let refusal = bench.engine.declare(&monitor, &all, true).await.unwrap_err();
    assert_eq!(refusal.cause, "agents.monitor.claims allows 4 claims, and this would be 5");
    let refusal = bench.engine.declare(&monitor, &[ask("a"), ask("a")], true).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::ClaimInvalid);
    // One that exists is answered although there is no room for another.
    bench.claimed("monitor", &ask("d")).await.unwrap();
}

#[tokio::test]
async fn a_claim_waits_for_nothing_if_its_network_is_unknown_and_hears_of_it_when_it_comes() {
    let bench = Bench::new(8, 8);
    let mut changes = bench.engine.claim_changes(&agent("cilium").name);
    changes.mark_unchanged();
    assert_eq!(bench.code(bench.claimed("cilium", &ask("router")).await), ErrorCode::UnknownNetwork);
    assert_eq!(bench.engine.network_names(), [], "asking defines nothing");
    assert!(!changes.has_changed().unwrap());
    bench.define("net", "10.0.0.0/29").await;
    assert!(changes.has_changed().unwrap());
    bench.claimed("cilium", &ask("router")).await.unwrap();
}

/// Regression: each watch that was resumed queued behind what pods had staged, and woke the writer once more.
#[tokio::test]
async fn a_watch_that_has_missed_nothing_waits_for_no_disk() {
    let bench = Bench::with_network().await;
    let cilium = agent("cilium");
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let told = bench.engine.changes(&cilium.name, None).await.unwrap();
    bench.journal.hold();
    let mut add = pin!(bench.address(1));
    assert!(poll_once(add.as_mut()).is_pending());
    {
        let mut resumed = pin!(bench.engine.changes(&cilium.name, Some(&told.version)));
        let Poll::Ready(Ok(resumed)) = poll_once(resumed.as_mut()) else {
            panic!("it waits for a pod's facts")
        };
        assert_eq!((resumed.claims, resumed.is_all), (vec![], false));
    }
    // What it has missed is durable when it is told.
    let health = ask("health");
    let mut claiming = pin!(bench.engine.ensure(&cilium, &health));
    assert!(poll_once(claiming.as_mut()).is_pending());
    let mut resumed = pin!(bench.engine.changes(&cilium.name, Some(&told.version)));
    assert!(poll_once(resumed.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    assert_eq!(names(&resumed.await.unwrap().claims), ["health"]);
}

#[tokio::test]
async fn a_claim_cannot_be_made_while_adds_are_refused_but_be_released() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    bench.journal.set_health(Some(Error::new(ErrorCode::DiskFull, "no room")));
    assert_eq!(bench.code(bench.claimed("cilium", &ask("health")).await), ErrorCode::DiskFull);
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
    assert!(bench.engine.release_claim(&key("cilium", "router")).await.unwrap());
}

#[tokio::test]
async fn a_lease_runs_out_only_if_its_agent_is_neither_heard_of_nor_watching() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.claimed("cilium", &ask("health")).await.unwrap();
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 0);
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 0, "it was renewed");
    let watching = bench.engine.watching(&agent("cilium").name, ClaimFilter::All);
    bench.tick(600_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 0, "its agent watches");
    drop(watching);
    bench.tick(59_000);
    let bench = bench.restarted(false);
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 0, "nobody could renew it while the daemon was away");
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 1);
    assert_eq!(names(&bench.engine.claims_of(None)), ["health"], "one without a lease stays");
    let facts = bench.journal.facts();
    let Some(Fact::Claims(ClaimFact::Released { reason, .. })) = facts.last() else { panic!("{facts:?}") };
    assert_eq!(&**reason, "lapsed: its lease of 60 s was not renewed");
}

#[tokio::test]
async fn a_lease_runs_from_the_answer_however_long_that_took() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.journal.hold();
    {
        let (cilium, asks) = (agent("cilium"), [leasing("router", 60), ask("health")]);
        let mut declaring = pin!(bench.engine.declare(&cilium, &asks, true));
        assert!(poll_once(declaring.as_mut()).is_pending());
        bench.tick(59_000);
        bench.journal.resolve(&Ok(()));
        declaring.await.unwrap();
    }
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 0, "its agent was answered 59 s ago");
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await.unwrap(), 1);
}

#[tokio::test]
async fn after_a_reboot_a_claim_is_reserved_for_its_agent_for_a_while() {
    let bench = Bench::with_network().await;
    for name in ["router", "health"] {
        bench.claimed("cilium", &ask(name)).await.unwrap();
    }
    let bench = bench.restarted(true);
    let claims = bench.engine.claims_of(None);
    assert!(claims.iter().all(|claimed| matches!(claimed.claim.presence, Presence::Reserved(_))));
    assert!(claims.iter().all(|claimed| claimed.lapses_at.is_some()));
    bench.claimed("cilium", &ask("router")).await.unwrap();
    bench.tick(3_599_999);
    assert_eq!(bench.engine.lapse().await.unwrap(), 0);
    bench.tick(1);
    assert_eq!(bench.engine.lapse().await.unwrap(), 1);
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
}

#[tokio::test]
async fn an_agent_hears_of_its_own_claims_since_a_version() {
    let bench = Bench::with_network().await;
    let cilium = agent("cilium").name;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    bench.claimed("monitor", &ask("probe")).await.unwrap();
    let all = bench.engine.changes(&cilium, None).await.unwrap();
    assert_eq!((all.is_all, names(&all.claims)), (true, vec!["router".to_owned()]));
    let none = bench.engine.changes(&cilium, Some(&all.version)).await.unwrap();
    assert_eq!((none.is_all, none.claims.len(), none.released.len()), (false, 0, 0));

    bench.claimed("cilium", &ask("health")).await.unwrap();
    bench.engine.release_claim(&key("monitor", "probe")).await.unwrap();
    bench.engine.release_claim(&key("cilium", "router")).await.unwrap();
    let some = bench.engine.changes(&cilium, Some(&all.version)).await.unwrap();
    assert_eq!(names(&some.claims), ["health"]);
    assert_eq!(some.released, [(key("cilium", "router"), "agent".into())]);

    // One that was made anew is there, rather than released.
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let some = bench.engine.changes(&cilium, Some(&all.version)).await.unwrap();
    assert_eq!(
        (names(&some.claims), some.released.len()),
        (vec!["health".to_owned(), "router".to_owned()], 0)
    );

    // Other ranges may mean other gateways; what holds an address keeps it, and is told to leave.
    bench.define("net", "10.7.0.0/29").await;
    let moved = bench.engine.changes(&cilium, Some(&some.version)).await.unwrap();
    assert_eq!(names(&moved.claims), ["health", "router"]);
    assert!(moved.claims.iter().all(|claimed| claimed.places[0].is_leaving));
    assert!(!some.claims.iter().any(|claimed| claimed.places[0].is_leaving));

    // Another run of the daemon does not know what happened before it.
    let bench = bench.restarted(false);
    bench.tick(1);
    let anew = bench.engine.changes(&cilium, Some("nonsense")).await.unwrap();
    assert!(anew.is_all && anew.claims.len() == 2);
}

#[tokio::test]
async fn a_claim_stays_although_its_caller_has_gone_away() {
    let mut bench = Bench::with_network().await;
    bench.journal.hold();
    {
        let (cilium, router) = (agent("cilium"), ask("router"));
        let mut asking = pin!(bench.engine.ensure(&cilium, &router));
        assert!(poll_once(asking.as_mut()).is_pending());
    }
    bench.journal.resolve(&Ok(()));
    let mut undoing = pin!(bench.abandoned.take().unwrap().run());
    assert!(poll_once(undoing.as_mut()).is_pending());
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.0.2");
}
