//! Grants: what is not granted is not called, and what is exceeded names the key.

use std::time::Duration;

use crate::node::{self, Node};
use tenure_policy::Grants;
use tenure_types::{Attributes, Demand, EffectKind, ErrorCode, PlanState};

const TIERS: &str = r#"{"ranges": [[{"subnet": "10.1.1.0/24", "rangeAttributes": {"tier": "gold"}}, {"subnet": "10.1.2.0/24"}]]}"#;

const IPAM: &str = r#"{"subnet": "10.1.2.0/24"}"#;

#[test]
fn a_call_is_bounded_by_what_its_policy_is_granted() {
    let policy = node::load("bounded", &node::build("tenure-hostile"));
    let misbehaves = |how: &str| {
        let ipam = format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{how}"}}"#);
        Node::define(&policy, &ipam).unwrap().add("c", &[]).unwrap_err().cause
    };
    assert!(misbehaves("spin").contains("ran longer than 50 ms (sandbox.deadline_ms)"));
    policy.grant(Grants { deadline: Some(Duration::from_millis(5)), ..Grants::default() });
    let spun = misbehaves("spin");
    assert!(spun.contains("ran longer than 5 ms (policies.bounded.deadline_ms)"), "{spun}");
    // With the sandbox's deadline: on a slow machine, to grow takes longer than that.
    policy.grant(Grants { memory: Some(4 << 20), ..Grants::default() });
    let grew = misbehaves("grow");
    assert!(grew.contains("more than 4 MiB of memory (policies.bounded.memory_mib)"), "{grew}");
    Node::define(&policy, IPAM).unwrap().add("c", &[]).unwrap();
    // More than the sandbox has is not to be had.
    let (deadline, memory) = (Some(Duration::from_secs(5)), Some(1 << 30));
    policy.grant(Grants { deadline, memory, ..Grants::default() });
    assert!(misbehaves("grow").contains("more than 16 MiB of memory (sandbox.memory_mib)"));
}

#[test]
fn a_world_that_is_not_granted_is_never_called() {
    let policy = node::load("stateless", &node::build_example("rotation"));
    let racks = r#"{"ranges": [[{"subnet": "10.1.0.0/29", "rangeAttributes": {"rack": "a"}}]]}"#;
    let mut node = Node::define(&policy, racks).unwrap();
    assert_eq!(policy.worlds(), [("stateful", true)]);
    policy.grant(Grants { stateful: false, ..Grants::default() });
    assert_eq!((policy.worlds(), policy.keeps_state()), (vec![("stateful", false)], false));
    node.state = b"kept".to_vec();
    let failed = node.add("c", &[]).unwrap_err();
    assert!(
        failed.code == ErrorCode::PolicyFailed && failed.cause.contains("add \"stateful\" to `worlds`"),
        "{failed}"
    );
    assert_eq!(node.state, b"kept");
    let refused = policy.migrate(b"kept", policy.stamp(), &node.book).unwrap_err();
    assert!(refused.code == ErrorCode::Internal && refused.cause.contains("not granted"), "{refused}");

    let policy = node::load("planless", &node::build_example("aws_eni"));
    let node = Node::define(&policy, r#"{"warm": 8}"#).unwrap();
    policy.grant(Grants { planner: false, ..Grants::default() });
    assert!(!policy.plans());
    assert_eq!(node.plan(&PlanState::default()).unwrap_err().code, ErrorCode::Internal);
}

#[test]
fn a_plan_with_an_effect_that_is_not_granted_fails() {
    let policy = node::load("effects", &node::build_example("aws_eni"));
    let node = Node::define(&policy, r#"{"warm": 8}"#).unwrap();
    let demands = vec![Demand { pool: 0, waiting: 20, attributes: Attributes::default() }];
    let attributes = Attributes::new([("interfaces.free", "1")]).unwrap();
    let state = PlanState { demands, attributes, ..PlanState::default() };
    for effects in [vec![], vec![EffectKind::AssignPrefix, EffectKind::DetachInterface]] {
        policy.grant(Grants { effects, ..Grants::default() });
        let refused = node.plan(&state).unwrap_err();
        assert_eq!(refused.code, ErrorCode::PolicyFailed);
        assert!(refused.cause.contains("it plans the effect attach-interface, which `effects`"), "{refused}");
    }
    policy.grant(Grants { effects: vec![EffectKind::AttachInterface], ..Grants::default() });
    assert!(!node.plan(&state).unwrap().is_empty());
}

#[test]
fn a_label_that_is_not_granted_is_not_seen() {
    let policy = node::load("tiers", &node::build_example("tiers"));
    let mut node = Node::define(&policy, TIERS).unwrap();
    let told = [("pod.label.tier", "gold"), ("pod.label.team", "red")];
    node.context.metadata = told.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    assert_eq!(node.add("before", &[]).unwrap(), ["10.1.2.2"]);
    let metadata = vec!["pod.label.tier".to_owned()];
    policy.grant(Grants { metadata, ..Grants::default() });
    assert_eq!(node.add("after", &[]).unwrap(), ["10.1.1.2"]);
    policy.grant(Grants { metadata: vec!["pod.annotation.tier".to_owned()], ..Grants::default() });
    assert_eq!(node.add("again", &[]).unwrap(), ["10.1.2.3"]);
}
