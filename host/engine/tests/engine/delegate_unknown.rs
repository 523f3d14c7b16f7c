//! What a delegate knows and the ledger does not: of a state that was lost, or from before it was tenure's delegate.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_engine::{
    Bounds, CalledWith, Claim, ClaimFilter, ConfiguredNetwork, Del, Gc, Import, ImportOrigin, Imported,
    NetworkBounds, Phase, Place, Settings, WitnessedClaim,
};
use tenure_ledger::Claimant;
use tenure_types::{
    ConditionName, ContainerId, Error, ErrorCode, InterfaceName, NetworkConfig, Owner, PolicyName,
};

use crate::claiming::{agent, ask, key};
use crate::delegating::{Foreign, start, without_network};
use crate::support::{Bench, fits, network};

fn config(ipam: &str) -> Arc<NetworkConfig> {
    Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() })
}

fn with(policy: &str) -> CalledWith {
    CalledWith { policy: PolicyName::new(policy).unwrap(), config: config("{}"), netns: "".into() }
}

/// A DEL of an attachment, as the plugin sends it.
async fn del(bench: &Bench, number: u32, policy: &str) {
    bench.tick(1);
    bench.engine.del_with(bench.del(number), Some(&with(policy))).await.unwrap();
}

async fn gc(bench: &Bench, valid: &[&str], policy: &str) {
    bench.tick(1);
    let eth0 = InterfaceName::new("eth0").unwrap();
    let valid = valid.iter().map(|valid| (ContainerId::new(*valid).unwrap(), eth0.clone())).collect();
    let gc = Gc { network: network(), valid, requested_at: bench.now() };
    bench.engine.gc_with(gc, Some(&with(policy))).await.unwrap();
}

fn is_at_rest(bench: &Bench, foreign: &Foreign) -> bool {
    foreign.given().is_empty() && bench.engine.delegations().is_empty()
}

/// Regression: the drain of a node whose state was lost left all addresses with the delegate for good.
#[tokio::test]
async fn a_del_of_an_attachment_that_the_ledger_does_not_know_is_the_delegates() {
    // By the network's choice, by the configuration of the call, and by that of the daemon.
    for case in ["network", "call", "daemon"] {
        let (bench, foreign) = if case == "network" { start().await } else { without_network() };
        foreign.knows("c1");
        if case == "daemon" {
            let policy = PolicyName::new("delegate.foreign").unwrap();
            let configured = Some(ConfiguredNetwork { policy, config: config("{}") });
            let networks = [(network(), NetworkBounds { configured, ..NetworkBounds::default() })].into();
            let bounds = Arc::new(Bounds { networks, ..Bounds::default() });
            bench.engine.set(Settings { bounds, ..bench.engine.settings().as_ref().clone() });
        }
        let policy = if case == "call" { "delegate.foreign" } else { "first" };
        del(&bench, 1, policy).await;
        assert!(is_at_rest(&bench, &foreign), "{case}");
        // A DEL may be repeated.
        del(&bench, 1, policy).await;
        assert_eq!(foreign.calls(), ["DEL c1", "DEL c1"], "{case}");
        assert_eq!(bench.engine.network_names().len(), usize::from(case == "network"), "{case}");
    }
    let bench = Bench::new(8, 8);
    del(&bench, 1, "first").await;
    assert!(bench.engine.delegations().is_empty(), "there is no delegate");
}

#[tokio::test]
async fn a_delegate_that_cannot_be_told_of_an_unknown_attachment_is_told_later() {
    let (bench, foreign) = start().await;
    foreign.knows("c1");
    foreign.fails(true);
    for _ in 0..2 {
        del(&bench, 1, "first").await;
    }
    assert_eq!(bench.engine.delegations().iter().map(|open| open.phase).collect::<Vec<_>>(), [Phase::Open]);
    let again = bench.delegated_after_a_restart(&foreign, false);
    again.engine.tidy().await;
    assert_eq!((foreign.given().len(), again.engine.delegations().len()), (1, 1));
    foreign.fails(false);
    again.tick(60_000);
    assert_eq!(again.engine.tidy().await, 0);
    assert!(is_at_rest(&again, &foreign));
}

