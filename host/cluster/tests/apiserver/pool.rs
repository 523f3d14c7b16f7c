//! AddressPools.

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_cluster::AddressPool;
use tenure_leases::LeasePool;

use crate::Test;
use crate::cluster::{Cluster, refused};

pub(crate) const TESTS: &[Test] = &[
    ("pool::a_short_spec_gets_defaults", defaults),
    ("pool::a_bad_spec_is_refused_in_words", bad),
    ("pool::group_and_block_size_are_immutable", immutable),
    ("pool::ranges_come_and_go", edited),
];

fn pool(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "ipam.tenure.dev/v1alpha1", "kind": "AddressPool", "metadata": { "name": name }, "spec": spec })
}

fn defaults(cluster: &Cluster) -> anyhow::Result<()> {
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/16"] }, "ipv6": { "cidrs": ["fd00::/112"] } });
    let created = cluster.create::<AddressPool>(pool("defaults", &spec))?;
    for (field, value) in [
        ("/spec/ipv4/blockPrefix", json!(26)),
        ("/spec/ipv6/blockPrefix", json!(122)),
        ("/spec/overlapGroup", json!("default")),
        ("/spec/disabled", json!(false)),
        ("/spec/releaseExcess", json!(true)),
        ("/spec/cooldownSeconds", json!(60)),
        ("/spec/nodeGoneQuarantineSeconds", json!(3600)),
    ] {
        let stored = serde_json::to_value(&created)?;
        ensure!(stored.pointer(field) == Some(&value), "{field}: {stored}");
    }
    let typed: AddressPool = created.try_parse()?;
    let read = LeasePool::try_from(&typed)?;
    ensure!(read == LeasePool::new(read.key.clone()), "{read:?}");
    Ok(())
}

fn bad(cluster: &Cluster) -> anyhow::Result<()> {
    let ipv4 = |cidrs: &[&str]| json!({ "ipv4": { "cidrs": cidrs } });
    let sized = |cidr: &str, prefix: u8| json!({ "ipv4": { "cidrs": [cidr], "blockPrefix": prefix } });
    let excluding =
        |exclusion: Value| json!({ "ipv4": { "cidrs": ["10.0.0.0/16"] }, "exclusions": [exclusion] });
    let with = |field: &str, value: Value| {
        let mut spec = ipv4(&["10.0.0.0/16"]);
        spec[field] = value;
        spec
    };
    let for_claims = |field: &str, value: Value| {
        let mut spec = json!({ "usage": "Claims", "ipv4": { "cidrs": ["10.0.0.0/24"], "blockPrefix": 32 } });
        spec[field] = value;
        spec
    };
    let cases = [
        (json!({}), "a pool needs ipv4 or ipv6"),
        (ipv4(&["10.0.0.1/16"]), "must be a CIDR in canonical form"),
        (ipv4(&["10.0.0.0/16", "10.0.4.0/24"]), "cidrs must not overlap"),
        (ipv4(&["10.0.0.0/16", "10.0.0.0/16"]), "cidrs must not overlap"),
        (ipv4(&["fd00::/112"]), "ipv4.cidrs must be IPv4"),
        (json!({ "ipv6": { "cidrs": ["10.0.0.0/16"] } }), "ipv6.cidrs must be IPv6"),
        (sized("10.0.0.0/16", 15), "blockPrefix must be at least as long"),
        (sized("10.0.0.0/9", 26), "at most 16 bits longer"),
        (sized("10.0.0.0/16", 33), "less than or equal to 32"),
        (excluding(json!({ "cidr": "10.1.0.0/24" })), "an exclusion must lie in one of the pool's cidrs"),
        (excluding(json!({ "start": "10.0.0.1", "end": "10.1.0.1" })), "an exclusion must lie"),
        (excluding(json!({ "start": "10.0.0.1" })), "an exclusion is either a cidr, or a start and an end"),
        (
            excluding(json!({ "cidr": "10.0.0.0/24", "start": "10.0.0.1", "end": "10.0.0.2" })),
            "an exclusion is either",
        ),
        (
            excluding(json!({ "start": "10.0.0.01", "end": "10.0.0.2" })),
            "must be an IP address in canonical form",
        ),
        (
            with("namespaces", json!(["blue"])),
            "namespaces needs usage Claims: it says whose claims get the addresses",
        ),
        (for_claims("namespaces", json!([])), "should have at least 1 items"),
        (
            for_claims("namespaceSelector", json!({ "matchLabels": { "team": "blue" } })),
            "podSelector and namespaceSelector need usage Blocks; namespaces says whose claims get the addresses",
        ),
        (for_claims("podSelector", json!({})), "podSelector and namespaceSelector need usage Blocks"),
        (for_claims("quota", json!({ "maxBlocks": 4 })), "quota and perBlockExclusions need usage Blocks"),
        (
            for_claims("perBlockExclusions", json!([{ "start": 0, "end": 0 }])),
            "quota and perBlockExclusions need usage Blocks",
        ),
        (with("gateway", json!({})), "a gateway is an address (ipv4, ipv6), a blockIndex, or none: true"),
        (with("gateway", json!({ "ipv4": "10.0.0.1", "blockIndex": 1 })), "a gateway is an address"),
        (with("gateway", json!({ "ipv4": "10.1.0.1" })), "a gateway must lie in one of the pool's cidrs"),
        (with("gateway", json!({ "ipv6": "fd00::1" })), "a gateway must lie in one of the pool's cidrs"),
        (with("gateway", json!({ "ipv4": "fd00::1" })), "gateway.ipv4 must be IPv4"),
        (with("gateway", json!({ "blockIndex": 64 })), "gateway.blockIndex is outside of a block"),
        (with("routes", json!([{ "dst": "10.0.0.1/8" }])), "must be a CIDR in canonical form"),
        (
            with("routes", json!([{ "dst": "10.0.0.0/8", "gw": "fd00::1" }])),
            "gw must be of the family of dst",
        ),
        (with("perBlockExclusions", json!([{ "start": 2, "end": 1 }])), "start must not be after end"),
        (
            with("taken", json!([{ "cidr": "10.1.0.0/24", "source": "calico", "owner": "n1" }])),
            "a taken range must lie in one of the pool's cidrs",
        ),
        (with("overlapGroup", json!("Default")), "spec.overlapGroup"),
        (with("nodeGoneQuarantineSeconds", json!(-2)), "greater than or equal to -1"),
        (with("quota", json!({ "maxBlocksPerNode": 257 })), "less than or equal to 256"),
    ];
    for (spec, words) in cases {
        refused(cluster.create::<AddressPool>(pool("bad", &spec)), words)?;
    }
    let cidrs: Vec<String> = (0..33).map(|second| format!("10.{second}.0.0/16")).collect();
    let many = json!({ "ipv4": { "cidrs": cidrs } });
    refused(cluster.create::<AddressPool>(pool("bad", &many)), "must have at most 32 items")?;
    let long = "a".repeat(61);
    refused(cluster.create::<AddressPool>(pool(&long, &ipv4(&["10.0.0.0/16"]))), "at most 60 characters")
}

