//! Blocks that go back by the handshake: of a pool that is shrunk, or deleted.

use anyhow::{Context as _, ensure};
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] = &[
    ("releases::a_range_that_is_taken_out_drains_while_its_pods_live_on", shrunk),
    ("releases::a_block_that_is_wanted_back_stays_cordoned_over_a_restart", restarted),
    ("releases::a_storm_of_pods_while_blocks_are_wanted_back_loses_and_doubles_no_address", storm),
    ("releases::addresses_that_are_excluded_later_are_not_handed_out", excluded),
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

fn restarted(world: &mut World) -> anyhow::Result<()> {
    let old = world.nodes[0].add("old")?;
    let (cidr, _) = world.blocks()?.into_iter().find(|(cidr, _)| cidr.contains(&old)).context("no block")?;
    let name = BlockName::new("default", cidr)?.to_string();
    let lease = world.block_uid(&name)?.context("no lease")?;
    // A person deletes the block: it drains, once another one has come.
    world.delete::<IPBlock>(&name)?;
    wait::holds("the answer that the block is cordoned", LIMIT, || {
        let acks =
            world.node_object(&world.nodes[0].name)?.map(|object| object.spec.acks).unwrap_or_default();
        Ok(acks.iter().any(|ack| ack.uid == lease && ack.answer == "cordoned"))
    })?;
    world.nodes[0].daemon.kill()?;
    world.nodes[0].daemon.launch()?;
    world.ready()?;
    let new = world.nodes[0].add("new")?;
    ensure!(!cidr.contains(&new), "{new} is of the block that is wanted back");
    let told = world.nodes[0].daemon.ctl(&["cluster"])?;
    let blocks = told["blocks"].as_array().cloned().unwrap_or_default();
    let held = |block: &&serde_json::Value| block["cidr"] == cidr.to_string().as_str();
    let shown = blocks.iter().find(held).context("tenurectl does not show the block")?;
    ensure!(shown["hold"] == "cordoned" && shown["in_use"] == 1, "{shown}");
    world.referee()?;
    world.nodes[0].del("old")?;
    wait::holds("the lease to end with its last pod", LIMIT, || {
        Ok(world.block_uid(&name)? != Some(lease.clone()))
    })?;
    world.referee()
}

fn storm(world: &mut World) -> anyhow::Result<()> {
    for round in 0..4 {
        let blocks = world.blocks()?;
        let mut node = world.nodes.remove(0);
        let own: Vec<_> = blocks.into_iter().filter(|(_, holder)| *holder == node.name).collect();
        let pods: Vec<String> = (0..8).map(|number| format!("storm-{round}-{number}")).collect();
        let outcome = std::thread::scope(|scope| {
            let adding = scope.spawn(|| node.add_at_once(&pods));
            // Each block that the node has is wanted back while pods come.
            let wanted = own.iter().try_for_each(|(cidr, _)| {
                let name = BlockName::new("default", *cidr)?.to_string();
                // It may have gone by itself.
                let _ = world.delete::<IPBlock>(&name);
                Ok::<(), anyhow::Error>(())
            });
            let added = adding.join().map_err(|_| anyhow::anyhow!("a thread of the storm panicked"));
            wanted.and(added).and_then(|added| added)
        });
        let gone = outcome.and_then(|given| {
            ensure!(given.len() == pods.len(), "not every pod of round {round} got an address: {given:?}");
            pods.iter().step_by(2).try_for_each(|pod| node.del(pod))
        });
        world.nodes.insert(0, node);
        gone?;
        world.referee()?;
    }
    Ok(())
}

fn excluded(world: &mut World) -> anyhow::Result<()> {
    let kept = world.nodes[1].add("kept")?;
    let (cidr, _) = world.blocks()?.into_iter().find(|(cidr, _)| cidr.contains(&kept)).context("no block")?;
    let last = cidr.hosts().nth(6).context("a small block")?;
    let exclusion = json!([{ "start": cidr.network().to_string(), "end": last.to_string() }]);
    world.change::<AddressPool>(POOL, &json!({ "spec": { "exclusions": exclusion } }))?;
    wait::holds("the exclusions to be in force", LIMIT, || {
        let pools =
            world.node_object(&world.nodes[1].name)?.map(|object| object.spec.pools).unwrap_or_default();
        Ok(pools.iter().any(|pool| pool.excluded_in_use == 1))
    })?;
    for number in 0..6 {
        let address = world.nodes[1].add(&format!("beside-{number}"))?;
        ensure!(!cidr.contains(&address) || address > last, "{address} is excluded");
    }
    world.referee()?;
    world.change::<AddressPool>(POOL, &json!({ "spec": { "exclusions": [] } }))
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
