//! Pods on two nodes, each with an address of its own node's blocks.

use anyhow::ensure;

use crate::Test;
use crate::world::World;

pub(crate) const TESTS: &[Test] = &[
    ("usual::pods_get_addresses_of_their_own_nodes_blocks", own_blocks),
    ("usual::pods_at_once_wait_for_the_blocks_that_they_need", at_once),
];

fn own_blocks(world: &mut World) -> anyhow::Result<()> {
    for number in 0..6 {
        for node in 0..2 {
            let address = world.nodes[node].add(&format!("usual-{number}"))?;
            ensure!(world.holder(address)? == world.nodes[node].name);
        }
    }
    world.referee()
}

fn at_once(world: &mut World) -> anyhow::Result<()> {
    // A block has 13 usable addresses: two more are needed.
    let pods: Vec<String> = (0..32).map(|number| format!("burst-{number}")).collect();
    let addresses = world.nodes[0].add_at_once(&pods)?;
    ensure!(addresses.len() == 32);
    ensure!(world.blocks()?.values().filter(|holder| **holder == world.nodes[0].name).count() >= 3);
    world.referee()
}