fn immutable(cluster: &Cluster) -> anyhow::Result<()> {
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/16"] } });
    cluster.create::<AddressPool>(pool("immutable", &spec))?;
    let change = |spec: Value| cluster.change::<AddressPool>("immutable", &json!({ "spec": spec }));
    refused(change(json!({ "overlapGroup": "other" })), "overlapGroup is immutable")?;
    refused(change(json!({ "ipv4": { "blockPrefix": 27 } })), "blockPrefix is immutable")?;
    let other = json!({ "ipv4": null, "ipv6": { "cidrs": ["fd00::/112"] } });
    refused(change(other), "a family cannot be taken away from a pool")
}

fn edited(cluster: &Cluster) -> anyhow::Result<()> {
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/16"] } });
    cluster.create::<AddressPool>(pool("edited", &spec))?;
    let change = |spec: Value| cluster.change::<AddressPool>("edited", &json!({ "spec": spec }));
    change(json!({ "ipv4": { "cidrs": ["10.0.0.0/16", "10.1.0.0/16"] } }))?;
    change(json!({ "ipv6": { "cidrs": ["fd00::/112"] } }))?;
    change(json!({ "ipv4": { "cidrs": [] }, "disabled": true, "nodeGoneQuarantineSeconds": -1 }))?;
    let gateway = |gateway: Value| change(json!({ "gateway": gateway }));
    gateway(json!({ "blockIndex": 63 }))?;
    gateway(json!({ "blockIndex": null, "none": true }))?;
    change(
        json!({ "gateway": null, "routes": [{ "dst": "::/0", "mtu": 1400 }, { "dst": "10.0.0.0/8", "gw": "10.0.0.1" }] }),
    )?;
    change(json!({ "taken": [{ "cidr": "fd00::40/122", "source": "calico", "owner": "n1" }] }))?;
    let outside = json!({ "exclusions": [{ "start": "fd00::fff0", "end": "fd00::1:0" }] });
    refused(change(outside), "an exclusion must lie")?;
    let (one, other) = (json!({ "cidr": "fd00::/120" }), json!({ "start": "fd00::f00", "end": "fd00::fff" }));
    change(json!({ "exclusions": [one, other] }))?;
    change(json!({ "taken": [] }))?;
    // They stay until the blocks of a CIDR that is taken out have drained; a new one outside is a mistake all the same.
    change(
        json!({ "ipv6": { "cidrs": ["fd01::/112"] }, "exclusions": [one, other, { "cidr": "fd01::/120" }] }),
    )?;
    change(json!({ "exclusions": [other] }))?;
    refused(change(json!({ "exclusions": [one, other] })), "an exclusion must lie")?;
    change(json!({ "exclusions": [] }))?;
    Ok(())
}
