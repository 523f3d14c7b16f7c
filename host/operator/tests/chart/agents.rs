//! The agents' account with the tokens of pods on nodes.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Node, Pod, Secret, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tenure_cluster::{FENCED_ANNOTATION, IPBlock, NodeIPAM, NodeIPAMSpec};
use tenure_fixtures::control_plane::ADMIN_TOKEN;
use tenure_leases::{HolderIdentity, MachineHash, NodeIpamSpec, Uid};

use crate::Test;
use crate::cluster::{Cluster, NAMESPACE, all, forbidden};

pub(crate) const TESTS: &[Test] = &[
    ("agents::a_node_writes_its_own_object_only", own),
    ("agents::a_token_without_a_node_writes_nothing", unbound),
    ("agents::the_policy_holds_where_rbac_does_not", granted),
    ("agents::the_account_reads_what_it_needs_and_nothing_else", reads),
    ("agents::a_deleted_pods_token_is_dead", dead),
];

/// The words of the policy about another node's object.
const OTHERS: &str = "writes the NodeIPAM of its own node, and not";

/// A token of an account; bound to a pod, it names that pod's node.
pub(crate) fn token(cluster: &Cluster, account: &str, pod: Option<&Pod>) -> anyhow::Result<String> {
    let bound = pod.map(|pod| BoundObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(pod.name_any()),
        uid: pod.uid(),
    });
    let spec = TokenRequestSpec { bound_object_ref: bound, ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let answer = cluster.call(accounts.create_token_request(account, &PostParams::default(), &request))?;
    Ok(answer.status.context("no token")?.token)
}

/// Installs the release, and connects as the agent on a node, which is made with its pod.
pub(crate) fn agent(cluster: &Cluster, node: &str) -> anyhow::Result<Client> {
    cluster.release()?;
    cluster.node(node)?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let name = format!("agent-on-{node}");
    let pod = match cluster.call(pods.get_opt(&name))? {
        Some(pod) => pod,
        None => cluster.pod(&name, "tenure-agent", node)?,
    };
    let client = cluster.connect(&token(cluster, "tenure-agent", Some(&pod))?, "")?;
    // The role and the policy take effect a moment after they were written.
    let stranger = object("nobody");
    cluster.until("the policy to be in force", || {
        Ok(forbidden(cluster.create(&client, &stranger), OTHERS).is_ok().then_some(()))
    })?;
    Ok(client)
}

/// A NodeIPAM as an agent writes it.
pub(crate) fn object(name: &str) -> Value {
    let identity =
        HolderIdentity { name: name.into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) };
    let spec = NodeIpamSpec::of(identity);
    let mut object = serde_json::to_value(NodeIPAM::new(name, NodeIPAMSpec::from(&spec))).unwrap();
    object.as_object_mut().unwrap().remove("status");
    object
}

/// Removes the NodeIPAMs.
fn clear(cluster: &Cluster) -> anyhow::Result<()> {
    let api = all::<NodeIPAM>(&cluster.client);
    for found in cluster.call(api.list(&ListParams::default()))? {
        cluster.call(api.delete(&found.name_any(), &DeleteParams::default()))?;
    }
    Ok(())
}

fn merge(
    cluster: &Cluster,
    client: &Client,
    name: &str,
    patch: &Value,
) -> Result<kube::core::DynamicObject, tenure_cluster::client::ApiCallError> {
    cluster.call(all::<NodeIPAM>(client).patch(name, &PatchParams::default(), &Patch::Merge(patch)))
}

