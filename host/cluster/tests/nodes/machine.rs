//! A machine that was rebooted, and one whose block the API server says is another's.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, BLOCK_FINALIZER, IPBlock};
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::agents::ensured;
use crate::faults::has_condition;
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] = &[
    ("machine::after_a_reboot_no_address_comes_from_a_block_before_the_api_server_confirms_it", rebooted),
    ("machine::after_a_reboot_a_machine_that_cannot_be_told_from_others_hands_nothing_out", unknown),
];

/// Those after which nothing is granted for two minutes.
pub(crate) const LAST_TESTS: &[Test] = &[
    ("machine::exclusions_of_a_lower_generation_are_in_force_after_a_restore", restored),
    ("machine::a_block_that_is_leased_to_another_node_gives_no_new_address_and_keeps_its_pods", contested),
];

/// The blocks that `tenurectl cluster` shows on a node.
pub(crate) fn shown(world: &World, node: usize) -> anyhow::Result<Vec<Value>> {
    let shown = world.nodes[node].daemon.ctl(&["cluster"])?;
    Ok(shown["blocks"].as_array().cloned().unwrap_or_default())
}

fn rebooted(world: &mut World) -> anyhow::Result<()> {
    let before = world.nodes[1].add("before")?;
    let name = world.nodes[1].name.clone();
    let held = world.blocks()?;
    let kept = held.iter().filter(|(_, holder)| **holder == name);
    world.plane.stop_server()?;
    let boot = world.nodes[1].reboot();
    // The pods are gone, and so are their addresses; but the machine may have been fenced while it was down.
    let waited = boot.and_then(|boot| {
        wait::holds("blocks that give no address", LIMIT, || {
            let blocks = shown(world, 1)?;
            Ok(!blocks.is_empty() && blocks.iter().all(|block| block["free"] == 0 && block["in_use"] == 0))
        })?;
        Ok(boot)
    });
    let back = world.start_server();
    let boot = waited?;
    back?;
    let api: Api<KubeNode> = Api::all(world.client.clone());
    let patch = json!({ "status": { "nodeInfo": { "bootID": boot } } });
    world.runtime.block_on(call(api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))))?;
    let after = wait::until("an address of a block that was confirmed", LIMIT, || {
        Ok(world.nodes[1].add("after").ok())
    })?;
    let blocks = world.blocks()?;
    ensure!(held.keys().any(|cidr| cidr.contains(&after)), "{after} is of another block than before");
    for (cidr, _) in kept {
        ensure!(blocks.get(cidr) == Some(&name), "block {cidr}, which had {before}, is no longer {name}'s");
    }
    wait::holds("the node to say in which boot it is", LIMIT, || {
        Ok(world.node_object(&name)?.is_some_and(|object| object.spec.boot_id == boot))
    })?;
    world.referee()
}

fn unknown(world: &mut World) -> anyhow::Result<()> {
    let node = &mut world.nodes[1];
    node.add("before")?;
    let (known, zeros) = ("machine_id = \"green\"", "machine_id = \"0\"");
    node.daemon.kill()?;
    node.reconfigure(known, zeros)?;
    node.boot_again()?;
    wait::holds("the condition", LIMIT, || has_condition(&world.nodes[1], "cluster-unreachable"))?;
    // No agent runs that could have it confirmed.
    let given = world.nodes[1].add("unconfirmed");
    world.nodes[1].reconfigure(zeros, known)?;
    let boot = world.nodes[1].reboot()?;
    let patch = json!({ "status": { "nodeInfo": { "bootID": boot } } });
    let api: Api<KubeNode> = Api::all(world.client.clone());
    world.runtime.block_on(call(api.patch_status(
        "green",
        &PatchParams::default(),
        &Patch::Merge(&patch),
    )))?;
    ensure!(given.is_err(), "{given:?} is of a block that may be another machine's by now");
    wait::until("an address of a block that was confirmed", LIMIT, || Ok(world.nodes[1].add("after").ok()))?;
    world.referee()
}

