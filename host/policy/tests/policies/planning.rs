//! Policies that plan, with a supply that follows the plans: ranges are added, drained and withdrawn while addresses
//! are held.

use crate::node::{self, Node, example};
use tenure_policy::embedded;
use tenure_types::{Attributes, Demand, Effect, EffectKind, ErrorCode, Object, PlanState, Range, RangeName};

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    Attributes::new(pairs.iter().copied()).unwrap()
}

fn effect(kind: EffectKind, pairs: &[(&str, &str)]) -> Effect {
    Effect { kind, pool: 0, attributes: attributes(pairs) }
}

/// A state in which this many requests wait for the first pool.
fn waiting(waiting: u32) -> PlanState {
    let demands = vec![Demand { pool: 0, waiting, attributes: Attributes::default() }];
    PlanState { demands, ..PlanState::default() }
}

/// A range of a subnet with a name and a label.
fn range(subnet: &str, ends: (&str, &str), name: &str, label: (&str, &str)) -> Range {
    let subnet: ipnet::IpNet = subnet.parse().unwrap();
    let range = Range::new(subnet, ends.0.parse().unwrap(), ends.1.parse().unwrap(), None, 32).unwrap();
    range.named(RangeName::new(name).unwrap()).with(attributes(&[label]))
}

/// A prefix delegated to an interface.
fn prefix(interface: &str, name: &str, ends: (&str, &str)) -> Range {
    range("10.0.0.0/16", ends, name, ("interface", interface))
}

/// Interfaces with room for these numbers of prefixes, and a number of interfaces that can still be attached.
fn interfaces(slots: &[(&str, &str)], free: &str) -> PlanState {
    let object = |(name, slots): &(&str, &str)| Object {
        kind: "interface".into(),
        name: (*name).into(),
        attributes: attributes(&[("slots.free", slots)]),
    };
    let attributes = attributes(&[("interfaces.free", free)]);
    PlanState { objects: slots.iter().map(object).collect(), attributes, ..PlanState::default() }
}

