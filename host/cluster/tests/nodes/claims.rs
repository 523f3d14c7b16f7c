//! Addresses with names: a pod that names an AddressClaim has its address, on whichever node it runs.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::{Node as KubeNode, Pod};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressClaimStatus, AddressPool, IPBlock};
use tenure_fixtures::node::Attachment;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::wait;

use crate::Test;
use crate::node::Node;
use crate::pods::events;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[("claims::a_pod_keeps_the_address_of_its_claim_from_node_to_node", kept)];

/// A pod of a StatefulSet, in the API server.
struct ClaimingPod {
    name: &'static str,
    uid: String,
}

impl ClaimingPod {
    fn create(world: &World, name: &'static str, node: &str) -> anyhow::Result<Self> {
        let metadata =
            json!({ "name": name, "annotations": { "ipam.tenure.dev/claim": "address-{ordinal}" } });
        let spec = json!({ "nodeName": node, "containers": [{ "name": "main", "image": "none" }] });
        let object: Pod = serde_json::from_value(json!({ "metadata": metadata, "spec": spec }))?;
        let made = world.runtime.block_on(call(pods(world).create(&PostParams::default(), &object)))?;
        Ok(Self { name, uid: made.metadata.uid.context("no uid")? })
    }

    /// Deletes it from the API server by force, as a person does whose node is gone.
    fn delete(&self, world: &World) -> anyhow::Result<()> {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        world.runtime.block_on(call(pods(world).delete(self.name, &now)))?;
        wait::holds("the pod to be gone", LIMIT, || {
            let found = world.runtime.block_on(call(pods(world).get_opt(self.name)))?;
            Ok(found.is_none_or(|found| found.metadata.uid.as_ref() != Some(&self.uid)))
        })
    }

    /// Calls the plugin for a sandbox of the pod.
    fn call(&self, verb: &str, node: &Node, container: &str) -> anyhow::Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={}",
            self.name, self.uid
        );
        node.daemon.shim()?.env("CNI_ARGS", &arguments).call(verb, &Attachment::of(container), &config)
    }

    /// Adds a sandbox, as often as the runtime would; returns the address.
    fn add(&self, node: &Node, container: &str) -> anyhow::Result<String> {
        wait::until("the pod's address", LIMIT, || {
            let outcome = self.call("ADD", node, container)?;
            if outcome.succeeded {
                let address = outcome.address()?;
                return Ok(address.split_once('/').map(|(address, _)| address.to_owned()));
            }
            outcome.error_code(11).map(|_| None)
        })
    }

    /// Expects that an ADD is to be tried again, with these words.
    fn waits(&self, node: &Node, container: &str, words: &str) -> anyhow::Result<()> {
        let refused = self.call("ADD", node, container)?.error_code(11)?;
        ensure!(refused.msg.contains(words), "{refused:?} lacks {words:?}");
        Ok(())
    }
}

fn pods(world: &World) -> Api<Pod> {
    Api::namespaced(world.client.clone(), "default")
}

fn claims(world: &World) -> Api<AddressClaim> {
    Api::namespaced(world.client.clone(), "default")
}

fn told(world: &World, name: &str) -> anyhow::Result<Option<AddressClaimStatus>> {
    let found = world.runtime.block_on(call(claims(world).get_opt(name)))?;
    Ok(found.map(|claim| claim.status.unwrap_or_default()))
}

fn claim(world: &World, name: &str) -> anyhow::Result<String> {
    let claim = AddressClaim::new(name, serde_json::from_value(json!({ "pool": "names" }))?);
    world.runtime.block_on(call(claims(world).create(&PostParams::default(), &claim)))?;
    wait::until("the claim's address", LIMIT, || Ok(told(world, name)?.and_then(|status| status.address)))
}