#[tokio::test]
async fn a_del_that_cannot_be_taken_down_is_repeated_by_its_caller() {
    let (bench, foreign) = start().await;
    foreign.knows("c1");
    foreign.fails(true);
    bench.journal.set_health(Some(Error::new(ErrorCode::DiskFull, "no room")));
    let staged = bench.journal.facts().len();
    let refused = bench.engine.del_with(bench.del(1), Some(&with("first"))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DelegateUnavailable);
    foreign.fails(false);
    del(&bench, 1, "first").await;
    assert!(is_at_rest(&bench, &foreign));
    assert_eq!(bench.journal.facts().len(), staged);
}

#[tokio::test]
async fn a_del_spares_what_the_ledger_knows_and_the_claims_of_agents() {
    let (bench, foreign) = start().await;
    let early = bench.del(1);
    bench.tick(1);
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    bench.engine.del_with(early, Some(&with("first"))).await.unwrap();
    assert_eq!(foreign.given(), ["c1"], "it is a later attachment");
    bench.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    let claimed = foreign.given().pop().unwrap();
    let container = ContainerId::new(&claimed).unwrap();
    let owner = Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() };
    bench.tick(1);
    let del = Del { owner, ..bench.del(1) };
    bench.engine.del_with(del, Some(&with("first"))).await.unwrap();
    assert_eq!(foreign.given(), ["c1", &claimed]);
}

/// Regression: a pod that the delegate had served before a policy was imported for the policy, and its DEL came when the delegate served again.
#[tokio::test]
async fn a_del_of_an_attachment_that_has_come_over_is_the_delegates_too() {
    let (bench, foreign) = without_network();
    foreign.knows("c1");
    let place = Place { address: "10.0.0.2".parse().unwrap(), claim: "a".to_owned() };
    let source = "files".to_owned();
    let (owner, places) = (Ok(bench.del(1).owner), vec![place]);
    let claim = Claim { owner, places, pod: None, source: source.clone(), claimed_at_ms: None };
    let import = Import {
        network: network(),
        origin: ImportOrigin { source, ..ImportOrigin::default() },
        definition: Some((PolicyName::new("first").unwrap(), config("10.0.0.0/29"))),
        exclusive: true,
        apply: true,
    };
    let mut importing = bench.engine.begin_import(&import).await.unwrap();
    let outcomes = bench.engine.import(&mut importing, &[claim]).await.unwrap();
    assert_eq!(outcomes, [Ok(Imported::Taken)]);
    bench.engine.end_import(importing).await.unwrap();
    del(&bench, 1, "delegate.foreign").await;
    assert_eq!(foreign.calls(), ["DEL c1"]);
    assert!(is_at_rest(&bench, &foreign));
}

/// Regression: a delegate of which nothing was known heard of no GC.
#[tokio::test]
async fn a_gc_reaches_a_delegate_of_which_nothing_is_known() {
    for is_defined in [true, false] {
        let (bench, foreign) = if is_defined { start().await } else { without_network() };
        ["c1", "c2"].iter().for_each(|container| foreign.knows(container));
        gc(&bench, &["c2"], if is_defined { "first" } else { "delegate.foreign" }).await;
        assert_eq!(foreign.given(), ["c2"], "{is_defined}");
        assert_eq!(foreign.calls(), ["GC c2"], "{is_defined}");
        assert_eq!(bench.engine.network_names().len(), usize::from(is_defined));
    }
    let (bench, foreign) = without_network();
    gc(&bench, &[], "first").await;
    assert_eq!(foreign.calls(), [""; 0], "the network is not its");
}

