use super::*;

#[test]
fn the_pod_is_read_in_each_shape() {
    for (owner, name) in [
        (json!("p"), "p"),
        (json!({ "name": "p" }), "p"),
        (json!({ "uid": "u", "name": "p" }), "p"),
        (json!({}), ""),
        (json!({ "name": null }), ""),
        (json!(null), ""),
        (json!([1, "p"]), ""),
        (json!(1), ""),
    ] {
        let status = json!({ "ips": ["10.0.0.1/24"], "ownerPod": owner });
        let status: IPAMClaimStatus = serde_json::from_str(&status.to_string()).unwrap();
        assert_eq!((status.owner_pod.as_str(), status.ips.len()), (name, 1), "{owner}");
    }
}

#[test]
fn the_pod_is_written_in_the_shape_of_the_definition() {
    let status = |pod: &str| IPAMClaimStatus { owner_pod: pod.to_owned(), ..IPAMClaimStatus::default() };
    let written = |shape: OwnerPodShape, pod| shape.patch(&status(pod)).get("ownerPod").cloned();
    for (owner, shape, none, one) in [
        (json!({ "ownerPod": { "type": "string" } }), OwnerPodShape::Text, Some(json!("")), Some(json!("p"))),
        (
            json!({ "ownerPod": { "type": "object" } }),
            OwnerPodShape::Object,
            Some(Value::Null),
            Some(json!({ "name": "p" })),
        ),
        (json!({}), OwnerPodShape::Missing, None, None),
    ] {
        let schema = json!({ "type": "object", "properties": { "status": { "type": "object", "properties": owner } } });
        let version = json!({ "name": "v1alpha1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        let names = json!({ "kind": "IPAMClaim", "plural": "ipamclaims" });
        let spec = json!({ "group": "k8s.cni.cncf.io", "scope": "Namespaced", "names": names, "versions": [version] });
        let definition = serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap();
        assert_eq!(OwnerPodShape::of(&definition), shape);
        assert_eq!((written(shape, ""), written(shape, "p")), (none, one));
    }
}
