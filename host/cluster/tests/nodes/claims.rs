//! Addresses with names: a pod that names an AddressClaim has its address, on whichever node it runs.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::{Node as KubeNode, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressClaimStatus, AddressPool, IPAMClaim, IPBlock};
use tenure_fixtures::control_plane::ipam_claims;
use tenure_fixtures::node::Attachment;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::wait;

use crate::Test;
use crate::node::Node;
use crate::pods::events;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("claims::a_virtual_machine_keeps_the_addresses_of_its_claim_through_a_live_migration", migrated),
    ("claims::a_pod_keeps_the_address_of_its_claim_from_node_to_node", kept),
];

/// A pod that names a claim, in the API server.
struct ClaimingPod {
    name: &'static str,
    uid: String,
    interface: &'static str,
}

impl ClaimingPod {
    /// A pod of a StatefulSet.
    fn create(world: &World, name: &'static str, node: &str) -> anyhow::Result<Self> {
        let annotations = json!({ "ipam.tenure.dev/claim": "address-{ordinal}" });
        Self::create_with(world, name, node, "eth0", &json!({ "annotations": annotations }))
    }

    /// A pod of a virtual machine, as KubeVirt labels it, with a claim for its second interface.
    fn launch(world: &World, name: &'static str, node: &str) -> anyhow::Result<Self> {
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
        let attachment = Attachment { interface: self.interface.to_owned(), ..Attachment::of(container) };
        node.daemon.shim()?.env("CNI_ARGS", &arguments).call(verb, &attachment, &config)
    }

