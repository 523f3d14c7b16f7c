//! Addresses with names: a pod that names an AddressClaim has its address, on whichever node it runs.

use std::fs;

use anyhow::ensure;
use k8s_openapi::api::core::v1::Node as KubeNode;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressPool, IPAMClaim, IPBlock};
use tenure_fixtures::control_plane::ipam_claims;
use tenure_fixtures::wait;

use crate::Test;
use crate::agents::ensured;
use crate::claiming::{ClaimingPod, claim, claim_nodes, claims, pods, told};
use crate::node::Node;
use crate::pods::events;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("claims::a_virtual_machine_keeps_the_addresses_of_its_claim_through_a_live_migration", migrated),
    ("claims::a_pod_keeps_the_address_of_its_claim_while_its_nodes_ledger_is_lost", lost),
    ("claims::a_claim_is_heeded_on_a_node_that_knows_nothing_of_its_pools_and_beside_a_request", unknown),
    ("claims::a_pod_that_names_a_claim_gets_no_other_address_on_a_node_without_its_pool", unserved),
    ("claims::a_node_that_was_fenced_while_it_lives_hands_the_address_of_a_claim_to_nobody", fenced),
    ("claims::a_pod_keeps_the_address_of_its_claim_from_node_to_node", kept),
];

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
    let agents = ensured(ruby, "router")?;
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
    ensure!(target.add_all(opal, "launcher-c")? == addresses);
    ensure!(ensured(ruby, "router")? == agents, "an agent's claim beside the migration lost its addresses");
    ensure!(ruby.addresses()?.len() == agents.len(), "only the agent's addresses are left");
    target.call("DEL", opal, "launcher-c")?.silent()?;
    target.delete(world)?;
    world.runtime.block_on(call(api.delete("vm.net2", &DeleteParams::default())))?;
    wait::holds("the claim's addresses to be free", LIMIT, || {
        let blocks = world.blocks()?;
        Ok(blocks.keys().all(|cidr| !addresses.iter().any(|of| cidr.addr().to_string() == *of)))
    })
}

/// The events about a node's NodeIPAM, by reason.
fn node_events(world: &World, node: &str) -> anyhow::Result<Vec<String>> {
    let api: Api<Event> = Api::namespaced(world.client.clone(), "default");
    let all = world.runtime.block_on(call(api.list(&ListParams::default())))?.items;
    let is_its = |event: &Event| event.regarding.as_ref().is_some_and(|of| of.name.as_deref() == Some(node));
    Ok(all.into_iter().filter(is_its).filter_map(|event| event.reason).collect())
}

fn lost(world: &mut World) -> anyhow::Result<()> {
    let first = claim_nodes(world)?;
    let address = claim(world, "address-7")?;
    let pod = ClaimingPod::create(world, "kept-7", "amber")?;
    ensure!(pod.add(&world.nodes[first], "kept-7-a")? == address);
    // The ledger is gone while the pod lives, and a pod of another node names the claim.
    let (state, away) = (world.nodes[first].daemon.state_directory(), world.nodes[first].daemon.path("away"));
    world.nodes[first].daemon.kill()?;
    fs::rename(&state, &away)?;
    world.nodes[first].daemon.launch()?;
    wait::holds("the event about the lost ledger", LIMIT, || {
        Ok(node_events(world, "amber")?.iter().any(|reason| reason == "LedgerLost"))
    })?;
    let other = ClaimingPod::create(world, "other-7", "olive")?;
    let used = "still in use on node amber by pod default/kept-7";
    wait::holds("the ADD to wait for the previous owner", LIMIT, || {
        Ok(other.call("ADD", &world.nodes[first + 1], "other-7-a")?.error_code(11)?.msg.contains(used))
    })?;
    wait::holds("the node to be asked for the address", LIMIT, || {
        let status = world.node_object("amber")?.and_then(|object| object.status).unwrap_or_default();
        Ok(!status.claims_asked_back.is_empty())
    })?;
    // Each of these waits for seconds, in which the node's agent looks several times.
    for _ in 0..2 {
        other.waits(&world.nodes[first + 1], "other-7-a", used)?;
    }
    // The right ledger is put back: it is recognised, and has the pod.
    world.nodes[first].daemon.kill()?;
    fs::remove_dir_all(&state)?;
    fs::rename(&away, &state)?;
    world.nodes[first].daemon.start_again()?;
    ensure!(pod.add(&world.nodes[first], "kept-7-a")? == address, "an ADD that is repeated");
    other.waits(&world.nodes[first + 1], "other-7-a", used)?;
    // It is lost for good, and somebody says that no pod lives: what the API server knows is read back, and the address goes on.
    world.nodes[first].daemon.kill()?;
    fs::remove_dir_all(&state)?;
    world.nodes[first].daemon.launch()?;
    pod.call("DEL", &world.nodes[first], "kept-7-a")?.silent()?;
    other.waits(&world.nodes[first + 1], "other-7-a", used)?;
    world.nodes[first].daemon.ctl(&["adopt", "--empty"])?;
    ensure!(other.add(&world.nodes[first + 1], "other-7-a")? == address);
    wait::holds("the node to hold no turn", LIMIT, || {
        let object = world.node_object("amber")?;
        Ok(object.is_some_and(|object| object.spec.claims.is_empty()))
    })?;
    let held = world.node_object("amber")?.map(|object| object.spec.held).unwrap_or_default();
    ensure!(!held.is_empty(), "the node's blocks were not read back");
    other.call("DEL", &world.nodes[first + 1], "other-7-a")?.silent()?;
    pod.delete(world)?;
    other.delete(world)?;
    world.runtime.block_on(call(claims(world).delete("address-7", &DeleteParams::default())))?;
    world.ready()
}

