//! Daemons outside of pods, which use the kubelet's credentials.

use anyhow::{Context as _, ensure};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tenure_cluster::NodeIPAM;
use tenure_cluster::access::{ClusterUses, access};
use tenure_fixtures::control_plane::ADMIN_TOKEN;

use crate::Test;
use crate::agents::{agent, object};
use crate::cluster::{Cluster, RELEASE, all, chart, forbidden};

pub(crate) const TESTS: &[Test] = &[("kubelets::a_kubelet_writes_its_own_object_if_the_values_say_so", own)];

/// Whether the API server lets the kubelet of node-a make a request about objects of a resource.
fn may(cluster: &Cluster, verb: &str, (group, resource): (&str, &str), more: &Value) -> anyhow::Result<bool> {
    let mut attributes = json!({ "verb": verb, "group": group, "resource": resource });
    for (field, value) in more.as_object().into_iter().flatten() {
        attributes[field] = value.clone();
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": { "user": "system:node:node-a", "groups": ["system:nodes", "system:authenticated"], "resourceAttributes": attributes },
    });
    let answer = cluster.create(&cluster.client, &review)?;
    answer.data["status"]["allowed"].as_bool().context("no answer")
}

/// The group `system:nodes` gets nothing by which a kubelet would see the pods and Nodes of others, which the API server keeps from it.
fn reads(cluster: &Cluster) -> anyhow::Result<()> {
    let of_node = |node: &str| json!({ "fieldSelector": { "rawSelector": format!("spec.nodeName={node},status.phase!=Failed") } });
    let (pods, nodes) = (("", "pods"), ("", "nodes"));
    let gone = json!({ "namespace": "default", "name": "gone-0" });
    for (verb, resource, more, expected) in [
        ("list", pods, json!({}), false),
        ("watch", pods, json!({}), false),
        ("list", pods, of_node("node-b"), false),
        ("list", pods, of_node("node-a"), true),
        ("watch", pods, of_node("node-a"), true),
        // The API server alone says that a pod is gone.
        ("get", pods, gone, true),
        ("get", nodes, json!({ "name": "node-a" }), true),
        ("get", nodes, json!({ "name": "node-b" }), false),
        ("list", nodes, json!({}), false),
        ("create", ("events.k8s.io", "events"), json!({ "namespace": "default" }), true),
        ("get", ("", "namespaces"), json!({ "name": "default" }), true),
        ("list", ("ipam.tenure.dev", "ipblocks"), json!({}), true),
        ("create", ("ipam.tenure.dev", "ipblocks"), json!({}), false),
        ("patch", ("ipam.tenure.dev", "nodeipams"), json!({ "name": "node-a" }), true),
    ] {
        let found = may(cluster, verb, resource, &more)?;
        ensure!(found == expected, "a kubelet may {verb} {resource:?} {more}: {found}");
    }
    Ok(())
}

fn own(cluster: &Cluster) -> anyhow::Result<()> {
    // For the nodes and the policy.
    agent(cluster, "node-a")?;
    let kubelet = cluster.connect(ADMIN_TOKEN, ", as: \"system:node:node-a\", as-groups: [system:nodes]")?;
    forbidden(cluster.create(&kubelet, &object("node-a")), "cannot create resource \"nodeipams\"")?;
    let chart = chart();
    let path = chart.to_str().unwrap();
    cluster.helm(&[
        "upgrade",
        RELEASE,
        path,
        "--reuse-values",
        "--set",
        "cluster.kubeletCredentials=true",
    ])?;
    cluster.until("the role to be in force", || {
        Ok(cluster.create(&kubelet, &object("node-a")).ok().map(drop))
    })?;
    forbidden(
        cluster.create(&kubelet, &object("node-b")),
        "node-a writes the NodeIPAM of its own node, and not node-b",
    )?;
    reads(cluster)?;
    // As `tenurectl doctor` asks about them.
    let uses = ClusterUses { leases: true, pods: true, ..ClusterUses::default() };
    let found = cluster.runtime.block_on(access(&kubelet, "node-a", uses))?;
    ensure!(found.rights.iter().all(|(_, allowed)| *allowed), "{found:?}");
    ensure!(found.own_refused.is_none() && !found.others_accepted, "{found:?}");
    cluster.call(all::<NodeIPAM>(&cluster.client).delete("node-a", &DeleteParams::default()))?;
    cluster.release()
}