fn kept(world: &mut World) -> anyhow::Result<()> {
    for (name, spec) in [
        ("lent", json!({ "ipv4": { "cidrs": ["10.94.0.0/24"], "blockPrefix": 28 } })),
        ("names", json!({ "usage": "Claims", "ipv4": { "cidrs": ["10.95.0.0/28"], "blockPrefix": 32 } })),
    ] {
        world.create(&AddressPool::new(name, serde_json::from_value(spec)?))?;
    }
    for name in ["amber", "olive"] {
        let node = Node::prepare_with(name, &world.kubeconfig, &["lent", "names"], "[\"ipv4\"]")?;
        world.join(node)?;
    }
    let address = claim(world, "address-0")?;
    claim(world, "address-1")?;
    let first = world.nodes.len() - 2;
    let mut pod = ClaimingPod::create(world, "db-0", "amber")?;
    let late = ClaimingPod::create(world, "db-1", "amber")?;
    {
        let amber = &world.nodes[first];
        ensure!(pod.add(amber, "db-0-a")? == address);
        let usual = amber.call("ADD", "usual")?.address()?;
        ensure!(usual.starts_with("10.94.0."), "a pod without a claim got {usual}");
        amber.call("DEL", "usual")?.silent()?;
    }

    // Without the API server: the address is this node's, and goes on to another sandbox at once. Another claim's waits.
    world.plane.stop_server()?;
    let amber = &world.nodes[first];
    let again = pod.call("DEL", amber, "db-0-a").and_then(|_| pod.call("ADD", amber, "db-0-b"));
    let waits = late.waits(amber, "db-1-a", "is not this node's yet");
    world.start_server()?;
    ensure!(again?.address()?.starts_with(&format!("{address}/")));
    waits?;

    // The pod moves: it waits for the sandbox of its predecessor, and then has the same address.
    pod.delete(world)?;
    let moved = ClaimingPod::create(world, "db-0", "olive")?;
    let (amber, olive) = (&world.nodes[first], &world.nodes[first + 1]);
    wait::holds("the ADD to wait for the previous owner", LIMIT, || {
        let refused = moved.call("ADD", olive, "db-0-c")?.error_code(11)?;
        Ok(refused.msg.contains("still in use on node amber by pod default/db-0 since"))
    })?;
    wait::holds("the event", LIMIT, || Ok(events(world, &moved.uid)? == ["WaitingForPreviousOwner"]))?;
    pod.call("DEL", amber, "db-0-b")?.silent()?;
    ensure!(moved.add(olive, "db-0-c")? == address);
    ensure!(told(world, "address-0")?.and_then(|status| status.node).as_deref() == Some("olive"));

    // A claim ends once nobody has its address.
    let amber = &world.nodes[first];
    let ending = late.add(amber, "db-1-b")?;
    world.runtime.block_on(call(claims(world).delete("address-1", &DeleteParams::default())))?;
    wait::holds("the claim to wait for its pod", LIMIT, || {
        Ok(told(world, "address-1")?.is_some_and(|status| status.phase == "Leaving"))
    })?;
    late.call("DEL", amber, "db-1-b")?.silent()?;
    let block = format!("default.{}.32", ending.replace('.', "-"));
    wait::holds("the address to be free", LIMIT, || {
        let api: Api<IPBlock> = Api::all(world.client.clone());
        let left = world.runtime.block_on(call(api.get_opt(&block)))?.is_some();
        Ok(!left && told(world, "address-1")?.is_none())
    })?;

    // Its node dies. Only an attestation moves the address, and the node that comes back hands it to nobody.
    world.nodes[first + 1].daemon.kill()?;
    moved.delete(world)?;
    pod = ClaimingPod::create(world, "db-0", "amber")?;
    pod.waits(&world.nodes[first], "db-0-d", "still in use on node olive")?;
    let node: Api<KubeNode> = Api::all(world.client.clone());
    let uid = world.runtime.block_on(call(node.get("olive")))?.metadata.uid;
    let fence =
        |uid: Option<&String>| json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } });
    world.change::<KubeNode>("olive", &fence(uid.as_ref()))?;
    ensure!(pod.add(&world.nodes[first], "db-0-d")? == address);
    world.change::<KubeNode>("olive", &fence(None))?;
    world.nodes[first + 1].boot_again()?;
    let back = ClaimingPod { name: "db-0", uid: pod.uid.clone() };
    back.waits(&world.nodes[first + 1], "db-0-e", "claim")?;
    moved.call("DEL", &world.nodes[first + 1], "db-0-c")?.silent()?;
    pod.call("DEL", &world.nodes[first], "db-0-d")?.silent()?;
    // The operator grants nothing for two minutes after the node that came back has named blocks that it lost.
    *world = World::start()?;
    Ok(())
}
