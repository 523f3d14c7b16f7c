//! A machine that takes its ledger along to another identity.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use tenure_cluster::IPBlock;
use tenure_cluster::client::call;
use tenure_fixtures::wait;

use crate::Test;
use crate::faults::has_condition;
use crate::machine::shown;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[(
    "identity::a_machine_with_other_ids_uses_none_of_its_blocks_of_before_and_asks_for_no_more_than_it_needs",
    other_machine,
)];

/// The node's place among the nodes.
const GREEN: usize = 1;

/// The leases of a node's name, each with its uid and the machine that has it.
fn leases(world: &World, name: &str) -> anyhow::Result<BTreeMap<IpNet, (String, String)>> {
    let api: Api<IPBlock> = Api::all(world.client.clone());
    let list = world.runtime.block_on(call(api.list(&ListParams::default())))?;
    let own = list.items.into_iter().filter(|block| block.spec.node_name == name);
    own.map(|block| {
        let uid = block.metadata.uid.context("no uid")?;
        Ok((block.spec.cidr.parse()?, (uid, block.spec.machine)))
    })
    .collect()
}

fn other_machine(world: &mut World) -> anyhow::Result<()> {
    // Of two blocks.
    let mut kept = Vec::new();
    for number in 0..16 {
        kept.push(world.nodes[GREEN].add(&format!("kept-{number}"))?);
    }
    let name = world.nodes[GREEN].name.clone();
    let before = leases(world, &name)?;
    ensure!(before.len() > 1, "{before:?}");
    world.nodes[GREEN].daemon.kill()?;
    world.nodes[GREEN].reconfigure("machine_id = \"green\"", "machine_id = \"greener\"")?;
    let api: Api<KubeNode> = Api::all(world.client.clone());
    let patch = json!({ "status": { "nodeInfo": { "machineID": "greener" } } });
    world.runtime.block_on(call(api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))))?;
    world.nodes[GREEN].daemon.launch()?;
    wait::holds("each block of before to be contested", LIMIT, || {
        let blocks = shown(world, GREEN)?;
        let is_contested = |cidr: &IpNet| {
            let words = cidr.to_string();
            blocks.iter().any(|block| block["cidr"] == words.as_str() && block["hold"] == "contested")
        };
        Ok(before.keys().all(is_contested))
    })?;
    wait::holds("the condition", LIMIT, || has_condition(&world.nodes[GREEN], "lease-conflict"))?;
    let new =
        wait::until("an address of a block of its own", LIMIT, || Ok(world.nodes[GREEN].add("new").ok()))?;
    ensure!(!before.keys().any(|cidr| cidr.contains(&new)), "{new} is of a block of the machine before");
    // What it wants beside a block of its own, it would want for good.
    let said = wait::until("the node to say that it holds it", LIMIT, || {
        let object = world.node_object(&name)?.context("no object")?.spec;
        let is_new = |uid: &String| before.values().all(|(old, _)| old != uid);
        Ok(object.held.iter().any(|held| is_new(&held.uid)).then_some(object))
    })?;
    ensure!(said.demand.iter().map(|demand| demand.want).sum::<i64>() <= 2, "{:?}", said.demand);
    let own = leases(world, &name)?.into_values().filter(|(_, machine)| *machine == said.machine).count();
    ensure!(own <= 2, "{own} blocks for one pod");
    let in_use = world.nodes[GREEN].addresses()?;
    ensure!(kept.iter().all(|address| in_use.contains(address)), "a pod lost its address");
    world.referee()?;
    world.clear()?;
    wait::holds("the conflict to end with the pods", LIMIT, || {
        Ok(!has_condition(&world.nodes[GREEN], "lease-conflict")?)
    })
}