/// Regression: after a change of the delegate's configuration, only one of both was collected.
#[tokio::test]
async fn a_gc_is_told_with_each_configuration_that_something_was_given_with() {
    let (bench, foreign) = without_network();
    let add = |number, ipam: &str| bench.add_with(number, "delegate.foreign", ipam);
    bench.engine.add(add(1, "{}"), fits).await.unwrap();
    bench.engine.add(add(2, r#"{"mode":"overlay"}"#), fits).await.unwrap();
    gc(&bench, &["c1", "c2"], "delegate.foreign").await;
    let told = foreign.calls().into_iter().filter(|call| call == "GC c1 c2").count();
    assert_eq!(told, 2);
}

/// The claims of an agent that has not asked since the state was lost: the delegate has their addresses, and the agent uses them.
#[tokio::test]
async fn a_gc_spares_awaited_claims_until_their_agent_gives_them_up() {
    let (before, foreign) = start().await;
    before.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    before.engine.ensure(&agent("cilium"), &ask("old")).await.unwrap();
    let claimed = foreign.given();
    let witnessed = |name: &str| WitnessedClaim {
        key: key("cilium", name),
        addresses: vec!["10.7.0.2".parse().unwrap()],
        is_awaited: false,
        claimant: Claimant::default(),
    };
    let (bench, other) = start().await;
    claimed.iter().for_each(|container| other.knows(container));
    bench.engine.await_claims([witnessed("router"), witnessed("old")]);
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    gc(&bench, &[], "first").await;
    assert_eq!(
        other.given().iter().filter(|given| claimed.contains(given)).count(),
        2,
        "{:?}",
        other.calls()
    );
    bench.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    assert!(!bench.engine.release_claim(&key("cilium", "old")).await.unwrap(), "the ledger had none");
    bench.engine.tidy().await;
    let left: Vec<_> = other.given().into_iter().filter(|given| claimed.contains(given)).collect();
    assert!(left.len() == 1 && left[0].contains("-router-"), "{left:?}");
    assert_eq!(bench.engine.witnessed_claims().len(), 1);
}

/// Regression: an agent that was uninstalled while the state was lost kept the delegate's address for good.
#[tokio::test]
async fn an_awaited_claim_of_an_agent_that_does_not_return_goes_back_to_the_delegate() {
    let (before, foreign) = start().await;
    before.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    let claimed = foreign.given();
    let (bench, other) = start().await;
    claimed.iter().for_each(|container| other.knows(container));
    bench.engine.await_claims([WitnessedClaim {
        key: key("cilium", "router"),
        addresses: vec!["10.7.0.2".parse().unwrap()],
        is_awaited: false,
        claimant: Claimant::default(),
    }]);
    bench.engine.add(bench.delegated(1), fits).await.unwrap();
    assert!(bench.engine.claims_may_lapse());
    // The time runs from the network's coming.
    bench.tick(3_600_000);
    assert_eq!(bench.engine.lapse().await, Ok(0));
    bench.tick(3_599_000);
    other.is_configured(false);
    bench.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap_err();
    other.is_configured(true);
    bench.tick(3_599_000);
    assert_eq!(bench.engine.lapse().await, Ok(0), "its agent asks for it, in vain");
    let watching = bench.engine.watching(&agent("cilium").name, ClaimFilter::All);
    bench.tick(3_600_000);
    assert_eq!(bench.engine.lapse().await, Ok(0), "its agent is there");
    drop(watching);
    bench.tick(3_600_000);
    assert_eq!(bench.engine.lapse().await, Ok(1));
    bench.engine.tidy().await;
    assert!(claimed.iter().all(|container| !other.given().contains(container)), "{:?}", other.calls());
    assert_eq!(bench.engine.witnessed_claims(), []);
    assert!(!bench.engine.claims_may_lapse());
}

/// An older state, in which the agent's claim has what it had before, and another claim is not over yet.
#[tokio::test]
async fn what_an_older_state_has_of_a_delegate_ends_without_taking_from_the_agent_what_it_uses() {
    let (bench, foreign) = start().await;
    for name in ["router", "old"] {
        bench.engine.ensure(&agent("cilium"), &ask(name)).await.unwrap();
    }
    let [old, router] = <[String; 2]>::try_from(foreign.given()).unwrap();
    assert!(old.contains("-old-") && router.contains("-router-"));
    bench.engine.await_claims([WitnessedClaim {
        key: key("cilium", "router"),
        addresses: vec!["10.7.0.99".parse().unwrap()],
        is_awaited: false,
        claimant: Claimant::default(),
    }]);
    bench.engine.conditions().set(ConditionName::StateLost, "", "lost");
    // It need not be configured.
    foreign.is_configured(false);
    bench.engine.end_unwitnessed().await.unwrap();
    foreign.is_configured(true);
    bench.engine.conditions().clear(ConditionName::StateLost, "");
    assert_eq!(bench.engine.tidy().await, 0);
    assert_eq!(foreign.given(), [router], "the delegate is told of the end of the other one only");
    assert_eq!(bench.engine.claims_of(None), []);
    let gc = Gc { network: network(), valid: HashSet::new(), requested_at: bench.now() };
    bench.engine.gc_with(gc, Some(&with("first"))).await.unwrap();
    assert_eq!(foreign.given().len(), 1);
    bench.engine.ensure(&agent("cilium"), &ask("router")).await.unwrap();
    assert_eq!((foreign.given().len(), bench.engine.delegations().len()), (1, 1));
}
