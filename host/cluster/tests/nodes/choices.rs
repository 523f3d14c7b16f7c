//! Which pool a pod's addresses come from: a network of several pools, and what a policy is told about its pods.

use std::net::Ipv4Addr;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::{Namespace, Node as KubeNode, Pod};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tenure_cluster::AddressPool;
use tenure_cluster::client::call;
use tenure_fixtures::control_plane::kubelets_node;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::node::{Attachment, Daemon};
use tenure_fixtures::wait;

use crate::Test;
use crate::pods::events;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[("choices::the_most_exact_word_decides_about_a_pods_pool", decided)];

/// The pools, in the network's order; each has the addresses 10.97.NUMBER.0/26.
const POOLS: [&str; 4] = ["plain", "gold", "red", "silver"];

/// The node's name.
const NODE: &str = "prism";

/// A node whose network has several pools.
struct ChoosingNode {
    daemon: Daemon,
}

impl ChoosingNode {
    fn start(world: &World) -> anyhow::Result<Self> {
        for (number, (pool, selector)) in POOLS.iter().zip(selectors()).enumerate() {
            let mut spec =
                json!({ "ipv4": { "cidrs": [format!("10.97.{number}.0/26")], "blockPrefix": 28 } });
            spec.as_object_mut().unwrap().extend(selector.as_object().cloned().unwrap_or_default());
            world.create(&AddressPool::new(pool, serde_json::from_value(spec)?))?;
        }
        let mut daemon = Daemon::prepare()?;
        let pools = json!(POOLS);
        daemon.configure(&format!(
            "[node]\nname = \"{NODE}\"\nmachine_id = \"{NODE}\"\nsystem_uuid = \"firmware of {NODE}\"\n\
             [cluster]\nnetworks = {{ tiers = {pools} }}\nkubeconfig = \"{}\"\npreallocation = 1\nwrite_seconds = 1\n\
             [networks.tiers]\nrecord = 100\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = {pools} }}\n",
            world.kubeconfig.display()
        ))?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        world.create::<KubeNode>(&serde_json::from_value(kubelets_node(NODE, NODE, boot.trim()))?)?;
        daemon.launch()?;
        let node = Self { daemon };
        wait::holds("the node to have blocks of all pools", LIMIT, || {
            let blocks = world.blocks()?;
            Ok(blocks.values().filter(|holder| *holder == NODE).count() >= POOLS.len())
        })?;
        Ok(node)
    }

    /// Adds a pod to the network, by a configuration with these keys in `ipam`.
    fn add(&self, pod: &MadePod, ipam: &Value) -> anyhow::Result<Outcome> {
        self.add_as(pod, &pod.name, ipam)
    }

    /// Adds a sandbox of a pod to the network.
    fn add_as(&self, pod: &MadePod, container: &str, ipam: &Value) -> anyhow::Result<Outcome> {
        let mut config = json!({ "cniVersion": "1.1.0", "name": "tiers", "ipam": { "type": "tenure" } });
        config["ipam"].as_object_mut().unwrap().extend(ipam.as_object().cloned().unwrap_or_default());
        let MadePod { namespace, name, uid } = pod;
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={name};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={uid}"
        );
        self.daemon.shim()?.env("CNI_ARGS", &arguments).call("ADD", &Attachment::of(container), &config)
    }

    /// The pool of the address that a pod gets.
    fn pool(&self, pod: &MadePod, ipam: &Value) -> anyhow::Result<&'static str> {
        let address = self.add(pod, ipam)?.address()?;
        let (ip, _) = address.split_once('/').context("no prefix length")?;
        let number = ip.parse::<Ipv4Addr>()?.octets()[2];
        POOLS.get(usize::from(number)).copied().with_context(|| format!("{address} is of no pool"))
    }
}

fn selectors() -> [Value; 4] {
    let labels = |field: &str, key: &str, value: &str| json!({ field: { "matchLabels": { key: value } } });
    [
        json!({}),
        labels("podSelector", "tier", "gold"),
        labels("namespaceSelector", "team", "red"),
        labels("podSelector", "tier", "silver"),
    ]
}

/// A pod in the API server.
struct MadePod {
    namespace: &'static str,
    name: String,
    uid: String,
}

