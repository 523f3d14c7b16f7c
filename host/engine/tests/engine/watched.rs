//! Watched exchanges that changed the ranges as well: the policy before would have another book, so only failures count.

use tenure_engine::Define;
use tenure_types::{Definer, ErrorCode, PolicyName};

use crate::claiming::ask;
use crate::support::{Bench, fits, network};

/// The policy that serves after three requests to one that has replaced another together with the ranges.
async fn after_three_requests(before: &str, policy: &str, code: ErrorCode) -> String {
    let bench = Bench::new(8, 8);
    for (policy, ipam) in [(before, "10.0.0.0/29"), (policy, "10.0.1.0/29")] {
        let define = Define {
            network: network(),
            policy: PolicyName::new(policy).unwrap(),
            config: bench.add_with(1, policy, ipam).config,
            by: Definer::Operator,
            apply: true,
            change_ranges: true,
        };
        bench.engine.define_network(&define).await.unwrap();
    }
    for number in 1..=3 {
        let answer = bench.engine.add(bench.add(number), fits).await;
        assert_eq!(answer.map(|_| ()).unwrap_err().code, code);
    }
    bench.engine.tend().await;
    bench.engine.policies_of(&network()).unwrap().now.policy.name.to_string()
}

#[tokio::test]
async fn refusals_roll_nothing_back_that_changed_the_ranges_and_failures_do() {
    for (before, policy, code, serves) in [
        ("first", "refuses-live", ErrorCode::PolicyRefused, "refuses-live"),
        ("first", "fails-live", ErrorCode::PolicyFailed, "first"),
        // Whether it would refuse with its own ranges is not known; that it does not fail is.
        ("refuses-live", "fails-live", ErrorCode::PolicyFailed, "refuses-live"),
        ("failing", "fails-live", ErrorCode::PolicyFailed, "fails-live"),
    ] {
        assert_eq!(after_three_requests(before, policy, code).await, serves, "{policy} after {before}");
    }
}

#[tokio::test]
async fn what_fails_for_an_agent_rolls_nothing_back_for_pods() {
    let bench = Bench::new(8, 8);
    for policy in ["first", "fails-live"] {
        bench.define_with("net", policy, "10.0.0.0/29").await;
    }
    for _ in 0..3 {
        let refused = bench.claimed("cilium", &ask("router")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PolicyFailed);
    }
    bench.engine.tend().await;
    let serves = || bench.engine.policies_of(&network()).unwrap().now.policy.name.to_string();
    assert_eq!(serves(), "fails-live");
    // Nor does an agent dilute what fails for pods.
    for number in 1..=3 {
        assert!(bench.engine.add(bench.add(number), fits).await.is_err());
    }
    bench.engine.tend().await;
    assert_eq!(serves(), "first");
}