/// On a fresh node, a network that a NetworkAttachmentDefinition defines is new, and the operator has told nothing about its pools.
fn unknown(world: &mut World) -> anyhow::Result<()> {
    claim_nodes(world)?;
    let (first, second) = (claim(world, "address-5")?, claim(world, "address-6")?);
    let mut node = Node::prepare_alone("slate", "10.0.0.0/24")?;
    node.lease_undefined(&world.kubeconfig, &["lent", "names"])?;
    world.create::<KubeNode>(&serde_json::from_value(node.object()?)?)?;
    node.daemon.launch()?;
    let ipam = json!({ "type": "tenure", "policy": "cluster-range", "pools": ["lent", "names"] });
    let definition = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": ipam });
    let pod = ClaimingPod::create(world, "vm-5", "slate")?;
    ensure!(pod.add_with(&node, "vm-5-a", &definition)? == first);

    // The address is requested, too, and is not this node's yet.
    let mut requesting = definition.clone();
    requesting["runtimeConfig"] = json!({ "ips": [second] });
    let other = ClaimingPod::create(world, "vm-6", "slate")?;
    ensure!(other.add_with(&node, "vm-6-a", &requesting)? == second);
    requesting["runtimeConfig"] = json!({ "ips": [first] });
    let refused = other.call_with("ADD", &node, "vm-6-b", &requesting)?.error_code(137)?;
    ensure!(refused.msg.contains("is of none of the claims of pod default/vm-6"), "{refused:?}");
    for (pod, container, name) in [(&pod, "vm-5-a", "address-5"), (&other, "vm-6-a", "address-6")] {
        pod.call("DEL", &node, container)?.silent()?;
        pod.delete(world)?;
        world.runtime.block_on(call(claims(world).delete(name, &DeleteParams::default())))?;
    }
    Ok(())
}

/// A pod whose annotation is a mistake is refused, and nobody else waits for it.
fn misnamed(world: &World, node: usize) -> anyhow::Result<()> {
    let wrong = ClaimingPod::create_naming(world, "wrong", "amber", "db-0 db6-0")?;
    let refused = wrong.call("ADD", &world.nodes[node], "wrong-a")?.error_code(137)?;
    ensure!(refused.msg.contains("\"db-0 db6-0\" in annotation ipam.tenure.dev/claim"), "{refused:?}");
    wrong.delete(world)
}

/// A node of these networks, whose daemon runs, beside those of the world.
fn beside(world: &World, name: &str, networks: &str) -> anyhow::Result<Node> {
    let mut node = Node::prepare_with(name, &world.kubeconfig, &["names"], "[\"ipv4\"]")?;
    if !networks.is_empty() {
        node.reconfigure("networks = { pods = [\"names\"] }", &format!("networks = {{ {networks} }}"))?;
        node.reconfigure("pools = [\"names\"]", "pools = [\"lent\"]")?;
    }
    world.create::<KubeNode>(&serde_json::from_value(node.object()?)?)?;
    node.daemon.launch()?;
    Ok(node)
}

