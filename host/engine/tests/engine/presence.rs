//! Whether a claim's agent is there: what it confirms, the leases it renews, and the watches it has open.

use std::pin::pin;
use std::time::Duration;

use tenure_engine::{Agent, AgentStanding, ClaimFilter};
use tenure_ledger::Presence;
use tenure_types::{Error, ErrorCode, ScopeName};

use crate::claiming::{agent, ask, key, leasing, names};
use crate::support::{Bench, poll_once};

fn stands(bench: &Bench, agent: &str, name: &str) -> AgentStanding {
    bench.engine.standing(&bench.engine.claimed(&key(agent, name)).unwrap().claim)
}

#[tokio::test]
async fn a_claim_that_its_agent_confirms_after_a_reboot_stays() {
    let bench = Bench::with_network().await;
    for name in ["router", "health"] {
        bench.claimed("cilium", &ask(name)).await.unwrap();
    }
    let bench = bench.restarted(true);
    bench.engine.confirm(&key("cilium", "router")).await.unwrap();
    let router = bench.engine.claimed(&key("cilium", "router")).unwrap();
    assert!(matches!(router.claim.presence, Presence::Here(_)) && router.lapses_at.is_none());
    bench.tick(3_600_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
    assert_eq!(names(&bench.engine.claims_of(None)), ["router"]);
}

#[tokio::test]
async fn a_confirmation_is_durable_when_it_is_answered_and_makes_no_claim() {
    let bench = Bench::with_network().await;
    let router = key("cilium", "router");
    let refused = bench.engine.confirm(&router).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ClaimUnknown);
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let bench = bench.restarted(true);
    for what in ["a new one", "a repeated one"] {
        bench.journal.hold();
        let mut confirming = pin!(bench.engine.confirm(&router));
        assert!(poll_once(confirming.as_mut()).is_pending(), "{what}");
        bench.journal.resolve(&Ok(()));
        confirming.await.unwrap();
    }
    assert_eq!(bench.journal.facts().len(), 1, "a repeat stages nothing");
}

#[tokio::test]
async fn claims_may_lapse_as_long_as_one_has_a_lease_or_waits_for_its_agent() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    assert!(!bench.engine.claims_may_lapse());
    bench.claimed("cilium", &leasing("health", 60)).await.unwrap();
    assert!(bench.engine.claims_may_lapse());
    bench.engine.release_claim(&key("cilium", "health")).await.unwrap();
    assert!(!bench.engine.claims_may_lapse());
    let bench = bench.restarted(true);
    assert!(bench.engine.claims_may_lapse(), "its agent may be gone");
}

#[tokio::test]
async fn a_confirmation_renews_a_lease() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.tick(59_000);
    bench.engine.confirm(&key("cilium", "router")).await.unwrap();
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

/// Regression: an agent that renewed in vain, because the disk failed, lost its claim once the disk was back.
#[tokio::test]
async fn no_lease_runs_out_while_the_disk_keeps_its_agent_from_renewing_it() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    let failure = Error::new(ErrorCode::CheckpointFailed, "the disk refuses");
    bench.journal.set_health(Some(failure.clone()));
    bench.tick(120_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.journal.set_health(None);
    bench.tick(59_000);
    bench.journal.hold();
    let ask = leasing("router", 60);
    let mut renewing = pin!(bench.claimed("cilium", &ask));
    assert!(poll_once(renewing.as_mut()).is_pending());
    bench.journal.resolve(&Err(failure));
    assert_eq!(renewing.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await, Ok(0), "it was there, although it was refused");
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

/// Regression: two seconds after a machine woke up, the leases of its agents had run out, which had slept as long as it.
#[tokio::test]
async fn no_lease_runs_out_while_the_machine_is_suspended() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.tick(2_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.clock.suspend(Duration::from_secs(3600));
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await, Ok(1), "it is awake, and says nothing");
}

