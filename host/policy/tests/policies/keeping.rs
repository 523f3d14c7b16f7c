//! Policies that keep state: it changes only together with an accepted proposal.

use crate::node::{self, Node, example};
use tenure_types::{ErrorCode, PolicyName, PolicyStamp};

const RACKS: &str = r#"{"ranges": [[{"subnet": "10.1.0.0/29", "rangeAttributes": {"rack": "a"}},
                                     {"subnet": "10.2.0.0/29", "rangeAttributes": {"rack": "b"}}]]}"#;

fn add(node: &mut Node, container: &str) -> String {
    node.add(container, &[]).unwrap().join(" ")
}

#[test]
fn rotation_racks_take_turns_by_what_was_kept() {
    let policy = example("rotation");
    assert!(policy.keeps_state() && !policy.plans());
    let mut node = Node::define(&policy, RACKS).unwrap();
    assert_eq!(add(&mut node, "c1"), "10.1.0.2");
    assert_eq!(add(&mut node, "c2"), "10.2.0.2");
    assert_eq!(add(&mut node, "c3"), "10.1.0.3");
    assert_eq!((node.book.count("rack", "a"), node.book.count("rack", "b")), (2, 1));
    assert_eq!(node.state, b"a");
    // A rejected proposal leaves the state unchanged: this owner already has its addresses.
    let error = node.add("c3", &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::ProposalRejected);
    assert_eq!(node.state, b"a");
    assert_eq!(add(&mut node, "c4"), "10.2.0.3");
}

#[test]
fn a_state_is_migrated_or_refused() {
    let policy = example("rotation");
    let node = Node::define(&policy, RACKS).unwrap();
    let stamp = |name| PolicyStamp { name: PolicyName::new(name).unwrap(), digest: "0".repeat(64).into() };
    assert_eq!(*policy.migrate(b"a", &stamp("rotation"), &node.book).unwrap(), *b"a");
    let error = policy.migrate(b"a", &stamp("another"), &node.book).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyRefused);
    assert!(error.cause.ends_with("this is not the state of a rotation"), "{error}");
}

#[test]
fn a_state_is_bounded_and_a_policy_that_fails_changes_none() {
    let hostile = node::load("hostile", &node::build("tenure-hostile"));
    let define = |misbehaviour: &str| {
        let ipam = format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{misbehaviour}"}}"#);
        let mut node = Node::define(&hostile, &ipam).unwrap();
        node.state = b"kept".to_vec();
        node
    };
    for (misbehaviour, cause) in [
        ("state-long", "its state is 262144 bytes, and the limit is 16384"),
        ("state-spin", "ran longer than 50 ms"),
        ("state-trap", "unreachable"),
    ] {
        let mut node = define(misbehaviour);
        let error = node.add("c1", &[]).unwrap_err();
        assert_eq!(error.code, ErrorCode::PolicyFailed, "{misbehaviour}");
        assert!(error.cause.contains(cause), "{misbehaviour}: {error}");
        assert!(node.state == b"kept" && node.book.allocations().len() == 0, "{misbehaviour}");
    }
    let mut node = define("behave");
    node.add("c1", &[]).unwrap();
    assert_eq!(node.state, b"kept");
    let error = hostile.migrate(b"long", hostile.stamp(), &node.book).unwrap_err();
    assert!(error.cause.contains("its state is 262144 bytes"), "{error}");

    let host_local = node::load("host-local", tenure_policy::embedded::HOST_LOCAL);
    let mut node = Node::define(&host_local, r#"{"subnet": "10.1.2.0/24"}"#).unwrap();
    node.state = b"another's".to_vec();
    node.add("c1", &[]).unwrap();
    assert_eq!(node.state, b"another's", "a policy that keeps none changes none");
    let error = host_local.migrate(b"a", hostile.stamp(), &node.book).unwrap_err();
    assert_eq!(error.code, ErrorCode::Internal);
}
