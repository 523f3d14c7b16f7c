//! Another IPAM with addresses that the ledger does not know, on networks that a delegate serves, or served before.

use std::sync::{Arc, Mutex};

use tenure_engine::Activate;
use tenure_types::{ErrorCode, PolicyName};

use crate::claiming::ask;
use crate::delegating::without_network;
use crate::moving::Other;
use crate::support::{Bench, activate, fits, network};

/// An engine with a delegate and without a network, beside another IPAM with a reservation.
fn beside(reservation: (&'static str, &'static str, u32)) -> (Bench, Arc<Other>) {
    let other = Arc::new(Other(Mutex::new(vec![reservation]), Mutex::default()));
    let (bench, _foreign) = without_network();
    bench.engine.compare_with_others(Arc::clone(&other) as _);
    (bench, other)
}

/// Regression: the policy in the caller's configuration counted, although another one serves.
#[tokio::test]
async fn whoever_names_a_delegate_that_does_not_serve_is_refused_as_well() {
    let is_refused = async |bench: &Bench, policy: &str| {
        let refused = bench.engine.add(bench.add_with(8, policy, "10.0.0.0/29"), fits).await;
        let config = bench.add_with(8, policy, "10.0.0.0/29").config;
        let named = PolicyName::new(policy).unwrap();
        let status = bench.engine.status(&network(), &named, &config).await.map_err(|error| error.code);
        refused.is_err_and(|error| error.code == ErrorCode::NotTakenOver)
            && status == Err(ErrorCode::Unavailable)
    };
    // The delegate had the network, and an operator has chosen a policy.
    let (bench, _) = beside(("10.0.0.2", "5", 1));
    bench.engine.add(bench.add_with(7, "delegate.foreign", "10.0.0.0/29"), fits).await.unwrap();
    let chosen = Activate { change_ranges: true, unchecked: true, ..activate("first") };
    bench.engine.activate(&chosen).await.unwrap();
    assert!(is_refused(&bench, "delegate.foreign").await);

    // An operator has defined the network, with a policy.
    let (bench, other) = beside(("10.0.0.2", "5", 1));
    bench.define("net", "10.0.0.0/28").await;
    assert!(is_refused(&bench, "delegate.foreign").await && is_refused(&bench, "delegate.bogus").await);
    assert!(bench.is_refused(8).await);
    assert_eq!(*other.1.lock().unwrap(), "10.0.0.0/28", "a caller's configuration does not count there");
}

/// Regression: the first owner after the delegate was judged as one of the delegate.
#[tokio::test]
async fn the_first_owner_that_a_delegate_does_not_serve_any_more_is_refused() {
    let (bench, _) = beside(("10.0.0.2", "5", 1));
    bench.engine.add(bench.delegated(7), fits).await.unwrap();
    assert!(bench.is_refused(8).await);
    bench.engine.compare_again().await;
    assert_eq!(bench.unfinished(), ["10.0.0.2"]);
    bench.engine.add(bench.delegated(9), fits).await.unwrap();
}

/// Regression: the condition stayed until the daemon's restart.
#[tokio::test]
async fn a_network_of_which_a_delegate_takes_care_is_not_unfinished_any_more() {
    let (bench, _) = beside(("10.0.0.2", "5", 1));
    assert!(bench.is_refused(7).await);
    assert_eq!(bench.unfinished(), ["10.0.0.2"]);
    bench.engine.add(bench.delegated(7), fits).await.unwrap();
    assert!(bench.unfinished().is_empty());
}

#[tokio::test]
async fn an_agents_claim_is_refused_as_an_owner_is_unless_a_delegate_serves_the_network() {
    let (bench, other) = beside(("10.0.0.2", "5", 1));
    bench.define("net", "10.0.0.0/28").await;
    let refused = bench.claimed("cilium", &ask("router")).await;
    assert_eq!(bench.code(refused), ErrorCode::NotTakenOver);
    assert_eq!(
        (other.1.lock().unwrap().as_str(), bench.unfinished()),
        ("10.0.0.0/28", vec!["10.0.0.2".to_owned()])
    );

    let (bench, _) = beside(("10.0.0.2", "5", 1));
    bench.engine.add(bench.delegated(7), fits).await.unwrap();
    bench.claimed("cilium", &ask("router")).await.unwrap();
}
