//! The conformance suite over real components: those of this repository pass it, and hostile ones do not.

use std::sync::Arc;

use tenure_engine::{Conformance, conformance};
use tenure_policy::{AskedPolicy, embedded};
use tenure_types::{NetworkConfig, NetworkName, PolicyName};

use super::node;

fn judged(bytes: &[u8], ipam: &str) -> Conformance {
    let policy = node::runtime().load(&PolicyName::new("p").unwrap(), bytes, None).unwrap();
    let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
    let (policy, network) = (AskedPolicy::new(policy), NetworkName::new("net").unwrap());
    node::wait(conformance(&policy, &network, &config))
}

const PLAIN: &str = r#"{"ranges": [[{"subnet": "10.1.2.0/24"}], [{"subnet": "fd00::/64"}]]}"#;

#[test]
fn the_policies_of_this_repository_conform() {
    let names = ["zones", "quota", "sticky", "rotation", "delegated"];
    let examples = names.map(|name| (name, node::build_example(name)));
    let embedded = [("host-local", embedded::HOST_LOCAL), ("highest-first", embedded::HIGHEST_FIRST)];
    let all = embedded.map(|(name, bytes)| (name, bytes.to_vec())).into_iter().chain(examples);
    for (name, bytes) in all {
        for ipam in [PLAIN, r#"{"subnet": "10.1.2.0/29"}"#] {
            let judged = judged(&bytes, ipam);
            assert_eq!(
                (&judged.failure, &judged.skipped, judged.passed.len()),
                (&None, &None, 6),
                "{name} {ipam}"
            );
        }
    }
}

#[test]
fn a_configuration_that_a_policy_does_not_accept_is_not_its_fault() {
    let judged = judged(embedded::HOST_LOCAL, r#"{"subnet": "what?"}"#);
    assert!(
        judged.failure.is_none() && judged.skipped.unwrap().contains("does not accept the configuration")
    );
}

#[test]
fn a_policy_without_ranges_of_its_own_conforms_as_far_as_it_is_asked() {
    let bytes = node::build("tenure-aws-eni");
    for ipam in
        ["{}", r#"{"ipv6": true, "prefixes": true, "warm": {"prefixes": 1}, "env": {"MAX_ENI": "4"}}"#]
    {
        let judged = judged(&bytes, ipam);
        assert_eq!((&judged.failure, judged.passed.len()), (&None, 1), "{ipam}");
        assert!(judged.skipped.unwrap().contains("it defines no ranges of its own"));
    }
}

#[test]
fn hostile_policies_do_not_conform_and_get_the_same_verdict_each_time() {
    let bytes = node::build("tenure-hostile");
    for (misbehaviour, why) in [
        ("trap", "unreachable"),
        ("panic", "panicked"),
        ("grow", "memory"),
        ("recurse", "stack"),
        ("spin", "50 ms"),
        ("nothing", "no address"),
        ("outside", "outside pool"),
        ("network-address", "is outside pool"),
        ("broadcast", "is outside pool"),
        ("gateway", "gateway"),
        ("duplicate", "more than one address"),
        ("not-an-address", "address"),
        ("define-trap", "define: "),
        ("define-spin", "define: "),
    ] {
        let ipam = format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{misbehaviour}"}}"#);
        let judged = [(); 2].map(|()| judged(&bytes, &ipam));
        let failure = judged[0].failure.as_ref().unwrap_or_else(|| panic!("{misbehaviour} conforms"));
        assert!(failure.contains(why), "{misbehaviour}: {failure}");
        assert_eq!(judged[0], judged[1], "{misbehaviour}");
    }
    let ipam = r#"{"subnet": "10.1.2.0/24", "misbehave": "behave"}"#;
    assert_eq!(judged(&bytes, ipam).failure, None);
}