#[test]
fn aws_eni_hands_out_from_the_fullest_interface_and_plans_for_what_is_short() {
    let policy = example("aws_eni");
    assert!(policy.plans() && !policy.keeps_state());
    let mut node = Node::define(&policy, r#"{"warm": 8}"#).unwrap();
    let error = node.add("early", &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotYet);
    assert_eq!(error.code.cni(), 11, "the runtime tries again");

    // 20 requests wait and 8 addresses should be spare: two prefixes, of which the one interface has room for one.
    let state = PlanState { demands: waiting(20).demands, ..interfaces(&[("eni-1", "1")], "1") };
    let assign = effect(EffectKind::AssignPrefix, &[("interface", "eni-1"), ("count", "1")]);
    let attach = effect(EffectKind::AttachInterface, &[("prefixes", "1")]);
    assert_eq!(node.plan(&state).unwrap(), [assign.clone(), attach]);
    assert_eq!(node.plan(&PlanState { pending: vec![assign], ..state }).unwrap(), [], "it asks once");
    let full = PlanState { demands: waiting(20).demands, ..interfaces(&[("eni-1", "0")], "0") };
    assert_eq!(node.plan(&full).unwrap(), []);

    node.supply("ipv4", prefix("eni-1", "10.0.1.16/28", ("10.0.1.16", "10.0.1.31")));
    node.supply("ipv4", prefix("eni-2", "10.0.2.16/28", ("10.0.2.16", "10.0.2.31")));
    node.supply("ipv4", prefix("eni-2", "10.0.2.32/28", ("10.0.2.32", "10.0.2.47")));
    // All 16 addresses of a prefix are assigned, those of the fullest interface first.
    for fourth in 16..32 {
        assert_eq!(node.add(&format!("a{fourth}"), &[]).unwrap(), [format!("10.0.1.{fourth}")]);
    }
    assert_eq!(node.add("b1", &[]).unwrap(), ["10.0.2.16"]);
    let held = node.book.holder("10.0.2.16".parse().unwrap()).unwrap();
    let source = &held.addresses.first().unwrap().source;
    assert_eq!(source.range_attributes.get("interface"), Some("eni-2"), "what is needed to route it");

    // 31 addresses are spare: one prefix is released, in which no address is held.
    let unused = effect(EffectKind::ReleasePrefix, &[("range", "10.0.2.32/28")]);
    assert_eq!(node.plan(&interfaces(&[], "0")).unwrap(), [unused]);
    node.drain("ipv4", "10.0.2.32/28");
    assert_eq!(node.plan(&interfaces(&[], "0")).unwrap(), []);
    node.withdraw("ipv4", "10.0.2.32/28");

    // The owners on a draining interface keep their addresses; released ones do not return to it.
    node.drain("ipv4", "10.0.1.16/28");
    node.release("a16");
    node.thaw();
    assert_eq!(node.add("a16", &[]).unwrap(), ["10.0.2.17"]);
    node.withdraw("ipv4", "10.0.1.16/28");
    assert!(node.holds("10.0.1.17"));
}

#[test]
fn cluster_range_fills_a_block_asks_for_another_and_gives_one_back() {
    let policy = example("cluster_range");
    let mut node = Node::define(&policy, r#"{"pools": ["pods"]}"#).unwrap();
    let block = |name, ends: (&str, &str)| range("10.8.0.0/16", ends, name, ("block", name));
    let error = node.add("early", &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotYet);
    assert!(error.cause.ends_with("no block of pods.v4 has a free address yet"), "{error}");

    let ask = |addresses| effect(EffectKind::RequestBlock, &[("addresses", addresses)]);
    assert_eq!(node.plan(&waiting(3)).unwrap(), [ask("11")]);
    let pending = PlanState { pending: vec![ask("11")], ..waiting(3) };
    assert_eq!(node.plan(&pending).unwrap(), []);
    node.supply("pods.v4", block("a", ("10.8.1.0", "10.8.1.15")));
    assert_eq!(node.plan(&PlanState::default()).unwrap(), []);

    for fourth in 0..10 {
        assert_eq!(node.add(&format!("c{fourth}"), &[]).unwrap(), [format!("10.8.1.{fourth}")]);
    }
    assert_eq!(node.plan(&PlanState::default()).unwrap(), [ask("2")]);
    node.supply("pods.v4", block("b", ("10.8.2.0", "10.8.2.15")));
    assert_eq!(node.add("d", &[]).unwrap(), ["10.8.1.10"], "the fuller block first");
    assert_eq!(node.plan(&PlanState::default()).unwrap(), [], "without it too few addresses would be left");

    for container in ["c0", "c1", "c2"] {
        node.release(container);
    }
    // An address that is cooling down is not free, and a block is not returned while one of its addresses is cooling
    // down.
    assert_eq!(node.plan(&PlanState::default()).unwrap(), []);
    node.thaw();
    let give_back = effect(EffectKind::GiveBackBlock, &[("block", "b")]);
    assert_eq!(node.plan(&PlanState::default()).unwrap(), std::slice::from_ref(&give_back));
    // The handshake: drain the block first, so that nothing new comes into it, then withdraw it.
    node.drain("pods.v4", "b");
    let pending = PlanState { pending: vec![give_back], ..PlanState::default() };
    assert_eq!(node.plan(&pending).unwrap(), []);
    assert_eq!(node.add("e", &[]).unwrap(), ["10.8.1.11"]);
    node.withdraw("pods.v4", "b");
    assert_eq!(node.book.pool_of("10.8.2.0".parse().unwrap()), None);
}

#[test]
fn a_policy_that_does_not_plan_is_not_asked() {
    let policy = node::load("host-local", embedded::HOST_LOCAL);
    assert!(!policy.plans() && !policy.keeps_state());
    let node = Node::define(&policy, r#"{"subnet": "10.1.2.0/24"}"#).unwrap();
    let error = node.plan(&PlanState::default()).unwrap_err();
    assert_eq!(error.code, ErrorCode::Internal);
    assert!(error.cause.ends_with("does not plan"), "{error}");
}

#[test]
fn a_wrong_plan_is_no_plan() {
    let hostile = node::load("hostile", &node::build("tenure-hostile"));
    let plan = |misbehaviour: &str| {
        let ipam = format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{misbehaviour}"}}"#);
        let state = PlanState {
            pending: vec![effect(EffectKind::DetachInterface, &[("interface", "eni-1")])],
            ..waiting(1)
        };
        Node::define(&hostile, &ipam).unwrap().plan(&state)
    };
    assert_eq!(plan("behave").unwrap(), [effect(EffectKind::DetachInterface, &[("interface", "eni-1")])]);
    for (misbehaviour, code, cause) in [
        ("plan-spin", ErrorCode::PolicyFailed, "ran longer than 50 ms"),
        ("plan-grow", ErrorCode::PolicyFailed, "wanted more than 16 MiB of memory"),
        ("plan-trap", ErrorCode::PolicyFailed, "unreachable"),
        ("plan-long-list", ErrorCode::PolicyFailed, "it plans 2000 effects, and the limit is 256"),
        ("plan-no-pool", ErrorCode::PolicyFailed, "an effect on pool 7, but the network has only 1"),
        (
            "plan-unknown",
            ErrorCode::PolicyFailed,
            "an effect that this version does not know: \"reboot\\u{1b}[2J\"",
        ),
        (
            "plan-many-attributes",
            ErrorCode::PolicyFailed,
            "it returned invalid attributes of an effect: 100 attributes",
        ),
        ("plan-refuse", ErrorCode::NotYet, "later"),
    ] {
        let error = plan(misbehaviour).unwrap_err();
        assert_eq!(error.code, code, "{misbehaviour}: {error}");
        assert!(error.cause.contains(cause), "{misbehaviour}: {error}");
        assert!(plan("behave").is_ok(), "after {misbehaviour}");
    }
}
