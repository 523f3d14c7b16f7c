use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::view::{ClaimView, KeptObject};

fn metadata() -> Value {
    json!({
        "namespace": "default", "name": "a", "uid": "00000000-0000-0000-0000-00000000000a",
        "resourceVersion": "5", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["tests/own"],
    })
}

/// The same metadata with everything that a user may put into it.
fn large() -> Value {
    let labels: BTreeMap<String, &str> = (0..70_000).map(|number| (format!("l{number}"), "")).collect();
    let fields: BTreeMap<String, Value> = labels.keys().map(|key| (format!("f:{key}"), json!({}))).collect();
    let mut metadata = metadata();
    metadata["labels"] = json!(labels);
    metadata["annotations"] = json!({ "a": "b" });
    metadata["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u" }]);
    metadata["managedFields"] =
        json!([{ "manager": "m", "fieldsType": "FieldsV1", "fieldsV1": { "f:metadata": fields } }]);
    metadata
}

/// As a watch reads it: from text.
fn read<T: serde::de::DeserializeOwned>(object: &Value) -> T {
    serde_json::from_str(&object.to_string()).unwrap()
}

#[test]
fn a_claim_costs_what_is_read_of_it() {
    let claim = |metadata: Value| json!({ "metadata": metadata, "spec": { "pool": "names" } });
    let kept = |metadata| KeptObject::<ClaimView>::of(read(&claim(metadata)));
    assert!(kept(metadata()).read.is_ok());
    assert_eq!(kept(large()), kept(metadata()));
    let ipam =
        |metadata: Value| json!({ "metadata": metadata, "spec": { "network": "blue", "interface": "net1" } });
    let kept = |metadata| KeptObject::<IPAMClaim>::of(read(&ipam(metadata)));
    assert!(kept(metadata()).read.is_ok());
    assert_eq!(kept(large()), kept(metadata()));
}

#[test]
fn a_list_of_finalizers_is_cut() {
    let mut long = metadata();
    let names: Vec<String> = (0..100).map(|number| format!("tests/{number}")).collect();
    long["finalizers"] = json!(names);
    let claim: WatchedClaim = read(&json!({ "metadata": long, "spec": { "pool": "names" } }));
    assert_eq!(claim.metadata.finalizers.unwrap(), names[..MAX_FINALIZERS]);
}

#[test]
fn an_ipam_claim_is_read_whatever_its_definition_lets_in() {
    let long = "x".repeat(1_000_000);
    let requests: Vec<&str> =
        std::iter::once("10.0.0.5/29").chain(std::iter::repeat_n(&*long, 100)).collect();
    let spec = json!({ "network": long, "interface": long, "ipRequests": requests });
    let status = json!({ "ips": requests, "ownerPod": long, "conditions": [] });
    let claim: WatchedIpamClaim = read(&json!({ "metadata": metadata(), "spec": spec, "status": status }));
    assert_eq!((claim.spec.network.len(), claim.spec.interface.as_str()), (NAME, ""));
    let status = claim.status.unwrap();
    for cut in [&claim.spec.ip_requests, &status.ips] {
        assert_eq!((cut.len(), cut[0].as_str(), cut[1].len()), (LISTED, "10.0.0.5/29", ADDRESS));
    }
    assert_eq!(status.owner_pod.len(), NAME);
    // The definition since v0.5.1-alpha.
    let status = json!({ "ips": [], "ownerPod": { "name": "p" } });
    let claim: WatchedIpamClaim = read(&json!({ "metadata": metadata(), "spec": spec, "status": status }));
    assert_eq!(claim.status.unwrap().owner_pod, "p");
    // One without a spec keeps nobody from reading the others.
    let bare: WatchedIpamClaim = read(&json!({ "metadata": metadata() }));
    assert_eq!((bare.spec, bare.status), (IPAMClaimSpec::default(), None));
}
