//! A node that moves from ranges of its own to leased blocks and back, under the same network, as a release of the chart with another profile does.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node as KubeNode;
use serde_json::Value;

use crate::Test;
use crate::node::Node;
use crate::world::{POOL, World};

pub(crate) const TESTS: &[Test] = &[(
    "moved::a_node_moves_from_ranges_to_blocks_and_back_and_its_pods_keep_their_addresses",
    there_and_back,
)];

/// The ranges of the node, which no pool of the cluster contains.
const SUBNET: &str = "10.91.0.0/24";

/// Reloads the configuration; returns the keys that wait for the restart.
fn reload(node: &Node) -> anyhow::Result<Value> {
    let reloaded = node.daemon.ctl(&["reload"])?;
    reloaded.get("after_restart").cloned().with_context(|| format!("no keys: {reloaded}"))
}

fn is_of_ranges(address: std::net::IpAddr) -> bool {
    address.to_string().starts_with("10.91.0.")
}

fn there_and_back(world: &mut World) -> anyhow::Result<()> {
    let mut node = Node::prepare_alone("violet", SUBNET)?;
    world.create(&serde_json::from_value::<KubeNode>(node.object()?)?)?;
    node.daemon.launch()?;
    let first = node.add("first")?;
    let last = node.add("last")?;
    ensure!(is_of_ranges(first) && is_of_ranges(last), "{first} {last}");

    // The new configuration reaches the running daemon before the restart that gives it an API server.
    node.lease(&world.kubeconfig, &[POOL], "[\"ipv4\"]")?;
    let waiting = reload(&node)?;
    ensure!(waits(&waiting), "{waiting}");
    let meanwhile = node.add("meanwhile")?;
    ensure!(is_of_ranges(meanwhile), "{meanwhile}");
    node.daemon.kill()?;
    node.daemon.spawn()?;
    world.nodes.push(node);
    world.ready()?;
    let node = world.nodes.last_mut().context("no node")?;
    let leased = node.add("leased")?;
    for (pod, held) in [("first", first), ("last", last), ("meanwhile", meanwhile)] {
        let again = node.add(pod)?;
        ensure!(again == held, "{pod} had {held}, and has {again}");
    }
    let of_ranges =
        node.daemon.allocations("pods")?.into_iter().filter(|held| held["outside"] == true).count();
    ensure!(of_ranges == 3, "{:?}", node.daemon.allocations("pods")?);
    node.del("last")?;
    ensure!(world.holder(leased)? == "violet", "{leased} is not of the node's blocks");

    // And back.
    let node = world.nodes.last_mut().context("no node")?;
    node.have_ranges(SUBNET)?;
    let waiting = reload(node)?;
    ensure!(waits(&waiting), "{waiting}");
    let more = node.add("more")?;
    ensure!(!is_of_ranges(more), "{more}");
    node.daemon.kill()?;
    node.daemon.launch()?;
    let back = node.add("back")?;
    ensure!(is_of_ranges(back) && back != first && back != meanwhile, "{back}");
    ensure!(node.add("leased")? == leased && node.add("more")? == more && node.add("first")? == first);
    node.clear()?;
    // The other tests have two nodes.
    world.nodes.pop();
    Ok(())
}

/// Whether the supplier and the network wait for the restart.
fn waits(keys: &Value) -> bool {
    let has = |key: &str| keys.as_array().is_some_and(|keys| keys.iter().any(|found| found == key));
    has("cluster.networks") && has("networks.pods")
}
