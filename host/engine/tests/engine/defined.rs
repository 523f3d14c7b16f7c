//! Networks defined by an operator or by the daemon's configuration, and their bounds.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{
    Bounds, ConfiguredNetwork, Define, NetworkBounds, PolicyBounds, Redefined, SettingPattern, Settings,
};
use tenure_types::{
    ConditionName, DELEGATED, Definer, Error, ErrorCode, NetworkConfig, NetworkName, PolicyName,
};

use crate::delegating::without_network;
use crate::support::{Bench, fits, network};

fn named(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

fn define(name: &str, by: Definer, ipam: &str) -> Define {
    let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
    let policy = PolicyName::new("first").unwrap();
    Define { network: named(name), policy, config, by, apply: true, change_ranges: false }
}

async fn defined(bench: &Bench, by: Definer, ipam: &str) -> Result<Redefined, Error> {
    bench.engine.define_network(&define("net", by, ipam)).await
}

/// An ADD with a configuration of its own.
async fn add(bench: &Bench, number: u32, ipam: &str) -> Result<String, Error> {
    let grant = bench.engine.add(bench.add_with(number, "last", ipam), fits).await?;
    Ok(grant.addresses[0].ip().to_string())
}

fn bound(bench: &Bench, name: &str, bounds: NetworkBounds) {
    let mut settings = bench.engine.settings().as_ref().clone();
    let mut all = settings.bounds.as_ref().clone();
    all.networks.insert(named(name), bounds);
    settings.bounds = Arc::new(all);
    bench.engine.set(settings);
}

fn configured() -> ConfiguredNetwork {
    ConfiguredNetwork { policy: PolicyName::new("first").unwrap(), config: Arc::default() }
}

fn within(subnet: &str) -> NetworkBounds {
    NetworkBounds { within: vec![subnet.parse().unwrap()], ..NetworkBounds::default() }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorCode {
    result.unwrap_err().code
}

#[tokio::test]
async fn what_an_operator_defined_no_call_changes() {
    let bench = Bench::new(8, 8);
    let dry = Define { apply: false, ..define("net", Definer::Operator, "10.0.0.0/29") };
    let would = bench.engine.define_network(&dry).await.unwrap();
    assert_eq!((would.changed, would.added.len()), (true, 1));
    assert!(bench.engine.network_names().is_empty(), "it was a dry run");

    assert_eq!(defined(&bench, Definer::Operator, "10.0.0.0/29").await.unwrap(), would);
    assert!(!defined(&bench, Definer::Operator, "10.0.0.0/29").await.unwrap().changed);
    // Neither the call's ranges nor its policy apply.
    assert_eq!(add(&bench, 1, "10.9.0.0/29").await.unwrap(), "10.0.0.2");

    assert_eq!(code(defined(&bench, Definer::Operator, "10.1.0.0/29").await), ErrorCode::RangesWouldChange);
    let may = Define { change_ranges: true, ..define("net", Definer::Operator, "10.1.0.0/29") };
    let changed = bench.engine.define_network(&may).await.unwrap();
    assert_eq!((changed.added.len(), changed.removed.len()), (1, 1));
    assert_eq!(add(&bench, 2, "10.9.0.0/29").await.unwrap(), "10.1.0.2");
}

#[tokio::test]
async fn a_network_is_removed_when_it_holds_nothing_and_made_anew_by_the_next_call() {
    let bench = Bench::new(8, 8);
    assert!(!bench.engine.remove_network(&network(), true).await.unwrap(), "there is none");
    defined(&bench, Definer::Operator, "10.0.0.0/29").await.unwrap();
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    assert_eq!(code(bench.engine.remove_network(&network(), true).await), ErrorCode::NetworkInUse);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert!(bench.engine.remove_network(&network(), false).await.unwrap());
    assert_eq!(bench.engine.network_names(), [network()], "it was a dry run");
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    assert!(bench.engine.network_names().is_empty());
    assert_eq!(add(&bench, 2, "10.9.0.0/29").await.unwrap(), "10.9.0.6");
}

#[tokio::test]
async fn what_the_configuration_defines_is_nobody_elses() {
    let bench = Bench::new(8, 8);
    bound(&bench, "net", NetworkBounds { configured: Some(configured()), ..NetworkBounds::default() });
    // Until the configuration has defined it, no call can.
    let refused = bench.address(1).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Preparing);
    assert!(refused.cause.contains("networks.net"), "{refused}");
    let conditions = bench.engine.conditions();
    conditions.set(ConditionName::NetworkUndefined, "net", "networks.net: no policy mine");
    assert_eq!(bench.address(1).await.unwrap_err().cause, "networks.net: no policy mine");
    let probe = bench.add(1);
    let status = bench.engine.status(&network(), &probe.policy, &probe.config).await;
    assert_eq!(code(status), ErrorCode::Unavailable);

    defined(&bench, Definer::Configuration, "10.0.0.0/29").await.unwrap();
    assert_eq!(add(&bench, 1, "10.9.0.0/29").await.unwrap(), "10.0.0.2");
    assert_eq!(code(defined(&bench, Definer::Operator, "10.0.0.0/29").await), ErrorCode::OutOfBounds);
    assert_eq!(code(bench.engine.remove_network(&network(), false).await), ErrorCode::OutOfBounds);

    // Once removed from the configuration, it stays unchanged and belongs to the operator.
    bound(&bench, "net", NetworkBounds::default());
    bench.engine.leave_to_operator(&network()).await.unwrap();
    let book = bench.engine.book(&network()).await.unwrap();
    assert_eq!(book.network().defined_by, Definer::Operator);
    assert_eq!(add(&bench, 2, "10.9.0.0/29").await.unwrap(), "10.0.0.3");
    let facts = bench.journal.facts().len();
    bench.engine.leave_to_operator(&network()).await.unwrap();
    assert_eq!(bench.journal.facts().len(), facts, "the second call changes nothing");
}

#[tokio::test]
async fn a_network_of_a_call_is_taken_over_by_the_configuration_as_it_is() {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    bound(&bench, "net", NetworkBounds { configured: Some(configured()), ..NetworkBounds::default() });
    assert_eq!(add(&bench, 2, "10.9.0.0/29").await.unwrap(), "10.0.0.3", "calls can no longer change it");
}

#[tokio::test]
async fn ranges_out_of_bounds_are_refused_also_those_that_were_there_before() {
    let bench = Bench::new(8, 8);
    bound(&bench, "net", within("10.0.0.0/16"));
    let refused = add(&bench, 1, "10.1.0.0/29").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutOfBounds);
    assert!(refused.cause.contains("networks.net.within allows only 10.0.0.0/16"), "{refused}");
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");

    // The bounds change while the network serves.
    bound(&bench, "net", within("10.5.0.0/16"));
    assert_eq!(code(bench.address(2).await), ErrorCode::OutOfBounds);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2", "a held address stays with its owner");
    bench.engine.look_at_networks();
    let told = bench.engine.whats_wrong();
    assert_eq!((told[0].name, told[0].subject.as_str()), (ConditionName::NetworkOutOfBounds, "net"));
    assert!(bench.engine.readiness().is_ok(), "other networks are served");

    bound(&bench, "net", within("10.0.0.0/8"));
    bench.engine.look_at_networks();
    assert!(bench.engine.whats_wrong().is_empty());
    assert_eq!(bench.address(2).await.unwrap(), "10.0.0.3");

    let only_last =
        NetworkBounds { policies: vec![PolicyName::new("last").unwrap()], ..within("10.0.0.0/8") };
    bound(&bench, "net", only_last);
    assert_eq!(code(bench.address(3).await), ErrorCode::OutOfBounds);
}

