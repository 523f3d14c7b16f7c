//! Blocks that go back by the handshake: of a pool that is shrunk, or deleted.

use anyhow::ensure;
use serde_json::json;
use tenure_cluster::AddressPool;
use tenure_fixtures::node::wait;

use crate::Test;
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] = &[
    ("releases::a_range_that_is_taken_out_drains_while_its_pods_live_on", shrunk),
    ("releases::a_deleted_pool_goes_once_its_last_pod_has", deleted),
];

fn shrunk(world: &mut World) -> anyhow::Result<()> {
    let old = world.nodes[0].add("old")?;
    let cidrs = |cidrs: &[&str]| json!({ "spec": { "ipv4": { "cidrs": cidrs } } });
    world.change::<AddressPool>(POOL, &cidrs(&["10.90.0.0/24", "10.91.0.0/24"]))?;
    world.change::<AddressPool>(POOL, &cidrs(&["10.91.0.0/24"]))?;
    // The pod keeps its block; all others move to the new range.
    let is_old = |cidr: &ipnet::IpNet| cidr.to_string().starts_with("10.90.");
    wait::holds("all blocks but the pod's to be of the new range", LIMIT, || {
        let blocks = world.blocks()?;
        let left: Vec<_> = blocks.keys().filter(|cidr| is_old(cidr)).collect();
        Ok(left.len() == 1 && left[0].contains(&old) && blocks.len() >= 3)
    })?;
    let new = world.nodes[0].add("new")?;
    ensure!(new.to_string().starts_with("10.91."), "{new} is of the range that drains");
    world.referee()?;
    world.nodes[0].del("old")?;
    wait::holds("the last old block to go", LIMIT, || Ok(!world.blocks()?.keys().any(is_old)))?;
    world.referee()
}

fn deleted(world: &mut World) -> anyhow::Result<()> {
    let last = world.nodes[1].add("last")?;
    world.delete::<AddressPool>(POOL)?;
    wait::holds("all blocks but the pod's to go", LIMIT, || {
        let blocks = world.blocks()?;
        Ok(blocks.len() == 1 && blocks.keys().all(|cidr| cidr.contains(&last)))
    })?;
    world.nodes[1].del("last")?;
    wait::holds("the pool to be gone", LIMIT, || {
        let api: kube::Api<AddressPool> = kube::Api::all(world.client.clone());
        let pool = world.runtime.block_on(tenure_cluster::client::call(api.get_opt(POOL)))?;
        Ok(pool.is_none() && world.blocks()?.is_empty())
    })?;
    // Another pool of the same name is another pool, and its blocks are accepted like any other's.
    world.create_pool()?;
    world.ready()?;
    world.nodes[1].add("first")?;
    world.referee()
}
