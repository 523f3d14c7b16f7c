//! The API server away, the daemon killed, the operator killed, and the node's object deleted by hand.

use anyhow::ensure;
use serde_json::Value;
use tenure_cluster::NodeIPAM;
use tenure_fixtures::wait;

use crate::Test;
use crate::node::Node;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("faults::without_the_api_server_pods_come_and_go_as_before", without_server),
    ("faults::a_killed_daemon_keeps_its_blocks", killed_daemon),
    ("faults::a_killed_operator_is_not_missed_until_a_block_is", killed_operator),
    ("faults::a_node_says_again_what_it_holds", deleted_object),
];

/// Whether a node has a condition.
pub(crate) fn has_condition(node: &Node, name: &str) -> anyhow::Result<bool> {
    let output = node.daemon.ctl_output(&["status"])?;
    let status: Value = serde_json::from_slice(&output.stdout)?;
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    Ok(conditions.iter().any(|condition| condition["name"] == name))
}

fn without_server(world: &mut World) -> anyhow::Result<()> {
    let node = &mut world.nodes[0];
    node.add("before")?;
    world.plane.stop_server()?;
    let node = &mut world.nodes[0];
    let address = node.add("meanwhile")?;
    node.del("before")?;
    node.del("meanwhile")?;
    let told =
        wait::holds("a condition about the API server", LIMIT, || has_condition(node, "cluster-unreachable"));
    let back = world.start_server();
    told?;
    back?;
    let node = &mut world.nodes[0];
    wait::holds("the condition to end", LIMIT, || Ok(!has_condition(node, "cluster-unreachable")?))?;
    let after = world.nodes[0].add("after")?;
    ensure!(world.holder(after)? == world.holder(address)?);
    world.referee()
}

fn killed_daemon(world: &mut World) -> anyhow::Result<()> {
    let address = world.nodes[1].add("kept")?;
    let blocks = world.blocks()?;
    // Without the API server: what the node has, it knows by itself.
    world.plane.stop_server()?;
    let node = &mut world.nodes[1];
    node.daemon.kill()?;
    node.daemon.launch()?;
    let again =
        wait::until("an address after the restart", LIMIT, || Ok(node.call("ADD", "again")?.address().ok()));
    world.start_server()?;
    again?;
    ensure!(world.nodes[1].addresses()?.contains(&address), "the address of the pod before is gone");
    world.nodes[1].del("again")?;
    world.ready()?;
    let name = &world.nodes[1].name;
    ensure!(
        blocks
            .iter()
            .filter(|(_, holder)| *holder == name)
            .all(|block| world.blocks().unwrap().get(block.0) == Some(name))
    );
    world.referee()
}

fn killed_operator(world: &mut World) -> anyhow::Result<()> {
    world.stop_operator();
    world.nodes[0].add("served")?;
    world.start_operator()?;
    // More than the node's blocks have room for: another leader grants them.
    let pods: Vec<String> = (0..60).map(|number| format!("later-{number}")).collect();
    let mut left = pods;
    wait::holds("addresses of blocks that another leader grants", LIMIT, || {
        left.retain(|pod| world.nodes[1].add(pod).is_err());
        Ok(left.is_empty())
    })?;
    world.referee()
}

fn deleted_object(world: &mut World) -> anyhow::Result<()> {
    let name = world.nodes[0].name.clone();
    world.nodes[0].add("holds")?;
    let held = |world: &World| -> anyhow::Result<Vec<String>> {
        let object = world.node_object(&name)?;
        let mut held: Vec<String> =
            object.into_iter().flat_map(|object| object.spec.held).map(|held| held.cidr).collect();
        held.sort();
        Ok(held)
    };
    let of_node = |world: &World| -> anyhow::Result<Vec<String>> {
        let blocks = world.blocks()?;
        let mut own: Vec<String> = blocks
            .into_iter()
            .filter(|(_, holder)| *holder == name)
            .map(|(cidr, _)| cidr.to_string())
            .collect();
        own.sort();
        Ok(own)
    };
    world.delete::<NodeIPAM>(&name)?;
    wait::holds("the node to say again what it holds", LIMIT, || {
        let held = held(world)?;
        Ok(!held.is_empty() && held == of_node(world)?)
    })?;
    world.referee()
}
