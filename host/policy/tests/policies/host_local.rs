//! host-local as a component: the acceptance table's cases that concern a policy.

use std::sync::{Arc, OnceLock};

use crate::node::{self, Node};
use tenure_policy::{WasmPolicy, embedded, sha256};
use tenure_types::{Error, ErrorCode};

fn host_local() -> Arc<WasmPolicy> {
    static POLICY: OnceLock<Arc<WasmPolicy>> = OnceLock::new();
    Arc::clone(POLICY.get_or_init(|| node::load("host-local", embedded::HOST_LOCAL)))
}

fn network(ipam: &str) -> Node {
    Node::define(&host_local(), ipam).unwrap()
}

fn subnet(subnet: &str) -> Node {
    network(&format!(r#"{{"subnet": "{subnet}"}}"#))
}

/// One step of a case: a request or a release, and the expected answer.
enum Step<'a> {
    Add(&'a str, &'a [&'a str], Result<&'a str, (ErrorCode, &'a str)>),
    Release(&'a str),
    Thaw,
}
use Step::{Add, Release, Thaw};

fn run(case: &str, mut node: Node, steps: &[Step<'_>]) {
    for (number, step) in steps.iter().enumerate() {
        match step {
            Add(container, requested, expected) => {
                let answer = node.add(container, requested).map(|addresses| addresses.join(" "));
                let answer = answer.map_err(|error| (error.code, told(&error)));
                let expected = expected.map(str::to_owned).map_err(|(code, text)| (code, text.to_owned()));
                assert_eq!(answer, expected, "{case}, step {number}");
            }
            Release(container) => node.release(container),
            Thaw => node.thaw(),
        }
    }
}

/// The message that a CNI caller gets for a refusal.
fn told(error: &Error) -> String {
    error.reference.as_deref().unwrap_or(&error.cause).to_owned()
}

const EXHAUSTED: (ErrorCode, &str) =
    (ErrorCode::PoolExhausted, "no IP addresses available in range set: 192.168.1.1-192.168.1.6");

#[test]
fn the_first_address_is_the_one_behind_the_gateway() {
    for (range, first) in [
        ("10.1.2.0/29", "10.1.2.2"),
        ("10.1.2.0/30", "10.1.2.2"),
        ("2001:db8::/64", "2001:db8::2"),
        ("10.0.0.0/8", "10.0.0.2"),
    ] {
        run(range, subnet(range), &[Add("a", &[], Ok(first))]);
    }
}

#[test]
fn one_address_comes_from_each_range_set_in_order() {
    let ipam = r#"{"ranges": [[{"subnet": "10.1.2.0/24"}, {"subnet": "10.2.2.0/24"}], [{"subnet": "2001:db8:1::/64"}]]}"#;
    run("1", network(ipam), &[Add("a", &[], Ok("10.1.2.2 2001:db8:1::2"))]);
}

#[test]
fn a_full_set_goes_on_in_its_next_range_and_never_takes_a_broadcast_address() {
    let ipam = r#"{"ranges": [[{"subnet": "10.1.2.0/30"}, {"subnet": "10.2.2.0/30"}]]}"#;
    let full = (
        ErrorCode::PoolExhausted,
        "no IP addresses available in range set: 10.1.2.1-10.1.2.2,10.2.2.1-10.2.2.2",
    );
    run(
        "20",
        network(ipam),
        &[Add("a", &[], Ok("10.1.2.2")), Add("b", &[], Ok("10.2.2.2")), Add("c", &[], Err(full))],
    );
}

#[test]
fn addresses_are_handed_out_in_turn() {
    run(
        "12, 20, 24",
        subnet("192.168.1.0/29"),
        &[
            Add("a", &[], Ok("192.168.1.2")),
            Add("b", &[], Ok("192.168.1.3")),
            Release("a"),
            Thaw,
            Add("c", &[], Ok("192.168.1.4")),
            Add("d", &[], Ok("192.168.1.5")),
            Add("e", &[], Ok("192.168.1.6")),
            Add("f", &[], Ok("192.168.1.2")),
            Add("g", &[], Err(EXHAUSTED)),
        ],
    );
    run(
        "21",
        subnet("10.1.2.0/24"),
        &[Add("a", &[], Ok("10.1.2.2")), Release("a"), Thaw, Add("b", &[], Ok("10.1.2.3"))],
    );
}

#[test]
fn a_cooling_address_waits_until_nothing_else_is_left() {
    run(
        "full /30",
        subnet("10.1.2.0/30"),
        &[Add("a", &[], Ok("10.1.2.2")), Release("a"), Add("b", &[], Ok("10.1.2.2"))],
    );
    run(
        "least recently freed first",
        subnet("192.168.1.0/29"),
        &[
            Add("a", &[], Ok("192.168.1.2")),
            Add("b", &[], Ok("192.168.1.3")),
            Add("c", &[], Ok("192.168.1.4")),
            Add("d", &[], Ok("192.168.1.5")),
            Release("c"),
            Release("a"),
            Add("e", &[], Ok("192.168.1.6")),
            Add("f", &[], Ok("192.168.1.4")),
            Add("g", &[], Ok("192.168.1.2")),
            Add("h", &[], Err(EXHAUSTED)),
        ],
    );
}

#[test]
fn a_caller_may_insist_on_one_address_in_each_set() {
    let ipam = r#"{"ranges": [[{"subnet": "192.168.1.0/29"}], [{"subnet": "2001:db8::/64"}]]}"#;
    let taken = "requested IP address 192.168.1.5 is not available in range set 192.168.1.1-192.168.1.6";
    run(
        "8, 10, 22",
        network(ipam),
        &[
            Add("a", &["192.168.1.5"], Ok("192.168.1.5 2001:db8::2")),
            Add("b", &["192.168.1.5"], Err((ErrorCode::AddressUnavailable, taken))),
            Add("c", &["2001:db8::77", "192.168.1.3"], Ok("192.168.1.3 2001:db8::77")),
            // It advances the turn, as in the reference plugin.
            Add("d", &[], Ok("192.168.1.4 2001:db8::78")),
        ],
    );
    run(
        "an address that is requested while it cools down",
        subnet("192.168.1.0/29"),
        &[
            Add("a", &["192.168.1.5"], Ok("192.168.1.5")),
            Release("a"),
            Add("b", &["192.168.1.5"], Ok("192.168.1.5")),
        ],
    );
}

#[test]
fn what_a_caller_cannot_have_is_refused_with_nothing_kept() {
    let refused = |cause| Err((ErrorCode::AddressUnavailable, cause));
    for (case, requested, cause) in [
        ("11", &["192.168.1.2", "192.168.1.3"][..], "failed to allocate all requested IPs: 192.168.1.3"),
        ("23", &["192.168.9.9"], "failed to allocate all requested IPs: 192.168.9.9"),
        ("gateway", &["192.168.1.1"], "requested ip 192.168.1.1 is subnet's gateway"),
        ("network", &["192.168.1.0"], "failed to allocate all requested IPs: 192.168.1.0"),
        ("family", &["2001:db8::1"], "failed to allocate all requested IPs: 2001:db8::1"),
    ] {
        run(
            case,
            subnet("192.168.1.0/29"),
            &[Add("a", requested, refused(cause)), Add("a", &[], Ok("192.168.1.2"))],
        );
    }
    let wide = r#"{"subnet": "192.168.1.0/29", "rangeEnd": "192.168.1.7"}"#;
    let broadcast = "requested IP address 192.168.1.7 is not available in range set 192.168.1.1-192.168.1.7";
    run("broadcast", network(wide), &[Add("a", &["192.168.1.7"], refused(broadcast))]);
}

#[test]
fn a_wrong_configuration_is_refused_with_the_path_of_the_key() {
    let refuse = |ipam: &str, attributes: &[(&str, &str)]| {
        Node::define_with(&host_local(), ipam, attributes).map(|_| ()).unwrap_err()
    };
    // The log and operators see which policy refused; CNI callers get the reference plugin's text.
    let refusal = |text: &str| {
        let cause = format_args!("policy host-local@{}: {text}", &sha256(embedded::HOST_LOCAL)[..12]);
        Error::new(ErrorCode::InvalidConfig, cause).told_as(text)
    };
    assert_eq!(
        refuse(r#"{"ranges": [[{"subnet": "10.0.0.0/24"}], [{"subnet": "192.0.2.0/31"}]]}"#, &[]),
        refusal(
            "ipam.ranges[1][0].subnet: invalid range set 1: Network 192.0.2.0/31 too small to allocate from"
        )
    );
    assert_eq!(
        refuse("{}", &[("runtime-config.ip-ranges", "[[]]")]),
        refusal("runtimeConfig.ipRanges[0]: invalid range set 0: empty range set")
    );
}

#[test]
fn a_deep_configuration_is_read_or_refused_but_never_the_end_of_the_policy() {
    let nested = |depth| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"subnet": "10.1.2.0/24", "note": {open}{close}}}"#)
    };
    assert!(Node::define(&host_local(), &nested(120)).is_ok());
    let error = Node::define(&host_local(), &nested(10_000)).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidConfig, "{error}");
}

#[test]
fn highest_first_is_another_rule_over_the_same_keys() {
    let policy = node::load("highest-first", embedded::HIGHEST_FIRST);
    let highest = |ipam| Node::define(&policy, ipam).unwrap();
    let text = "no address is free in 10.1.2.1-10.1.2.6";
    let text = format!("policy highest-first@{}: {text}", &sha256(embedded::HIGHEST_FIRST)[..12]);
    let full = (ErrorCode::PoolExhausted, text.as_str());
    run(
        "strict",
        highest(r#"{"subnet": "10.1.2.0/29"}"#),
        &[
            Add("a", &[], Ok("10.1.2.6")),
            Release("a"),
            Add("b", &[], Ok("10.1.2.5")),
            Add("c", &[], Ok("10.1.2.4")),
            Add("d", &[], Ok("10.1.2.3")),
            Add("e", &[], Ok("10.1.2.2")),
            Add("f", &[], Err(full)),
            Thaw,
            Add("f", &[], Ok("10.1.2.6")),
        ],
    );
    run(
        "v6",
        highest(r#"{"ranges": [[{"subnet": "2001:db8::/64"}]]}"#),
        &[Add("a", &[], Ok("2001:db8::ffff:ffff:ffff:ffff"))],
    );
}
