//! The built operator with the rights that the chart gives it, and no others.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tenure_cluster::{AddressClaim, AddressPool, IPBlock, NodeIPAM, NodeIPAMSpec};
use tenure_leases::{HolderIdentity, NodeIpamSpec, PoolDemand, PoolKey};
use tenure_operator::view::{WatchedNode, evidence};

use crate::Test;
use crate::agents::{agent, token};
use crate::clouds::{change, taints, writes_nothing_else};
use crate::cluster::{Cluster, NAMESPACE, forbidden};

pub(crate) const TESTS: &[Test] = &[
    ("operator::its_account_suffices_from_the_election_to_the_last_block", works),
    ("operator::it_removes_the_start_up_taint_and_writes_nothing_else_of_nodes", taint),
];

/// The running program; killed when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn works(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    let kubeconfig = cluster.kubeconfig(&token(cluster, "tenure-operator", None)?, "")?;
    let log = cluster.folder.path().join("operator.log");
    let program = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_tenure-operator"), "--identity", "first"])
        .args(["--namespace", NAMESPACE, "--kubeconfig"])
        .arg(&kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()?;
    let mut program = Program(program);
    let lived = life(cluster, &agent);
    let text = fs::read_to_string(&log)?;
    lived.with_context(|| format!("the operator's log:\n{text}"))?;
    // A leader that is asked to stop gives the Lease up.
    let pid = rustix::process::Pid::from_child(&program.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let status = program.0.wait()?;
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let lease = cluster.call(leases.get("tenure-operator"))?;
    // It may list the API servers, too.
    let servers = lease.annotations().get("ipam.tenure.dev/api-servers");
    ensure!(servers.is_some_and(|servers| servers.starts_with("apiserver-")), "{lease:?}");
    let lease = lease.spec.unwrap_or_default();
    let text = fs::read_to_string(&log)?;
    ensure!(status.success() && lease.holder_identity.is_none(), "{status}, {lease:?}:\n{text}");
    ensure!(!text.to_lowercase().contains("forbidden") && !text.contains("403"), "{text}");
    Ok(())
}

fn taint(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.release()?;
    cluster.node("node-t")?;
    let [tainted, _] = taints();
    change(cluster, &cluster.client, "node-t", &json!({ "spec": { "taints": tainted } }))?;
    let operator = cluster.connect(&token(cluster, "tenure-operator", None)?, "")?;
    let foreign = json!({ "metadata": { "labels": { "mine": "1" } } });
    cluster.until("the policy to be in force", || {
        let answer = change(cluster, &operator, "node-t", &foreign);
        Ok(forbidden(answer, "and changes nothing else of it").is_ok().then_some(()))
    })?;
    writes_nothing_else(cluster, &operator, "node-t", "the operator")?;
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    cluster.call(nodes.delete("node-t", &DeleteParams::default()))?;
    Ok(())
}

/// A pool, a block for a node, the node's end, and the pool's.
fn life(cluster: &Cluster, agent: &kube::Client) -> anyhow::Result<()> {
    let client = &cluster.client;
    let pools: Api<AddressPool> = Api::all(client.clone());
    let blocks: Api<IPBlock> = Api::all(client.clone());
    let said: Api<NodeIPAM> = Api::all(agent.clone());
    let nodes: Api<Node> = Api::all(client.clone());
    let (post, patch) = (PostParams::default(), PatchParams::default());
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/24"], "blockPrefix": 26 } });
    let pool = cluster.call(pools.create(&post, &AddressPool::new("blue", serde_json::from_value(spec)?)))?;
    cluster.until("the pool to be ready, with its finalizer", || {
        let pool = cluster.call(pools.get("blue"))?;
        let conditions = pool.status.map(|status| status.conditions).unwrap_or_default();
        let is_ready = conditions.iter().any(|found| found.type_ == "Ready" && found.status == "True");
        Ok((is_ready && pool.metadata.finalizers.is_some()).then_some(()))
    })?;
    named(cluster, agent)?;
    let node = cluster.node("node-a")?;
    let node: WatchedNode = serde_json::from_value(serde_json::to_value(&node)?)?;
    let proof = evidence(&node).context("the Node proves nothing")?;
    let uid = pool.metadata.uid.context("no uid")?.parse()?;
    let demand = PoolDemand {
        pool: PoolKey { name: "blue".into(), uid },
        is_ipv6: false,
        in_use: 0,
        cooling: 0,
        want: 1,
    };
    let identity =
        HolderIdentity { name: "node-a".into(), uid: proof.uid, machine: proof.machine, boot: proof.boot };
    let spec = NodeIpamSpec { demand: vec![demand], ..NodeIpamSpec::of(identity) };
    cluster.call(said.create(&post, &NodeIPAM::new("node-a", NodeIPAMSpec::from(&spec))))?;
    cluster.until("a block, and the hint to it", || {
        let hinted = cluster.call(said.get("node-a"))?.status.map_or(0, |status| status.blocks.len());
        let granted = cluster.call(blocks.list(&ListParams::default()))?.items.len();
        Ok((hinted == 1 && granted == 1).then_some(()))
    })?;
    let enough = Patch::Merge(json!({ "spec": { "demand": [] } }));
    cluster.call(said.patch("node-a", &patch, &enough))?;
    let fenced =
        json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": proof.uid.to_string() } } });
    cluster.call(nodes.patch("node-a", &patch, &Patch::Merge(fenced)))?;
    cluster.until("the fenced node's block to be free", || {
        Ok(cluster.call(blocks.list(&ListParams::default()))?.items.is_empty().then_some(()))
    })?;
    cluster.call(nodes.delete("node-a", &DeleteParams::default()))?;
    let all_said: Api<NodeIPAM> = Api::all(client.clone());
    cluster.until("the gone node's object to go", || {
        Ok(cluster.call(all_said.get_opt("node-a"))?.is_none().then_some(()))
    })?;
    cluster.call(pools.delete("blue", &DeleteParams::default()))?;
    cluster.until("the pool to go", || Ok(cluster.call(pools.get_opt("blue"))?.is_none().then_some(())))
}

/// A claim's address, and its end. An agent reads claims, and writes none.
fn named(cluster: &Cluster, agent: &kube::Client) -> anyhow::Result<()> {
    let pools: Api<AddressPool> = Api::all(cluster.client.clone());
    let claims: Api<AddressClaim> = Api::namespaced(cluster.client.clone(), "default");
    let of_agent: Api<AddressClaim> = Api::namespaced(agent.clone(), "default");
    let post = PostParams::default();
    let spec = json!({ "usage": "Claims", "ipv4": { "cidrs": ["10.1.0.0/29"], "blockPrefix": 32 } });
    cluster.call(pools.create(&post, &AddressPool::new("names", serde_json::from_value(spec)?)))?;
    let claim = AddressClaim::new("db-0", serde_json::from_value(json!({ "pool": "names" }))?);
    cluster.call(claims.create(&post, &claim))?;
    cluster.until("the claim's address", || {
        let status = cluster.call(of_agent.get("db-0"))?.status;
        Ok(status.and_then(|status| status.address))
    })?;
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    let written = cluster.call(of_agent.patch("db-0", &PatchParams::default(), &patch));
    forbidden(written, "cannot patch resource \"addressclaims\"")?;
    cluster.call(claims.delete("db-0", &DeleteParams::default()))?;
    cluster.until("the claim to go", || Ok(cluster.call(claims.get_opt("db-0"))?.is_none().then_some(())))?;
    cluster.call(pools.delete("names", &DeleteParams::default()))?;
    cluster.until("its pool to go", || Ok(cluster.call(pools.get_opt("names"))?.is_none().then_some(())))
}