fn restored(world: &mut World) -> anyhow::Result<()> {
    let pools: Api<AddressPool> = Api::all(world.client.clone());
    let generation = |world: &World| -> anyhow::Result<i64> {
        let pool = world.runtime.block_on(call(pools.get(POOL)))?;
        Ok(pool.metadata.generation.unwrap_or_default())
    };
    let in_force = |world: &World, generation: i64| {
        wait::holds("each node to have the pool's generation in force", LIMIT, || {
            let has = |node: &crate::node::Node| -> anyhow::Result<bool> {
                let echoes =
                    world.node_object(&node.name)?.map(|object| object.spec.pools).unwrap_or_default();
                Ok(echoes.iter().any(|echo| echo.generation == generation))
            };
            Ok(has(&world.nodes[0])? && has(&world.nodes[1])?)
        })
    };
    // The first so many places of each block.
    let exclude = |world: &World, end: u32| {
        let places = json!([{ "start": 0, "end": end }]);
        world.change::<AddressPool>(POOL, &json!({ "spec": { "perBlockExclusions": places } }))
    };
    // An operator that could not renew its Lease for ten seconds ends, and is started again.
    world.stop_operator();
    world.plane.back_up()?;
    wait::holds("the API server to be back", LIMIT, || Ok(world.blocks().is_ok()))?;
    world.start_operator()?;
    let agents = ensured(&world.nodes[1], "router")?;
    let before = generation(world)?;
    for end in 1..4 {
        exclude(world, end)?;
    }
    in_force(world, before + 3)?;
    world.stop_operator();
    world.plane.restore()?;
    wait::holds("the API server to be back", LIMIT, || Ok(world.blocks().is_ok()))?;
    ensure!(generation(world)? == before, "the backup is not what was put back");
    world.start_operator()?;
    // The generation is one that the nodes had before, with other exclusions.
    exclude(world, 9)?;
    in_force(world, before + 1)?;
    let address = world.nodes[0].add("after")?;
    let (cidr, _) =
        world.blocks()?.into_iter().find(|(cidr, _)| cidr.contains(&address)).context("no block")?;
    let place = cidr.hosts().position(|host| host == address).context("not of its block")?;
    ensure!(place >= 9, "{address} of {cidr} is excluded");
    world.change::<AddressPool>(POOL, &json!({ "spec": { "perBlockExclusions": null } }))?;
    in_force(world, before + 2)?;
    ensure!(ensured(&world.nodes[1], "router")? == agents, "an agent's address went with the restore");
    world.referee()
}

fn contested(world: &mut World) -> anyhow::Result<()> {
    // Two blocks, so that one is left.
    let mut addresses = Vec::new();
    for number in 0..16 {
        addresses.push(world.nodes[0].add(&format!("kept-{number}"))?);
    }
    let kept = addresses[0];
    let (cidr, _) = world.blocks()?.into_iter().find(|(cidr, _)| cidr.contains(&kept)).context("no block")?;
    let name = BlockName::new("default", cidr)?.to_string();
    let api: Api<IPBlock> = Api::all(world.client.clone());
    let lease = world.runtime.block_on(call(api.get(&name)))?;
    let other = world.node_object(&world.nodes[1].name)?.context("no other node")?.spec;
    // As after a restore of the store, while no operator looks.
    world.stop_operator();
    world.change::<IPBlock>(&name, &json!({ "metadata": { "finalizers": null } }))?;
    world.delete::<IPBlock>(&name)?;
    let mut spec = lease.spec;
    spec.node_name.clone_from(&world.nodes[1].name);
    (spec.node_uid, spec.machine, spec.boot_id) = (other.node_uid, other.machine, other.boot_id);
    let metadata = ObjectMeta {
        name: Some(name),
        finalizers: Some(vec![BLOCK_FINALIZER.to_owned()]),
        ..ObjectMeta::default()
    };
    world.create(&IPBlock { metadata, spec, status: None })?;
    world.start_operator()?;
    wait::holds("the condition", LIMIT, || has_condition(&world.nodes[0], "lease-conflict"))?;
    let words = cidr.to_string();
    let held = shown(world, 0)?;
    let block =
        held.iter().find(|block| block["cidr"] == words.as_str()).context("the block is not shown")?;
    ensure!(block["hold"] == "contested" && block["free"] == 0, "{block}");
    let new = world.nodes[0].add("new")?;
    ensure!(!cidr.contains(&new), "{new} is of the block that another node has");
    let in_use = world.nodes[0].addresses()?;
    ensure!(addresses.iter().all(|address| in_use.contains(address)), "a pod lost its address");
    world.nodes[0].call("CHECK", "kept-0").map(drop)?;
    world.nodes[0].del("kept-0")
}