fn own(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    clear(cluster)?;
    cluster.create(&agent, &object("node-a"))?;
    merge(cluster, &agent, "node-a", &json!({ "spec": { "idle": [Uid(1).to_string()] } }))?;
    cluster.apply(&agent, &object("node-a"), false)?;
    // Another's: created, applied, changed.
    forbidden(
        cluster.create(&agent, &object("node-b")),
        "node-a writes the NodeIPAM of its own node, and not node-b",
    )?;
    forbidden(cluster.apply(&agent, &object("node-b"), false), OTHERS)?;
    cluster.create(&cluster.client, &object("node-b"))?;
    forbidden(
        merge(cluster, &agent, "node-b", &json!({ "spec": { "idle": [] , "bootID": Uid(9).to_string() } })),
        OTHERS,
    )?;
    let generated = json!({ "metadata": { "name": null, "generateName": "node-a" } });
    let mut nameless = object("node-a");
    nameless["metadata"] = generated["metadata"].clone();
    forbidden(cluster.create(&agent, &nameless), OTHERS)?;
    // An attestation that it is off is not its own to give, and stays where an administrator gave it.
    let fenced = json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": Uid(11).to_string() } } });
    forbidden(merge(cluster, &agent, "node-a", &fenced), "is an administrator's word")?;
    merge(cluster, &cluster.client, "node-a", &fenced)?;
    merge(cluster, &agent, "node-a", &json!({ "spec": { "idle": [] } }))?;
    cluster.apply(&agent, &object("node-a"), false)?;
    // Regression: an agent could take it back, by removing or by emptying it.
    for word in [json!(null), json!("")] {
        let patch = json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": word } } });
        forbidden(merge(cluster, &agent, "node-a", &patch), "is an administrator's word")?;
    }
    forbidden(
        merge(cluster, &agent, "node-a", &json!({ "metadata": { "annotations": null } })),
        "is an administrator's word",
    )?;
    let kept = cluster.call(all::<NodeIPAM>(&agent).get("node-a"))?;
    ensure!(kept.annotations().contains_key(FENCED_ANNOTATION), "{:?}", kept.annotations());
    // The other half of its own, its end, and a lease.
    let status = json!({ "status": { "blockCount": 1 } });
    let api = all::<NodeIPAM>(&agent);
    let patched = cluster.call(api.patch_status("node-a", &PatchParams::default(), &Patch::Merge(&status)));
    forbidden(patched, "nodeipams/status")?;
    forbidden(
        cluster.call(api.delete("node-a", &DeleteParams::default())),
        "cannot delete resource \"nodeipams\"",
    )?;
    forbidden(cluster.create(&agent, &block()), "cannot create resource \"ipblocks\"")?;
    clear(cluster)
}

fn unbound(cluster: &Cluster) -> anyhow::Result<()> {
    let bound = agent(cluster, "node-a")?;
    clear(cluster)?;
    let client = cluster.connect(&token(cluster, "tenure-agent", None)?, "")?;
    let words = "the agent's token is bound to no node";
    forbidden(cluster.create(&client, &object("node-a")), words)?;
    cluster.create(&bound, &object("node-a"))?;
    forbidden(
        merge(cluster, &client, "node-a", &json!({ "spec": { "bootID": Uid(9).to_string() } })),
        words,
    )?;
    // Whoever may impersonate the account does not thereby become a node either.
    let user = format!(", as: \"system:serviceaccount:{NAMESPACE}:tenure-agent\"");
    let impersonated = cluster.connect(ADMIN_TOKEN, &user)?;
    forbidden(cluster.create(&impersonated, &object("node-d")), words)?;
    clear(cluster)
}

/// An IPBlock.
fn block() -> Value {
    json!({
        "apiVersion": "ipam.tenure.dev/v1alpha1", "kind": "IPBlock", "metadata": { "name": "default.10-0-0-0.26" },
        "spec": {
            "group": "default", "cidr": "10.0.0.0/26", "rangeID": "0000000000000001",
            "pool": { "name": "blue", "uid": Uid(1).to_string() }, "nodeName": "node-a", "nodeUID": Uid(2).to_string(),
            "machine": MachineHash(3).to_string(), "bootID": Uid(4).to_string(),
        },
    })
}

/// With every right that RBAC can give, the account of the agents writes its own NodeIPAM and nothing else.
fn granted(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    clear(cluster)?;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "too-much" },
        "rules": [{ "apiGroups": ["ipam.tenure.dev"], "resources": ["*"], "verbs": ["*"] }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "too-much" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "too-much" },
        "subjects": [{ "kind": "ServiceAccount", "name": "tenure-agent", "namespace": NAMESPACE }],
    });
    cluster.apply(&cluster.client, &role, false)?;
    cluster.apply(&cluster.client, &binding, false)?;
    cluster.until("the role to be in force", || {
        let listed = cluster.call(all::<IPBlock>(&agent).list(&ListParams::default()));
        let created = cluster.create(&agent, &block());
        Ok((listed.is_ok() && forbidden(created, "no ipblocks").is_ok()).then_some(()))
    })?;
    let tried = everything(cluster, &agent);
    let removed = crate::cluster::dynamic(&cluster.client, &binding);
    cluster.call(removed.delete("too-much", &DeleteParams::default()))?;
    tried?;
    cluster.until("the role to be gone", || {
        let deleted = cluster.call(all::<NodeIPAM>(&agent).delete("none", &DeleteParams::default()));
        Ok(forbidden(deleted, "cannot delete resource").is_ok().then_some(()))
    })?;
    clear(cluster)
}

