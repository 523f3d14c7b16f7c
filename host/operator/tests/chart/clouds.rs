//! The rights of the agents of profile aws: they follow their Node, remove its start-up taint, and ask about their pods.

use std::collections::BTreeSet;

use anyhow::ensure;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tenure_cluster::access::{ClusterUses, OF_NODE, OF_PODS, OF_TAINT, access};
use tenure_cluster::client::ApiCallError;

use crate::Test;
use crate::agents::token;
use crate::cluster::{Cluster, NAMESPACE, chart, forbidden};

pub(crate) const TESTS: &[Test] = &[
    ("clouds::an_agent_removes_the_taint_of_its_node_and_writes_nothing_else_of_nodes", taint),
    ("clouds::an_agent_asks_about_pods_with_the_value_for_it_only", pods),
];

/// The release, and the account of its agents.
const RELEASE: &str = "clouds";
const ACCOUNT: &str = "clouds-agent";

pub(crate) fn change(
    cluster: &Cluster,
    client: &Client,
    node: &str,
    patch: &Value,
) -> Result<Node, ApiCallError> {
    let nodes: Api<Node> = Api::all(client.clone());
    cluster.call(nodes.patch(node, &PatchParams::default(), &Patch::Merge(patch)))
}

/// Installs a release with a value, and connects as its agent on a node.
fn agent(cluster: &Cluster, node: &str, value: &str) -> anyhow::Result<Client> {
    let chart = chart();
    let path = chart.display().to_string();
    cluster.helm(&["upgrade", "--install", RELEASE, &path, "--set", "profile=aws", "--set", value])?;
    cluster.node(node)?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let name = format!("cloud-agent-on-{node}");
    let pod = match cluster.call(pods.get_opt(&name))? {
        Some(pod) => pod,
        None => cluster.pod(&name, ACCOUNT, node)?,
    };
    cluster.connect(&token(cluster, ACCOUNT, Some(&pod))?, "")
}

fn taint(cluster: &Cluster) -> anyhow::Result<()> {
    let removed = tried(cluster);
    cluster.helm(&["uninstall", RELEASE])?;
    removed
}

/// Regression: `cluster.configuration` could have the daemon ask, and no role let it.
fn pods(cluster: &Cluster) -> anyhow::Result<()> {
    let asked = || {
        for (value, node, pods) in [
            ("aws.followPods=true", true, true),
            ("aws.followPods=true,aws.followNode=false", false, true),
            ("aws.followPods=false", true, false),
        ] {
            let agent = agent(cluster, "cloud-a", value)?;
            has_exactly(cluster, &agent, ClusterUses { node, pods, ..ClusterUses::default() })?;
            cluster.until("the pods to be listed or not", || {
                let listed = cluster.call(Api::<Pod>::all(agent.clone()).list(&ListParams::default()));
                Ok((listed.is_ok() == pods).then_some(()))
            })?;
        }
        Ok(())
    };
    let asked = asked();
    cluster.helm(&["uninstall", RELEASE])?;
    asked
}

fn tried(cluster: &Cluster) -> anyhow::Result<()> {
    let [tainted, without] = taints().map(|taints| json!({ "spec": { "taints": taints } }));
    let plain = agent(cluster, "cloud-a", "aws.removeTaint=false")?;
    cluster.node("cloud-b")?;
    for node in ["cloud-a", "cloud-b"] {
        change(cluster, &cluster.client, node, &tainted)?;
    }
    // By default it only reads.
    has_exactly(cluster, &plain, ClusterUses { node: true, ..ClusterUses::default() })?;
    forbidden(change(cluster, &plain, "cloud-a", &without), "cannot patch resource \"nodes\"")?;

    let agent = agent(cluster, "cloud-a", "aws.removeTaint=true")?;
    let others = "an agent removes the taint of its own Node";
    cluster.until("the policy to be in force", || {
        Ok(forbidden(change(cluster, &agent, "cloud-b", &without), others).is_ok().then_some(()))
    })?;
    has_exactly(cluster, &agent, ClusterUses { node: true, taint: true, ..ClusterUses::default() })?;
    let unbound = cluster.connect(&token(cluster, ACCOUNT, None)?, "")?;
    forbidden(change(cluster, &unbound, "cloud-a", &without), others)?;
    writes_nothing_else(cluster, &agent, "cloud-a", "an agent")
}

/// The taints of a Node that waits for addresses, and those that it is left with.
pub(crate) fn taints() -> [Value; 2] {
    let dedicated = json!({ "key": "dedicated", "value": "batch", "effect": "NoSchedule" });
    let not_ready = json!({ "key": "ipam.tenure.dev/not-ready", "effect": "NoSchedule" });
    [json!([not_ready, dedicated]), json!([dedicated])]
}

/// Removes the start-up taint of a Node, after everything else of the Node was refused.
pub(crate) fn writes_nothing_else(
    cluster: &Cluster,
    client: &Client,
    node: &str,
    who: &str,
) -> anyhow::Result<()> {
    let [before, without] = taints();
    let more = json!([before[0], before[1], { "key": "mine", "effect": "NoExecute" }]);
    for taints in [json!([before[0]]), json!([]), more] {
        let answer = change(cluster, client, node, &json!({ "spec": { "taints": taints } }));
        forbidden(answer, &format!("{who} removes the taint ipam.tenure.dev/not-ready, and no other"))?;
    }
    for patch in [
        json!({ "metadata": { "labels": { "mine": "1" } } }),
        json!({ "metadata": { "annotations": { "mine": "1" } } }),
        json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": "1" } } }),
        json!({ "metadata": { "finalizers": ["tests/mine"] } }),
        json!({ "spec": { "unschedulable": true } }),
        json!({ "spec": { "providerID": "aws:///eu-1a/i-mine" } }),
    ] {
        let mut patch = patch;
        patch["spec"]["taints"] = without.clone();
        forbidden(change(cluster, client, node, &patch), "and changes nothing else of it")?;
    }
    let nodes: Api<Node> = Api::all(client.clone());
    let status = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    let written = cluster.call(nodes.patch_status(node, &PatchParams::default(), &status));
    forbidden(written, "cannot patch resource \"nodes/status\"")?;
    let node = change(cluster, client, node, &json!({ "spec": { "taints": without } }))?;
    let left = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    ensure!(left.len() == 1 && left[0].key == "dedicated", "{left:?}");
    Ok(())
}

/// Expects that the account has the rights for these uses, and of the others that are asked about none.
fn has_exactly(cluster: &Cluster, client: &Client, uses: ClusterUses) -> anyhow::Result<()> {
    let of = [(uses.node, OF_NODE), (uses.pods, OF_PODS), (uses.taint, OF_TAINT)];
    let expected: usize = of.iter().filter(|(is_used, _)| *is_used).map(|(_, rights)| rights.len()).sum();
    cluster.until("the role to be in force", || {
        // In its first seconds, an API server lets no account review its own rights.
        let Ok(found) = cluster.runtime.block_on(access(client, "cloud-a", uses)) else { return Ok(None) };
        let wrong: BTreeSet<_> = found
            .rights
            .iter()
            .filter(|(right, allowed)| *allowed == right.purpose.is_empty())
            .map(|(right, _)| format!("{} {}", right.verb, right.of()))
            .collect();
        let needed = found.rights.iter().filter(|(right, _)| !right.purpose.is_empty()).count();
        ensure!(needed == expected, "{found:?}");
        Ok(wrong.is_empty().then_some(()))
    })
}
