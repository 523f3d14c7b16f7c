//! Pods that name claims, and the nodes that they run on.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressClaimStatus, AddressPool};
use tenure_fixtures::node::Attachment;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::wait;

use crate::faults::has_condition;
use crate::node::Node;
use crate::world::{LIMIT, World};

/// The uid of a VirtualMachineInstance.
const MACHINE: &str = "7e5e1e57-0000-4000-8000-0000000000aa";

/// The nodes `amber` and `olive`, the last ones of the world, whose network has a pool of blocks and a pool for claims; returns the place of the first.
pub(crate) fn claim_nodes(world: &mut World) -> anyhow::Result<usize> {
    if let Some(first) = world.nodes.iter().position(|node| node.name == "amber") {
        return Ok(first);
    }
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
    let first = world.nodes.len() - 2;
    wait::holds("the empty pool for claims not to count as exhausted", LIMIT, || {
        Ok(!has_condition(&world.nodes[first], "supply-exhausted")?)
    })?;
    Ok(first)
}

/// A pod that names a claim, in the API server.
pub(crate) struct ClaimingPod {
    pub(crate) name: &'static str,
    pub(crate) uid: String,
    pub(crate) interface: &'static str,
}

impl ClaimingPod {
    /// A pod of a StatefulSet.
    pub(crate) fn create(world: &World, name: &'static str, node: &str) -> anyhow::Result<Self> {
        let annotations = json!({ "ipam.tenure.dev/claim": "address-{ordinal}" });
        Self::create_with(world, name, node, "eth0", &json!({ "annotations": annotations }))
    }

    /// A pod with other words in the annotation.
    pub(crate) fn create_naming(
        world: &World,
        name: &'static str,
        node: &str,
        claims: &str,
    ) -> anyhow::Result<Self> {
        let annotations = json!({ "ipam.tenure.dev/claim": claims });
        Self::create_with(world, name, node, "eth0", &json!({ "annotations": annotations }))
    }

    /// A pod of a virtual machine, as KubeVirt labels it, with a claim for its second interface.
    pub(crate) fn launch(world: &World, name: &'static str, node: &str) -> anyhow::Result<Self> {
        let networks = json!([{ "name": "plain" }, { "name": "blue", "ipam-claim-reference": "vm.net2" }]);
        let metadata = json!({
            "labels": { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": MACHINE },
            "annotations": { "k8s.v1.cni.cncf.io/networks": networks.to_string() },
        });
        Self::create_with(world, name, node, "net2", &metadata)
    }

    fn create_with(
        world: &World,
        name: &'static str,
        node: &str,
        interface: &'static str,
        metadata: &Value,
    ) -> anyhow::Result<Self> {
        let mut metadata = metadata.clone();
        metadata["name"] = json!(name);
        let spec = json!({ "nodeName": node, "containers": [{ "name": "main", "image": "none" }] });
        let object: Pod = serde_json::from_value(json!({ "metadata": metadata, "spec": spec }))?;
        let made = world.runtime.block_on(call(pods(world).create(&PostParams::default(), &object)))?;
        Ok(Self { name, uid: made.metadata.uid.context("no uid")?, interface })
    }

    /// Deletes it from the API server by force, as a person does whose node is gone.
    pub(crate) fn delete(&self, world: &World) -> anyhow::Result<()> {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        world.runtime.block_on(call(pods(world).delete(self.name, &now)))?;
        wait::holds("the pod to be gone", LIMIT, || {
            let found = world.runtime.block_on(call(pods(world).get_opt(self.name)))?;
            Ok(found.is_none_or(|found| found.metadata.uid.as_ref() != Some(&self.uid)))
        })
    }

    /// Calls the plugin for a sandbox of the pod.
    pub(crate) fn call(&self, verb: &str, node: &Node, container: &str) -> anyhow::Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        self.call_with(verb, node, container, &config)
    }

    /// The same with another configuration.
    pub(crate) fn call_with(
        &self,
        verb: &str,
        node: &Node,
        container: &str,
        config: &Value,
    ) -> anyhow::Result<Outcome> {
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={}",
            self.name, self.uid
        );
        let attachment = Attachment { interface: self.interface.to_owned(), ..Attachment::of(container) };
        node.daemon.shim()?.env("CNI_ARGS", &arguments).call(verb, &attachment, config)
    }

    /// Adds a sandbox, as often as the runtime would; returns the addresses.
    pub(crate) fn add_all(&self, node: &Node, container: &str) -> anyhow::Result<Vec<String>> {
        wait::until("the pod's addresses", LIMIT, || {
            let outcome = self.call("ADD", node, container)?;
            if !outcome.succeeded {
                return outcome.error_code(11).map(|_| None);
            }
            let result = outcome.result()?;
            let ips = result["ips"].as_array().into_iter().flatten();
            let address = |ip: &Value| Some(ip["address"].as_str()?.split_once('/')?.0.to_owned());
            Ok(Some(ips.filter_map(address).collect()))
        })
    }

    /// Adds a sandbox, as often as the runtime would; returns the address.
    pub(crate) fn add(&self, node: &Node, container: &str) -> anyhow::Result<String> {
        until_added(|| self.call("ADD", node, container))
    }

    /// The same with another configuration.
    pub(crate) fn add_with(&self, node: &Node, container: &str, config: &Value) -> anyhow::Result<String> {
        until_added(|| self.call_with("ADD", node, container, config))
    }

    /// Expects that an ADD is to be tried again, with these words.
    pub(crate) fn waits(&self, node: &Node, container: &str, words: &str) -> anyhow::Result<()> {
        let refused = self.call("ADD", node, container)?.error_code(11)?;
        ensure!(refused.msg.contains(words), "{refused:?} lacks {words:?}");
        Ok(())
    }
}

/// Repeats an ADD, as often as the runtime would; returns the address.
fn until_added(add: impl Fn() -> anyhow::Result<Outcome>) -> anyhow::Result<String> {
    wait::until("the pod's address", LIMIT, || {
        let outcome = add()?;
        if outcome.succeeded {
            let address = outcome.address()?;
            return Ok(address.split_once('/').map(|(address, _)| address.to_owned()));
        }
        outcome.error_code(11).map(|_| None)
    })
}

pub(crate) fn pods(world: &World) -> Api<Pod> {
    Api::namespaced(world.client.clone(), "default")
}

pub(crate) fn claims(world: &World) -> Api<AddressClaim> {
    Api::namespaced(world.client.clone(), "default")
}

pub(crate) fn told(world: &World, name: &str) -> anyhow::Result<Option<AddressClaimStatus>> {
    let found = world.runtime.block_on(call(claims(world).get_opt(name)))?;
    Ok(found.map(|claim| claim.status.unwrap_or_default()))
}

pub(crate) fn claim(world: &World, name: &str) -> anyhow::Result<String> {
    let claim = AddressClaim::new(name, serde_json::from_value(json!({ "pool": "names" }))?);
    world.runtime.block_on(call(claims(world).create(&PostParams::default(), &claim)))?;
    wait::until("the claim's address", LIMIT, || Ok(told(world, name)?.and_then(|status| status.address)))
}
