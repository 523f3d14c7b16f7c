//! The history of a network's policies: what was done, by whom and when.

use std::time::Duration;

use tenure_engine::{ExchangeSettings, Settings};
use tenure_types::PolicyName;

use crate::support::{Bench, activate, network};

/// Regression: a second shadow run replaced the first one, whose end the history did not have.
#[tokio::test]
async fn a_shadow_run_that_another_replaces_has_an_end() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    for (policy, why) in [("last", "alice, a trial"), ("counting", "")] {
        bench.engine.shadow(&network(), &PolicyName::new(policy).unwrap().into(), why).await.unwrap();
    }
    bench.engine.end_shadow(&network(), "bob").await.unwrap();
    let steps = bench.engine.policies_of(&network()).unwrap().history;
    let told: Vec<_> = steps
        .iter()
        .take(4)
        .map(|step| (step.kind.name(), step.policy.name.as_str(), step.why.as_str()))
        .collect();
    let expected = [
        ("shadow-ended", "counting", "ended by an operator: bob"),
        ("shadow-begun", "counting", "begun by an operator"),
        ("shadow-ended", "last", "replaced by an operator, with counting@counting"),
        ("shadow-begun", "last", "begun by an operator: alice, a trial"),
    ];
    assert_eq!(told, expected);
}

/// Regression: a policy that no request had tried was kept as if it had answered.
#[tokio::test]
async fn a_policy_that_no_request_has_tried_is_kept_for_that_reason() {
    let bench = Bench::new(8, 8);
    let exchange = ExchangeSettings { watch: Duration::from_secs(60), worse_percent: 1 };
    bench.engine.set(Settings { exchange, ..bench.engine.settings().as_ref().clone() });
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("last")).await.unwrap();
    bench.tick(61_000);
    bench.engine.tend().await;
    let step = bench.engine.policies_of(&network()).unwrap().history[0].clone();
    assert_eq!(step.kind.name(), "kept");
    assert!(step.why.starts_with("nothing was compared: no request came"), "{}", step.why);
}