#[tokio::test]
async fn a_network_that_has_its_ranges_for_itself_is_overlapped_by_none() {
    let bench = Bench::new(8, 8);
    let define = async |name: &str, ipam: &str| {
        bench.engine.define_network(&define(name, Definer::Operator, ipam)).await.map(drop)
    };
    define("net", "10.0.0.0/29").await.unwrap();
    define("shared", "10.0.0.0/28").await.unwrap();
    let exclusive = || NetworkBounds { exclusive: true, ..NetworkBounds::default() };
    bound(&bench, "own", exclusive());
    let refused = define("own", "10.0.0.0/24").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutOfBounds);
    assert!(refused.cause.ends_with("network own is exclusive"), "{refused}");

    // When a network becomes exclusive, networks that overlap it are refused, and the network itself is not.
    bound(&bench, "net", exclusive());
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    let mut shared = bench.add(2);
    shared.request.network = named("shared");
    assert_eq!(code(bench.engine.add(shared, fits).await), ErrorCode::OutOfBounds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn networks_that_may_not_overlap_are_defined_side_by_side() {
    let bench = Arc::new(Bench::new(64, 64));
    let exclusive = NetworkBounds { exclusive: true, ..NetworkBounds::default() };
    let networks = ["a", "b", "c"].map(|name| (named(name), exclusive.clone()));
    let mut settings = bench.engine.settings().as_ref().clone();
    settings.bounds = Arc::new(Bounds { networks: networks.into(), ..Bounds::default() });
    bench.engine.set(settings);
    let tasks = ["a", "b", "c"].into_iter().enumerate().map(|(index, name)| {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move {
            for turn in 0..300 {
                let ipam = format!("10.{index}.{}.0/29", turn % 2);
                let define = Define { change_ranges: true, ..define(name, Definer::Operator, &ipam) };
                bench.engine.define_network(&define).await.unwrap();
            }
        })
    });
    let all = futures_util::future::try_join_all(tasks);
    tokio::time::timeout(Duration::from_secs(60), all).await.unwrap().unwrap();
}

/// Some attributes of a definition are settings of the host; here the one that says who the delegate is.
#[tokio::test]
async fn a_policy_that_sets_more_of_the_host_than_it_was_granted_serves_no_network() {
    const SETTINGS: &[&str] = &[DELEGATED];
    let (bench, _) = without_network();
    let name = PolicyName::new("delegate.foreign").unwrap();
    for granted in [None, SettingPattern::new(DELEGATED, SETTINGS)] {
        let settings: Vec<_> = granted.into_iter().collect();
        let (is_granted, of_policy) =
            (!settings.is_empty(), PolicyBounds { settings, ..PolicyBounds::default() });
        let policies = [(name.clone(), of_policy)].into();
        let bounds = Arc::new(Bounds { policies, host_settings: SETTINGS, ..Bounds::default() });
        bench.engine.set(Settings { bounds, ..bench.engine.settings().as_ref().clone() });
        let answer = bench.engine.add(bench.delegated(1), fits).await.map(drop).map_err(|error| error.code);
        assert_eq!(answer, if is_granted { Ok(()) } else { Err(ErrorCode::OutOfBounds) });
    }
}
