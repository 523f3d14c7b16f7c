//! Names that return: the pods of a StatefulSet, and static pods, whose uid the API server does not know.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_fixtures::node::Attachment;
use tenure_fixtures::wait;

use crate::Test;
use crate::pods::{PodNode, delete};
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("stateful::a_set_is_scaled_down_and_up_in_every_order_within_a_full_pool", every_order),
    ("stateful::a_static_pod_keeps_its_address_until_its_file_has_changed", static_pod),
];

/// Every order of three pods.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Five pods have all five addresses, and three of them go and return under their names, without a DEL and within the grace period of an hour: each
/// has the address of its predecessor, whose sandbox is gone, and the two that stay keep theirs.
fn every_order(world: &mut World) -> anyhow::Result<()> {
    const FULL: &str = "10.97.0.0/29";
    let mut node = PodNode::start_with(world, "maroon", 3600, vec![])?;
    let mut made = 0;
    let mut add = |node: &PodNode, pod: &str| {
        made += 1;
        let container: &'static str = format!("c-{made}").leak();
        let netns = node.daemon.path(container);
        std::fs::write(&netns, "")?;
        let attachment = Attachment::in_netns(container, netns.display().to_string());
        let uid = node.create(world, pod)?;
        anyhow::Ok((container, node.attach(pod, &uid, &attachment, FULL)?.address()?))
    };
    let staying = [add(&node, "stays-0")?, add(&node, "stays-1")?];
    let mut set = [add(&node, "web-0")?, add(&node, "web-1")?, add(&node, "web-2")?];
    for down in ORDERS {
        for up in ORDERS {
            for number in down {
                delete(world, &format!("web-{number}"))?;
                std::fs::remove_file(node.daemon.path(set[number].0))?;
            }
            node.list(world, staying.iter().map(|(container, _)| *container).collect())?;
            for number in up {
                let (container, address) = add(&node, &format!("web-{number}"))?;
                ensure!(address == set[number].1, "web-{number} in {down:?}, {up:?}: {address}, {set:?}");
                set[number].0 = container;
            }
            let mut living: Vec<_> = staying.iter().chain(&set).map(|(container, _)| *container).collect();
            node.list(world, living.clone())?;
            let mut found = node.containers()?;
            living.sort_unstable();
            found.sort_unstable();
            ensure!(found == living, "{down:?}, {up:?}: {found:?}, {living:?}");
        }
    }
    ["stays-0", "stays-1", "web-0", "web-1", "web-2"].into_iter().try_for_each(|pod| delete(world, pod))
}

/// The runtime lists none of these sandboxes, and the daemon cannot see their namespaces. The mirror says that the pod lives, and without it nothing is
/// known; a mirror of another file says that the old one is over.
fn static_pod(world: &mut World) -> anyhow::Result<()> {
    const FILE: &str = "0f3a7c9e51b24d6880aa31c5d7e9f012";
    let node = PodNode::start(world, "teal", vec!["other"])?;
    let looked = |number: u32, kept: &[&str]| {
        let pod = format!("passing-{number}");
        node.add(world, &pod, "c-passing")?;
        delete(world, &pod)?;
        // That its address is freed proves that the daemon has looked twice.
        wait::holds("the passing pod's address to be free", LIMIT, || Ok(node.containers()? == kept))
    };
    mirror(world, "teal", FILE)?;
    node.attach("etcd-teal", FILE, &Attachment::of("c-etcd"), "10.95.0.0/24")?.result()?;
    looked(1, &["c-etcd"])?;
    delete(world, "etcd-teal")?;
    looked(2, &["c-etcd"])?;
    mirror(world, "teal", "77b1c2d3e4f5061728394a5b6c7d8e9f")?;
    wait::holds("the address of the old file's pod to be free", LIMIT, || Ok(node.containers()?.is_empty()))?;
    delete(world, "etcd-teal")
}

/// Makes the object by which a kubelet shows a static pod.
fn mirror(world: &World, node: &str, hash: &str) -> anyhow::Result<()> {
    let object: Pod = serde_json::from_value(json!({
        "metadata": {
            "name": format!("etcd-{node}"),
            "annotations": { "kubernetes.io/config.hash": hash, "kubernetes.io/config.mirror": hash },
        },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": "none" }] },
    }))?;
    let api: Api<Pod> = Api::default_namespaced(world.client.clone());
    let made = world.runtime.block_on(call(api.create(&PostParams::default(), &object)))?;
    made.metadata.uid.map(drop).context("no uid")
}