fn everything(cluster: &Cluster, agent: &Client) -> anyhow::Result<()> {
    let api = all::<NodeIPAM>(agent);
    let (delete, patch) = (DeleteParams::default(), PatchParams::default());
    cluster.create(agent, &object("node-a"))?;
    cluster.create(&cluster.client, &object("node-b"))?;
    let status = json!({ "status": { "blockCount": 1 } });
    for name in ["node-a", "node-b"] {
        let patched = cluster.call(api.patch_status(name, &patch, &Patch::Merge(&status)));
        forbidden(patched, "the operator alone writes nodeipams/status")?;
    }
    forbidden(cluster.call(api.delete("node-b", &delete)), OTHERS)?;
    // Its own it may delete, if RBAC lets it; the others of a collection it may not.
    forbidden(cluster.call(api.delete_collection(&delete, &ListParams::default())), OTHERS)?;
    ensure!(cluster.call(all::<NodeIPAM>(&cluster.client).get_opt("node-b"))?.is_some(), "node-b is gone");
    let finalizers = json!({ "metadata": { "finalizers": ["tests/kept"] } });
    forbidden(merge(cluster, agent, "node-b", &finalizers), OTHERS)?;
    // A block that is there is neither changed nor deleted.
    cluster.create(&cluster.client, &block())?;
    let blocks = all::<IPBlock>(agent);
    let name = "default.10-0-0-0.26";
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    forbidden(cluster.call(blocks.patch(name, &patch, &Patch::Merge(&labels))), "no ipblocks")?;
    let phase = json!({ "status": { "phase": "Quarantined" } });
    forbidden(cluster.call(blocks.patch_status(name, &patch, &Patch::Merge(&phase))), "no ipblocks")?;
    forbidden(cluster.call(blocks.delete(name, &delete)), "no ipblocks")?;
    cluster.call(all::<IPBlock>(&cluster.client).delete(name, &delete))?;
    let pool = json!({
        "apiVersion": "ipam.tenure.dev/v1alpha1", "kind": "AddressPool", "metadata": { "name": "mine" },
        "spec": { "ipv4": { "cidrs": ["10.9.0.0/16"], "blockPrefix": 26 } },
    });
    forbidden(cluster.create(agent, &pool), "no addresspools")?;
    Ok(())
}

fn reads(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    cluster.call(Api::<Pod>::all(agent.clone()).list(&ListParams::default()))?;
    cluster.call(Api::<Node>::all(agent.clone()).get("node-a"))?;
    cluster.call(all::<NodeIPAM>(&agent).list(&ListParams::default()))?;
    cluster.call(all::<IPBlock>(&agent).list(&ListParams::default()))?;
    let secrets: Api<Secret> = Api::namespaced(agent.clone(), NAMESPACE);
    forbidden(cluster.call(secrets.list(&ListParams::default())), "cannot list resource \"secrets\"")?;
    let nodes: Api<Node> = Api::all(agent.clone());
    let taint = Patch::Merge(json!({ "spec": { "taints": [] } }));
    let patched = cluster.call(nodes.patch("node-a", &PatchParams::default(), &taint));
    forbidden(patched, "cannot patch resource \"nodes\"")?;
    let pods: Api<Pod> = Api::namespaced(agent, NAMESPACE);
    let deleted = cluster.call(pods.delete("agent-on-node-a", &DeleteParams::default()));
    forbidden(deleted, "cannot delete resource \"pods\"")
}

fn dead(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-c")?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    cluster.call(pods.delete("agent-on-node-c", &DeleteParams::default().grace_period(0)))?;
    cluster.until("the token to be refused", || {
        let answer = cluster.call(all::<NodeIPAM>(&agent).list(&ListParams::default()));
        let code = answer.err().and_then(|error| error.status().map(|status| status.code));
        Ok((code == Some(401)).then_some(()))
    })
}