/// Regression: between two attempts of a call that waits, its agent counted as gone.
#[tokio::test]
async fn a_call_under_way_keeps_the_leases_of_its_agents_own_claims() {
    let bench = Bench::with_network().await;
    let scoped = |scope: &str| Agent { scope: Some(ScopeName::new(scope).unwrap()), ..agent("cilium") };
    let [own, other] = ["own", "other"].map(scoped);
    let mut wanted = leasing("router", 60);
    wanted.wish.claimant.scope.clone_from(&own.scope);
    bench.engine.ensure(&own, &wanted).await.unwrap();
    let asks = [wanted, leasing("unknown", 60)];
    let asking = bench.engine.asking(&own, &asks);
    bench.tick(120_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    drop(asking);
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await, Ok(0), "until its end");
    let _asking = bench.engine.asking(&other, &asks);
    let refused = bench.engine.ensure(&other, &asks[0]).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ClaimOfAnotherScope);
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await, Ok(1), "another component says nothing about it");
}

#[tokio::test]
async fn an_agent_that_may_have_called_counts_as_there() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.tick(59_000);
    bench.engine.may_have_called(&agent("cilium").name);
    bench.tick(59_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(1_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

#[tokio::test]
async fn the_lease_that_an_agent_asks_for_last_counts() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    assert_eq!(bench.engine.claims_of(None)[0].lapses_at, None);
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    bench.tick(60_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

#[tokio::test]
async fn a_lease_runs_once_the_last_of_an_agents_watches_is_closed() {
    let bench = Bench::with_network().await;
    let (cilium, monitor) = (agent("cilium").name, agent("monitor").name);
    bench.claimed("cilium", &leasing("router", 60)).await.unwrap();
    let watches = [1, 2].map(|_| bench.engine.watching(&cilium, ClaimFilter::All));
    assert_eq!((bench.engine.open_watches(&cilium), bench.engine.open_watches(&monitor)), (2, 0));
    assert_eq!(bench.engine.claim_figures().watches, [(cilium.clone(), 2)].into());
    let [first, second] = watches;
    drop(first);
    assert_eq!(bench.engine.open_watches(&cilium), 1);
    bench.tick(600_000);
    assert_eq!(bench.engine.lapse().await, Ok(0), "one is open");
    drop(second);
    assert_eq!(bench.engine.open_watches(&cilium), 0);
    bench.tick(59_999);
    assert_eq!(bench.engine.lapse().await, Ok(0), "its agent was heard of until the watch was closed");
    bench.tick(1);
    assert_eq!(bench.engine.lapse().await, Ok(1));
}

#[tokio::test]
async fn claims_of_an_agent_that_is_not_configured_any_more_are_told_with_when_it_was_last_heard_of() {
    let bench = Bench::with_network().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    bench.claimed("gone", &ask("old")).await.unwrap();
    let wrong = || bench.engine.whats_wrong().into_iter().map(|condition| condition.message);
    assert_eq!(wrong().count(), 0, "it is not known which agents there are");
    let agents = Some([agent("cilium").name].into());
    bench.engine.set(tenure_engine::Settings { agents, ..bench.engine.settings().as_ref().clone() });
    let told = "1 claims of agent gone, which is not in the configuration any more";
    assert_eq!(Vec::from_iter(wrong()), [told]);
    let heard = bench.now();
    bench.tick(5_000);
    let standing = stands(&bench, "gone", "old");
    assert_eq!((standing.last_heard, standing.watches, standing.is_orphaned), (Some(heard), 0, true));
    let _watching = bench.engine.watching(&agent("cilium").name, ClaimFilter::All);
    let standing = stands(&bench, "cilium", "router");
    assert_eq!((standing.last_heard, standing.watches, standing.is_orphaned), (Some(bench.now()), 1, false));
    let figures = bench.engine.claim_figures();
    let states: Vec<_> = figures.claims.keys().map(|(agent, state)| format!("{agent} {state}")).collect();
    assert_eq!(states, ["cilium held", "gone orphaned"]);
    let after = bench.restarted(false);
    after.tick(1);
    assert_eq!(stands(&after, "gone", "old").last_heard, None);
    // Once it is configured again, it has its claims again.
    bench.engine.set(tenure_engine::Settings { agents: None, ..bench.engine.settings().as_ref().clone() });
    assert_eq!(wrong().count(), 0);
}