fn create(world: &World, namespace: &'static str, name: &str, metadata: &Value) -> anyhow::Result<MadePod> {
    let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
    let mut metadata = metadata.clone();
    metadata["name"] = json!(name);
    let object: Pod = serde_json::from_value(json!({ "metadata": metadata, "spec": spec }))?;
    let api: Api<Pod> = Api::namespaced(world.client.clone(), namespace);
    let made = world.runtime.block_on(call(api.create(&PostParams::default(), &object)))?;
    Ok(MadePod { namespace, name: name.to_owned(), uid: made.metadata.uid.context("no uid")? })
}

fn decided(world: &mut World) -> anyhow::Result<()> {
    let namespace = json!({ "metadata": { "name": "red", "labels": { "team": "red" } } });
    world.create::<Namespace>(&serde_json::from_value(namespace)?)?;
    let node = ChoosingNode::start(world)?;
    let none = json!({});
    let label = |tier: &str| json!({ "labels": { "tier": tier } });
    let named = |tier: &str, pools: &str| json!({ "labels": { "tier": tier }, "annotations": { "ipam.tenure.dev/pools": pools } });

    let plain = create(world, "default", "plain", &none)?;
    ensure!(node.pool(&plain, &none)? == "plain");
    let gold = create(world, "default", "gold", &label("gold"))?;
    ensure!(node.pool(&gold, &none)? == "gold");
    let red = create(world, "red", "red", &none)?;
    ensure!(node.pool(&red, &none)? == "red");
    let exact = create(world, "red", "exact", &label("silver"))?;
    ensure!(node.pool(&exact, &none)? == "silver", "a pod's label is more exact than its namespace's");
    let word = create(world, "red", "word", &named("gold", "silver"))?;
    ensure!(node.pool(&word, &json!({ "pools": ["plain"] }))? == "silver", "its annotation is more exact");
    let configured = create(world, "red", "configured", &label("gold"))?;
    ensure!(node.pool(&configured, &json!({ "pools": ["plain"] }))? == "plain");

    // Mistakes, each with words.
    let typo = create(world, "default", "typo", &named("gold", "glod"))?;
    let refused = node.add(&typo, &none)?.error_code(137)?;
    ensure!(refused.msg.contains("glod") && refused.msg.contains("plain, gold, red, silver"), "{refused:?}");
    let unmatched = create(world, "default", "unmatched", &none)?;
    node.add(&unmatched, &json!({ "requirePoolMatch": true }))?.error_code(137)?;
    let gone = MadePod {
        namespace: "default",
        name: "gone".into(),
        uid: "8f4c0d1e-1111-2222-3333-444455556666".into(),
    };
    let unknown = node.add(&gone, &none)?.error_code(11)?;
    ensure!(unknown.msg.contains("labels of pod default/gone"), "{unknown:?}");

    // An edited selector reaches the node, and two equally exact ones refuse the pod with both names, once in an event.
    world.change::<AddressPool>(
        "silver",
        &json!({ "spec": { "podSelector": { "matchLabels": { "tier": "gold" } } } }),
    )?;
    let torn = create(world, "default", "torn", &label("gold"))?;
    wait::holds("the pod to be refused", LIMIT, || {
        let outcome = node.add(&torn, &none)?;
        if outcome.succeeded {
            let config = json!({ "cniVersion": "1.1.0", "name": "tiers", "ipam": { "type": "tenure" } });
            node.daemon.shim()?.call("DEL", &Attachment::of("torn"), &config)?.silent()?;
            return Ok(false);
        }
        let refused = outcome.error_code(136)?;
        ensure!(refused.msg.contains("AddressPools gold and silver"), "{refused:?}");
        Ok(true)
    })?;
    node.add(&torn, &none)?.error_code(136)?;
    wait::holds("the event on the pod", LIMIT, || Ok(events(world, &torn.uid)? == ["AmbiguousPool"]))?;
    ensure!(node.pool(&gold, &none)? == "gold", "one that has its address keeps it");

    // Without the API server: what the watch has shown goes on, and what is not known is refused.
    world.plane.stop_server()?;
    let again = node.add_as(&red, "red-again", &none);
    let held = node.pool(&gold, &none);
    let unknown = node.add(&gone, &none);
    world.start_server()?;
    ensure!(again?.address()?.starts_with("10.97.2."), "a new sandbox of a pod that was shown");
    ensure!(held? == "gold");
    let unknown = unknown?.error_code(11)?;
    ensure!(unknown.msg.contains("labels of pod default/gone"), "{unknown:?}");
    Ok(())
}
