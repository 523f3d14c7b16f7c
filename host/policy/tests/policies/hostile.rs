//! Policies that misbehave: each fails only its own call, the next call works, and the daemon's memory stays bounded.

use std::sync::{Arc, OnceLock};

use crate::node::{self, Node};
use tenure_policy::WasmPolicy;
use tenure_types::ErrorCode;

/// The peak memory that this program may reach, compilers included; a single bomb that works exceeds it.
const MOST_KIB: u64 = 512 << 10;

fn hostile() -> Arc<WasmPolicy> {
    static POLICY: OnceLock<Arc<WasmPolicy>> = OnceLock::new();
    Arc::clone(POLICY.get_or_init(|| node::load("hostile", &node::build("tenure-hostile"))))
}

fn define(misbehaviour: &str) -> Result<Node, tenure_types::Error> {
    Node::define(&hostile(), &format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{misbehaviour}"}}"#))
}

/// The peak memory of this program, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn each_misbehaviour_fails_its_own_call_alone() {
    use ErrorCode::{PolicyFailed, ProposalRejected};
    define("behave").unwrap().add("first", &[]).unwrap();
    for (misbehaviour, code, cause) in [
        ("spin", PolicyFailed, "ran longer than 50 ms"),
        ("grow", PolicyFailed, "wanted more than 16 MiB of memory"),
        ("recurse", PolicyFailed, "call stack exhausted"),
        ("trap", PolicyFailed, "unreachable"),
        ("panic", PolicyFailed, "as told"),
        ("huge-text", PolicyFailed, "wanted more than 16 MiB of memory"),
        ("long-text", PolicyFailed, "fuel"),
        ("long-list", PolicyFailed, "fuel"),
        ("chatter", PolicyFailed, "ran longer than 50 ms"),
        ("not-an-address", PolicyFailed, "which is not an address"),
        ("many-tags", PolicyFailed, "it returned invalid attributes of an allocation: 100 attributes"),
        ("ugly-tag", PolicyFailed, "the value of attribute tag"),
        ("nothing", ProposalRejected, "it has no address from pool 0"),
        ("outside", ProposalRejected, "8.8.8.8 is outside pool 0"),
        ("held", ProposalRejected, "10.1.2.2 is held by first/eth0"),
        ("network-address", ProposalRejected, "10.1.2.0 is outside pool 0"),
        ("broadcast", ProposalRejected, "10.1.2.255 is outside pool 0"),
        ("gateway", ProposalRejected, "is the gateway"),
        ("other-family", ProposalRejected, "2001:db8::1 is outside pool 0"),
        ("duplicate", ProposalRejected, "it has more than one address from pool 0"),
    ] {
        let mut node = define(misbehaviour).unwrap();
        if misbehaviour == "held" {
            // Its first proposal is a free address, since nothing is held yet.
            assert_eq!(node.add("first", &[]).unwrap(), ["10.1.2.2"]);
        }
        let error = node.add("victim", &[]).unwrap_err();
        assert_eq!(error.code, code, "{misbehaviour}: {error}");
        assert!(error.cause.contains(cause), "{misbehaviour}: {error}");
        assert!(!error.cause.contains(char::is_control) && error.cause.chars().count() < 2048, "{error:?}");
        if code == PolicyFailed {
            let stamp = hostile().stamp().to_string();
            assert!(error.cause.contains(&stamp), "no policy and digest in {error}");
        }
        let others = usize::from(misbehaviour == "held");
        assert_eq!(node.book.allocations().len(), others, "{misbehaviour}: the victim holds something");
        define("behave")
            .unwrap()
            .add("next", &[])
            .unwrap_or_else(|error| panic!("after {misbehaviour}: {error}"));
    }
    assert!(peak() < MOST_KIB, "{} KiB", peak());
}

#[test]
fn a_question_with_thousands_of_labels_takes_no_time() {
    let mut node = define("many-labels").unwrap();
    // From the second on, a last address is known.
    for container in ["first", "second", "third"] {
        node.add(container, &[]).unwrap_or_else(|error| panic!("{container}: {error}"));
    }
}

#[test]
fn each_wrong_definition_is_refused() {
    for (misbehaviour, code, cause) in [
        ("define-spin", ErrorCode::PolicyFailed, "ran longer than 50 ms"),
        ("define-grow", ErrorCode::PolicyFailed, "wanted more than 16 MiB of memory"),
        ("define-recurse", ErrorCode::PolicyFailed, "call stack exhausted"),
        ("define-trap", ErrorCode::PolicyFailed, "unreachable"),
        ("define-panic", ErrorCode::PolicyFailed, "as told"),
        ("define-huge-text", ErrorCode::PolicyFailed, "wanted more than 16 MiB of memory"),
        ("define-long-text", ErrorCode::PolicyFailed, "fuel"),
        ("define-long-list", ErrorCode::PolicyFailed, "fuel"),
        ("define-not-a-subnet", ErrorCode::PolicyFailed, "\"everywhere\", which is not a subnet"),
        ("define-unknown-cooling", ErrorCode::PolicyFailed, "sometimes\\u{1b}[2J"),
        ("define-unknown-supply", ErrorCode::PolicyFailed, "a pool supply that this version does not know"),
        ("define-unknown-need", ErrorCode::PolicyFailed, "a pool need that this version does not know"),
        (
            "define-supplied-ranges",
            ErrorCode::ProposalRejected,
            "pool 0 has ranges, but the host supplies it",
        ),
        (
            "define-ugly-pool",
            ErrorCode::PolicyFailed,
            "it named a pool \"a pool \", which is not a valid name",
        ),
        (
            "define-ugly-range",
            ErrorCode::PolicyFailed,
            "it named a range \"a range \", which is not a valid name",
        ),
        (
            "define-twice-an-attribute",
            ErrorCode::PolicyFailed,
            "it returned invalid attributes of a range: attribute a",
        ),
        ("define-many-attributes", ErrorCode::PolicyFailed, "100 attributes, but at most 32 are allowed"),
        ("define-long-attribute", ErrorCode::PolicyFailed, "the value of attribute note"),
        ("define-ugly-attribute", ErrorCode::PolicyFailed, "attribute name"),
        ("define-refuse", ErrorCode::InvalidConfig, "ipam.x: wrong"),
        ("define-refuse-silently", ErrorCode::InvalidConfig, "the network's configuration is wrong"),
        ("define-ugly-refusal", ErrorCode::InvalidConfig, "ugly \\u{1b}[2Jugly"),
        ("nothing-known", ErrorCode::InvalidConfig, "ipam.misbehave: no such misbehaviour"),
    ] {
        let error = define(misbehaviour).map(|_| ()).unwrap_err();
        assert_eq!(error.code, code, "{misbehaviour}: {error}");
        assert!(error.cause.contains(cause), "{misbehaviour}: {error}");
        assert!(!error.cause.contains(char::is_control) && error.cause.chars().count() < 2048, "{error:?}");
        assert!(define("behave").is_ok(), "after {misbehaviour}");
    }
}

#[test]
fn calls_beyond_the_concurrency_wait_and_misbehaviour_beside_them_does_not_matter() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| define("spin").unwrap().add("victim", &[]).unwrap_err());
            scope.spawn(|| define("grow").unwrap().add("victim", &[]).unwrap_err());
            scope.spawn(|| {
                let mut node = define("behave").unwrap();
                for number in 0..50 {
                    node.add(&format!("c{number}"), &[]).unwrap();
                }
            });
        }
    });
}
