//! Networks from which a reload of the configuration takes a pool, or a family.

use std::net::IpAddr;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tenure_cluster::AddressPool;
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::node::Node;
use crate::world::{LIMIT, World};

/// Looks that take longer, at a hundredth of a second each, than an empty block is kept here.
const LOOKS: u32 = 300;

pub(crate) const TESTS: &[Test] = &[
    (
        "narrowed::a_block_with_an_address_in_quarantine_stays_when_its_pool_leaves_the_network_and_is_deleted",
        quarantined,
    ),
    ("narrowed::the_blocks_of_a_family_that_the_network_no_longer_wants_go", without_family),
];

/// Changes a node's configuration, and has the running daemon read it.
fn reload(node: &Node, from: &str, to: &str) -> anyhow::Result<()> {
    node.reconfigure(from, to)?;
    node.daemon.ctl(&["reload"]).map(drop)
}

fn quarantined(world: &mut World) -> anyhow::Result<()> {
    for (name, cidr) in [("stays", "10.120.0.0/26"), ("leaves", "10.121.0.0/26")] {
        let spec = json!({ "ipv4": { "cidrs": [cidr], "blockPrefix": 28 }, "cooldownSeconds": 0 });
        world.create(&AddressPool::new(name, serde_json::from_value(spec)?))?;
    }
    let node = Node::prepare_with("narrowed", &world.kubeconfig, &["stays", "leaves"], "[\"ipv4\"]")?;
    world.join(node)?;
    let (cidr, _) = wait::until("a block of each pool", LIMIT, || {
        let said = world.node_object("narrowed")?.map(|object| object.spec.held).unwrap_or_default();
        let begins = |begin: &str| said.iter().any(|held| held.cidr.starts_with(begin));
        let block = world.blocks()?.into_iter().find(|(cidr, _)| cidr.to_string().starts_with("10.121."));
        Ok(block.filter(|_| begins("10.120.") && begins("10.121.")))
    })?;
    let name = BlockName::new("default", cidr)?.to_string();
    let lease = world.block_uid(&name)?.context("no lease")?;
    let printer: IpAddr = cidr.hosts().nth(4).context("a small block")?;
    let node = world.nodes.last().context("no node")?;
    let address = printer.to_string();
    node.daemon.ctl(&["quarantine", "add", "--network", "pods", "--reason", "a printer has it", &address])?;
    reload(node, "pools = [\"stays\",\"leaves\"]", "pools = [\"stays\"]")?;
    world.delete::<AddressPool>("leaves")?;
    // It would be given back at once if it looked empty.
    wait::holds("the block to be cordoned", LIMIT, || {
        let acks = world.node_object("narrowed")?.map(|object| object.spec.acks).unwrap_or_default();
        Ok(acks.iter().any(|ack| ack.uid == lease && ack.answer == "cordoned"))
    })?;
    let mut looks = 0;
    wait::holds("the block to have stayed for a while", LIMIT, || {
        ensure!(world.block_uid(&name)?.as_ref() == Some(&lease), "{cidr} went with {printer} in it");
        looks += 1;
        Ok(looks > LOOKS)
    })?;
    let node = world.nodes.last().context("no node")?;
    node.daemon.ctl(&["quarantine", "lift", "--network", "pods", &address])?;
    wait::holds("the block to go", LIMIT, || Ok(world.block_uid(&name)?.is_none()))?;
    // The other tests have the nodes before.
    world.nodes.pop();
    Ok(())
}

fn without_family(world: &mut World) -> anyhow::Result<()> {
    let spec = json!({
        "ipv4": { "cidrs": ["10.122.0.0/26"], "blockPrefix": 28 },
        "ipv6": { "cidrs": ["fd00:122::/120"], "blockPrefix": 124 },
        "cooldownSeconds": 0,
    });
    world.create(&AddressPool::new("both", serde_json::from_value(spec)?))?;
    let node = Node::prepare_with("single", &world.kubeconfig, &["both"], "[\"ipv4\",\"ipv6\"]")?;
    world.join(node)?;
    let place = world.nodes.len() - 1;
    let result =
        wait::until("an address of each family", LIMIT, || Ok(world.nodes[place].add_result("pod-0").ok()))?;
    ensure!(result["ips"].as_array().map_or(0, Vec::len) == 2, "{result}");
    reload(&world.nodes[place], "families = [\"ipv4\",\"ipv6\"]", "families = [\"ipv4\"]")?;
    let is_left = |world: &World| -> anyhow::Result<bool> {
        Ok(world.blocks()?.keys().any(|cidr| cidr.to_string().starts_with("fd00:122:")))
    };
    // Longer than a block must have been empty.
    let mut looks = 0;
    wait::holds("the block of IPv6 to have stayed for a while", LIMIT, || {
        ensure!(is_left(world)?, "the pod has an address of each family");
        looks += 1;
        Ok(looks > LOOKS)
    })?;
    world.nodes[place].del("pod-0")?;
    wait::holds("the block of IPv6 to go", LIMIT, || Ok(!is_left(world)?))?;
    let result = world.nodes[place].add_result("pod-1")?;
    ensure!(result["ips"].as_array().map_or(0, Vec::len) == 1, "{result}");
    world.nodes[place].clear()?;
    world.nodes.pop();
    Ok(())
}
