//! A node with two networks, each with a pool of its own.

use anyhow::{Context as _, ensure};
use kube::api::Api;
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::node::Node;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[(
    "networks::a_network_whose_pool_gets_another_cidr_later_moves_as_soon_as_it_has_a_block_of_it",
    moved_later,
)];

/// The network besides `pods`.
const STORAGE: &str = "[networks.storage]\nipam = { type = \"tenure\", policy = \"cluster-range\", pools = [\"far\"], families = [\"ipv4\"] }\n";

fn moved_later(world: &mut World) -> anyhow::Result<()> {
    for (name, cidr) in [("near", "10.96.0.0/26"), ("far", "10.98.0.0/26")] {
        let spec = json!({ "ipv4": { "cidrs": [cidr], "blockPrefix": 28 }, "cooldownSeconds": 0 });
        world.create(&AddressPool::new(name, serde_json::from_value(spec)?))?;
    }
    let node = Node::prepare_with("twin", &world.kubeconfig, &["near"], "[\"ipv4\"]")?;
    node.reconfigure("{ pods = [\"near\"] }", "{ pods = [\"near\"], storage = [\"far\"] }")?;
    node.append(STORAGE)?;
    world.join(node)?;
    let said = |world: &World| world.node_object("twin").map(|object| object.map(|object| object.spec));
    wait::holds("a block of each pool", LIMIT, || {
        let held = said(world)?.map(|said| said.held).unwrap_or_default();
        Ok(["10.96.", "10.98."].iter().all(|begin| held.iter().any(|held| held.cidr.starts_with(begin))))
    })?;
    let old = world.nodes.last_mut().context("no node")?.add("old")?;
    let (cidr, _) = world.blocks()?.into_iter().find(|(cidr, _)| cidr.contains(&old)).context("no block")?;
    let name = BlockName::new("default", cidr)?.to_string();
    let lease = world.block_uid(&name)?.context("no lease")?;
    // The other network's block is no replacement, which only the node knows.
    world.change::<AddressPool>("near", &json!({ "spec": { "ipv4": { "cidrs": [] } } }))?;
    let blocks: Api<IPBlock> = Api::all(world.client.clone());
    wait::holds("the mark that the node refused to be taken back", LIMIT, || {
        let status = world.runtime.block_on(call(blocks.get(&name)))?.status;
        Ok(status.is_some_and(|status| status.mark.is_none() && status.cleared.is_some()))
    })?;
    world.change::<AddressPool>("near", &json!({ "spec": { "ipv4": { "cidrs": ["10.97.0.0/26"] } } }))?;
    wait::holds("the old block to be cordoned", LIMIT, || {
        let acks = said(world)?.map(|said| said.acks).unwrap_or_default();
        Ok(acks.iter().any(|ack| ack.uid == lease && ack.answer == "cordoned"))
    })?;
    let node = world.nodes.last_mut().context("no node")?;
    let new = node.add("new")?;
    ensure!(new.to_string().starts_with("10.97."), "{new} is of the CIDR that was taken out");
    node.del("old")?;
    wait::holds("the old block to go", LIMIT, || Ok(world.block_uid(&name)? != Some(lease.clone())))?;
    world.nodes.last_mut().context("no node")?.clear()?;
    // The other tests have the nodes before.
    world.nodes.pop();
    Ok(())
}
