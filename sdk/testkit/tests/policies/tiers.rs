//! The example of tiers, run natively: a case file gives a pod its labels.

#[path = "../../../guest/examples/tiers.rs"]
#[expect(unreachable_pub, reason = "an example is a crate of its own")]
mod example;

use tenure_testkit::Native;
use tenure_testkit::cases::{Case, parse, run};

#[test]
fn a_pod_has_the_labels_of_its_own_step_only() {
    let text = r#"network { "ranges": [[
  { "subnet": "10.1.1.0/29", "rangeAttributes": { "tier": "gold" } },
  { "subnet": "10.1.2.0/24" }
]] }
add shop/a with pod.label.tier=gold -> 10.1.1.2
add shop/b -> 10.1.2.2
add shop/c with pod.label.app=web, pod.label.tier=gold requesting 10.1.1.6 -> rejected
add shop/d with pod.label.tier=lead -> exhausted "no address is free for tier lead"
"#;
    let steps = parse(text).unwrap();
    assert_eq!(
        steps.iter().map(|(_, step)| step.to_string()).nth(3).unwrap(),
        "add shop/c with pod.label.app=web, pod.label.tier=gold requesting 10.1.1.6"
    );
    let case = Case { path: "cases/tiers.txt".into(), steps };
    assert_eq!(run(&case, Native::<example::Tiers>::new).failure, None);
}