    /// Adds a sandbox, as often as the runtime would; returns the addresses.
    fn add_all(&self, node: &Node, container: &str) -> anyhow::Result<Vec<String>> {
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

/// The uid of a VirtualMachineInstance.
const MACHINE: &str = "7e5e1e57-0000-4000-8000-0000000000aa";

/// The nodes of the active and alternate turns of a claim's blocks, which are all the same.
fn turns(world: &World, claim: &str) -> anyhow::Result<(Option<String>, Option<String>)> {
    let api: Api<IPBlock> = Api::all(world.client.clone());
    let list = world.runtime.block_on(call(api.list(&ListParams::default())))?;
    let of_claim = |block: &IPBlock| block.spec.claim.as_ref().is_some_and(|of| of.name == claim);
    let status = list.items.into_iter().filter(of_claim).map(|block| block.status.unwrap_or_default());
    let mut found: Vec<_> = status
        .map(|status| {
            let node = |entry: Option<_>| {
                entry.map(|entry: tenure_cluster::objects::reference::ActiveEntry| entry.node_name)
            };
            (node(status.active), node(status.alternate))
        })
        .collect();
    found.dedup();
    Ok(if let [only] = found.as_slice() { only.clone() } else { (None, None) })
}

fn until_turns(world: &World, active: &str, alternate: Option<&str>) -> anyhow::Result<()> {
    wait::holds(&format!("{active} to be active beside {alternate:?}"), LIMIT, || {
        Ok(turns(world, "vm.net2")? == (Some(active.to_owned()), alternate.map(str::to_owned)))
    })
}

fn migrated(world: &mut World) -> anyhow::Result<()> {
    let family = |v4: &str, four: u8, v6: &str, six: u8| json!({ "ipv4": { "cidrs": [v4], "blockPrefix": four }, "ipv6": { "cidrs": [v6], "blockPrefix": six } });
    let mut machines = family("10.81.0.0/28", 32, "fd00:81::/124", 128);
    (machines["usage"], machines["networks"]) = (json!("Claims"), json!(["pods"]));
    for (name, spec) in [("usual", family("10.82.0.0/26", 28, "fd00:82::/120", 124)), ("machines", machines)]
    {
        world.create(&AddressPool::new(name, serde_json::from_value(spec)?))?;
    }
    world.create::<CustomResourceDefinition>(&serde_json::from_value(ipam_claims::definition())?)?;
    for name in ["ruby", "opal"] {
        let pools = ["usual", "machines"];
        let node = Node::prepare_with(name, &world.kubeconfig, &pools, "[\"ipv4\", \"ipv6\"]")?;
        world.join(node)?;
    }
    let api: Api<IPAMClaim> = Api::namespaced(world.client.clone(), "default");
    let spec = json!({ "network": "pods", "interface": "net2" });
    let claim = IPAMClaim::new("vm.net2", serde_json::from_value(spec)?);
    wait::until("the claim", LIMIT, || {
        Ok(world.runtime.block_on(call(api.create(&PostParams::default(), &claim))).ok())
    })?;
    let owner = || -> anyhow::Result<String> {
        let found = world.runtime.block_on(call(api.get("vm.net2")))?;
        Ok(found.status.unwrap_or_default().owner_pod)
    };
    let [.., ruby, opal] = world.nodes.as_slice() else { anyhow::bail!("no nodes") };
    let source = ClaimingPod::launch(world, "launcher-a", "ruby")?;
    let addresses = source.add_all(ruby, "launcher-a")?;
    ensure!(
        addresses.len() == 2 && addresses[0].starts_with("10.81.") && addresses[1].starts_with("fd00:81"),
        "{addresses:?}"
    );
    wait::holds("the owner", LIMIT, || Ok(owner()? == "launcher-a"))?;

    // The target has the same addresses while the machine still runs in the source.
    let target = ClaimingPod::launch(world, "launcher-b", "opal")?;
    ensure!(target.add_all(opal, "launcher-b")? == addresses);
    ensure!(turns(world, "vm.net2")? == (Some("ruby".into()), Some("opal".into())));
    // A migration that is given up leaves them where they are.
    target.call("DEL", opal, "launcher-b")?.silent()?;
    target.delete(world)?;
    until_turns(world, "ruby", None)?;
    ensure!(source.add_all(ruby, "launcher-a")? == addresses, "an ADD that is repeated");
    let target = ClaimingPod::launch(world, "launcher-c", "opal")?;
    ensure!(target.add_all(opal, "launcher-c")? == addresses);
    // The machine runs in the target; the late end of the source takes nothing from it.
    let moved = json!({ "metadata": { "labels": { "kubevirt.io/nodeName": "opal" } } });
    let patch = Patch::Merge(&moved);
    world.runtime.block_on(call(pods(world).patch(target.name, &PatchParams::default(), &patch)))?;
    until_turns(world, "opal", Some("ruby"))?;
    wait::holds("the owner", LIMIT, || Ok(owner()? == "launcher-c"))?;
    source.call("DEL", ruby, "launcher-a")?.silent()?;
    source.delete(world)?;
    until_turns(world, "opal", None)?;
    ensure!(target.add_all(opal, "launcher-c")? == addresses && ruby.addresses()?.is_empty());
    target.call("DEL", opal, "launcher-c")?.silent()?;
    target.delete(world)?;
    world.runtime.block_on(call(api.delete("vm.net2", &DeleteParams::default())))?;
    wait::holds("the claim's addresses to be free", LIMIT, || {
        let blocks = world.blocks()?;
        Ok(blocks.keys().all(|cidr| !addresses.iter().any(|of| cidr.addr().to_string() == *of)))
    })
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
    let back = ClaimingPod { name: "db-0", uid: pod.uid.clone(), interface: "eth0" };
    back.waits(&world.nodes[first + 1], "db-0-e", "claim")?;
    moved.call("DEL", &world.nodes[first + 1], "db-0-c")?.silent()?;
    wait::holds("the node that came back to have no turn", LIMIT, || {
        let object = world.node_object("olive")?;
        Ok(object.is_none_or(|object| object.spec.claims.iter().all(|turn| turn.state != "Held")))
    })?;
    pod.call("DEL", &world.nodes[first], "db-0-d")?.silent()?;
    // The operator grants nothing for two minutes after the node that came back has named blocks that it lost.
    *world = World::start()?;
    Ok(())
}
