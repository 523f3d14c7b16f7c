//! The example of tenants, run natively.

#[path = "../../../guest/examples/tenants.rs"]
#[expect(unreachable_pub, reason = "an example is a crate of its own")]
mod example;

use tenure_testkit::cases::{Case, parse, run};
use tenure_testkit::{Native, histories};

const CASES: &str = r#"network { "tenants": [
  { "name": "shop", "namespaces": ["web", "db"], "quota": 2, "subnet": "10.1.1.0/24" },
  { "name": "bank", "namespaces": ["vault"], "quota": 9, "subnet": "10.1.2.0/29", "rangeEnd": "10.1.2.3" }
] }
add web/a -> 10.1.1.2
add db/a -> 10.1.1.3
add web/b -> over-quota "tenant shop has reached its quota of 2"
add vault/a -> 10.1.2.2
add vault/b -> 10.1.2.3
add vault/c -> exhausted "no address is free in pool bank"
add other/a -> denied "namespace \"other\" belongs to no tenant"
del web/a
add web/b -> 10.1.1.4

network { "tenants": [{ "name": "shop", "namespaces": "web", "quota": 2 }] } -> invalid-config "ipam.tenants[0].namespaces"
network { "tenants": [{ "name": "shop", "subnet": "10.1.1.0/24" }] } -> invalid-config "ipam.tenants[0].quota: is missing"
network { "tenants": [{ "name": "shop", "quota": 2 }] } -> invalid-config "ipam.tenants[0]: no IP ranges specified"
"#;

#[test]
fn each_tenant_has_its_ranges_and_its_quota() {
    let case = Case { path: "cases/tenants.txt".into(), steps: parse(CASES).unwrap() };
    assert_eq!(run(&case, Native::<example::Tenants>::new).failure, None);
}

#[test]
fn random_histories() {
    let ipam =
        r#"{ "tenants": [{ "name": "shop", "namespaces": ["web"], "quota": 5, "subnet": "10.1.1.0/28" }] }"#;
    histories(Native::<example::Tenants>::new, ipam, &["web", "other"], 50).unwrap();
}
