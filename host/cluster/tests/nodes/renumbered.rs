//! A pool that gets other addresses, with their own exclusions and gateway, while its nodes still serve from the ones before.

use std::net::IpAddr;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tenure_cluster::AddressPool;

use crate::Test;
use crate::node::Node;
use crate::settings::edit_of;
use crate::world::World;

pub(crate) const TESTS: &[Test] = &[(
    "renumbered::a_block_of_a_removed_cidr_keeps_its_gateway_and_its_routes_and_hands_out_nothing_that_was_excluded",
    renumbered,
)];

/// The node, and its pool.
const NAME: &str = "renumbered";

fn renumbered(world: &mut World) -> anyhow::Result<()> {
    // The node's only block has six addresses that are not excluded.
    let spec = json!({
        "ipv4": { "cidrs": ["10.99.0.0/28"], "blockPrefix": 28 }, "cooldownSeconds": 0,
        "exclusions": [{ "start": "10.99.0.8", "end": "10.99.0.15" }], "gateway": { "ipv4": "10.99.0.1" },
        "routes": [{ "dst": "10.0.0.0/8", "gw": "10.99.0.2" }],
    });
    world.create(&AddressPool::new(NAME, serde_json::from_value(spec)?))?;
    world.join(Node::prepare_with(NAME, &world.kubeconfig, &[NAME], "[\"ipv4\"]")?)?;
    let place = world.nodes.len() - 1;
    world.nodes[place].add("before")?;
    // Nothing is granted of the new CIDR, so that the block serves on.
    let edited = json!({
        "ipv4": { "cidrs": ["10.100.0.0/28"] }, "disabled": true,
        "exclusions": [{ "start": "10.100.0.8", "end": "10.100.0.15" }], "gateway": { "ipv4": "10.100.0.1" },
        "routes": [{ "dst": "10.0.0.0/8", "gw": "10.100.0.2" }],
    });
    edit_of(world, NAME, place, &edited)?;
    let last: IpAddr = "10.99.0.7".parse()?;
    for number in 0..3 {
        let result = world.nodes[place].add_result(&format!("after-{number}"))?;
        let words = result["ips"][0]["address"].as_str().context("no address")?;
        let address: IpAddr = words.split('/').next().unwrap_or_default().parse()?;
        ensure!(address <= last, "{address} was excluded");
        ensure!(result["ips"][0]["gateway"] == "10.99.0.1", "{result}");
        // The new next hop is not on the link of such an address.
        ensure!(result["routes"] == json!([{ "dst": "10.0.0.0/8", "gw": "10.99.0.2" }]), "{result}");
    }
    world.nodes[place].clear()?;
    // The other tests have the nodes before.
    world.nodes.pop();
    Ok(())
}