/// The agent of the node has not been restarted since its network got the pool of the claim.
fn unserved(world: &mut World) -> anyhow::Result<()> {
    claim_nodes(world)?;
    for name in ["address-8", "address-18"] {
        claim(world, name)?;
    }
    let late = beside(world, "jade", "pods = [\"lent\"]")?;
    let mixed = beside(world, "onyx", "pods = [\"lent\"], storage = [\"names\"]")?;
    let refused = |pod: &ClaimingPod, node: &Node, container: &str| {
        wait::until("the refusal", LIMIT, || {
            let outcome = pod.call("ADD", node, container)?;
            if outcome.succeeded {
                // The watch has not shown the pod yet.
                pod.call("DEL", node, container)?.silent()?;
                return Ok(None);
            }
            // Until the node has a block.
            Ok(outcome.error_code(137).ok().map(|refused| refused.msg))
        })
    };
    let plain = |node: &Node| -> anyhow::Result<()> {
        let address = wait::until("an address of a block", LIMIT, || {
            let outcome = node.call("ADD", "plain")?;
            Ok(if outcome.succeeded { Some(outcome.address()?) } else { None })
        })?;
        ensure!(address.starts_with("10.94.0."), "a pod without a claim got {address}");
        node.call("DEL", "plain")?.silent()
    };
    plain(&late)?;
    let pod = ClaimingPod::create(world, "db-8", "jade")?;
    let why = refused(&pod, &late, "db-8-a")?;
    ensure!(
        why.contains("names claim default/address-8") && why.contains("no network of this node"),
        "{why}"
    );
    let machine = ClaimingPod::launch(world, "launcher-8", "jade")?;
    let why = refused(&machine, &late, "launcher-8-a")?;
    ensure!(
        why.contains("claim default/vm.net2") && why.contains("network pods has no pool for claims"),
        "{why}"
    );
    // The pool is another network's of the node, from which another interface of the pod gets the address.
    plain(&mixed)?;
    let other = ClaimingPod::create(world, "db-18", "onyx")?;
    ensure!(other.add(&mixed, "db-18-a")?.starts_with("10.94.0."));
    other.call("DEL", &mixed, "db-18-a")?.silent()?;
    let spec = json!({ "pool": "lent" });
    let wrong = AddressClaim::new("address-28", serde_json::from_value(spec)?);
    world.runtime.block_on(call(claims(world).create(&PostParams::default(), &wrong)))?;
    let pod_of_wrong = ClaimingPod::create(world, "db-28", "onyx")?;
    let why = refused(&pod_of_wrong, &mixed, "db-28-a")?;
    ensure!(why.contains("AddressPool lent, which is not for claims"), "{why}");
    for pod in [pod, machine, other, pod_of_wrong] {
        pod.delete(world)?;
    }
    for name in ["address-8", "address-18", "address-28"] {
        world.runtime.block_on(call(claims(world).delete(name, &DeleteParams::default())))?;
    }
    Ok(())
}

/// A person attests that the wrong node is off, and takes it back.
fn fenced(world: &mut World) -> anyhow::Result<()> {
    claim_nodes(world)?;
    let address = claim(world, "address-9")?;
    let (ivory, coral) = (beside(world, "ivory", "")?, beside(world, "coral", "")?);
    // Its node keeps the address of a pod that is gone.
    let first = ClaimingPod::create(world, "db-9", "coral")?;
    ensure!(first.add(&coral, "db-9-a")? == address);
    first.call("DEL", &coral, "db-9-a")?.silent()?;
    first.delete(world)?;
    let node: Api<KubeNode> = Api::all(world.client.clone());
    let uid = world.runtime.block_on(call(node.get("coral")))?.metadata.uid;
    let fence =
        |uid: Option<&String>| json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } });
    world.change::<KubeNode>("coral", &fence(uid.as_ref()))?;
    let second = ClaimingPod::create(world, "db-9", "ivory")?;
    ensure!(second.add(&ivory, "db-9-b")? == address);
    world.change::<KubeNode>("coral", &fence(None))?;
    // The daemon was not restarted, and its watch not interrupted.
    let third = ClaimingPod::create_naming(world, "further", "coral", "address-9")?;
    wait::holds("the ADD to wait for the node that has the address", LIMIT, || {
        let outcome = third.call("ADD", &coral, "further-a")?;
        ensure!(!outcome.succeeded, "two pods have the address of the claim");
        Ok(outcome.error_code(11)?.msg.contains("still in use on node ivory by pod default/db-9"))
    })?;
    let says = |name: &str| -> anyhow::Result<usize> {
        let object = world.node_object(name)?.map(|object| object.spec.claims).unwrap_or_default();
        Ok(object.iter().filter(|turn| turn.state == "Held").count())
    };
    ensure!((says("ivory")?, says("coral")?) == (1, 0), "the node that was fenced has a turn");
    second.call("DEL", &ivory, "db-9-b")?.silent()?;
    ensure!(third.add(&coral, "further-a")? == address);
    third.call("DEL", &coral, "further-a")?.silent()?;
    for pod in [second, third] {
        pod.delete(world)?;
    }
    world.runtime.block_on(call(claims(world).delete("address-9", &DeleteParams::default()))).map(drop)?;
    Ok(())
}

fn kept(world: &mut World) -> anyhow::Result<()> {
    let first = claim_nodes(world)?;
    let address = claim(world, "address-0")?;
    claim(world, "address-1")?;
    misnamed(world, first)?;
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
    wait::holds("the claim to name its node", LIMIT, || {
        Ok(told(world, "address-0")?.and_then(|status| status.node).as_deref() == Some("olive"))
    })?;

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
