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

pub(crate) const TESTS: &[Test] = &[(
    "narrowed::a_block_with_an_address_in_quarantine_stays_when_its_pool_leaves_the_network_and_is_deleted",
    quarantined,
)];

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
    std::thread::sleep(std::time::Duration::from_secs(3));
    ensure!(world.block_uid(&name)? == Some(lease), "{cidr} went with {printer} in it");
    let node = world.nodes.last().context("no node")?;
    node.daemon.ctl(&["quarantine", "lift", "--network", "pods", &address])?;
    wait::holds("the block to go", LIMIT, || Ok(world.block_uid(&name)?.is_none()))?;
    // The other tests have the nodes before.
    world.nodes.pop();
    Ok(())
}
