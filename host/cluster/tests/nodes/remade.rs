//! A pool that is made again under its name, with the leases of its blocks.

use anyhow::{Context as _, ensure};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::settings::edit;
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] = &[(
    "remade::edits_of_a_pool_that_was_made_again_reach_the_blocks_of_before_also_after_a_reboot",
    pool_made_again,
)];

/// The last place of a block that the edit excludes.
const EXCLUDED: usize = 9;

/// Whether an address of a block may be handed out after the edit.
fn is_allowed(cidr: IpNet, address: std::net::IpAddr) -> bool {
    let place = cidr.hosts().position(|host| host == address);
    // The first host has place 1.
    place.is_some_and(|place| place >= EXCLUDED)
}

fn pool_made_again(world: &mut World) -> anyhow::Result<()> {
    let kept = world.nodes[0].add("kept")?;
    let node = world.nodes[0].name.clone();
    let blocks = world.blocks()?;
    let cidr = *blocks.keys().find(|cidr| cidr.contains(&kept)).context("no block")?;
    let name = BlockName::new("default", cidr)?.to_string();
    let before = world.block_uid(&name)?;
    // As after the definitions were deleted and put back.
    world.stop_operator();
    let strip = json!({ "metadata": { "finalizers": null } });
    for cidr in blocks.keys() {
        let name = BlockName::new("default", *cidr)?.to_string();
        world.change::<IPBlock>(&name, &strip)?;
        world.delete::<IPBlock>(&name)?;
    }
    world.change::<AddressPool>(POOL, &strip)?;
    world.delete::<AddressPool>(POOL)?;
    world.create_pool()?;
    world.start_operator()?;
    wait::holds("the node to take over the lease that was made again", LIMIT, || {
        let lease = world.block_uid(&name)?;
        let held = world.node_object(&node)?.map(|object| object.spec.held).unwrap_or_default();
        Ok(lease.is_some() && lease != before && held.iter().any(|held| Some(&held.uid) == lease.as_ref()))
    })?;
    let places = json!([{ "start": 0, "end": EXCLUDED }]);
    edit(world, 0, &json!({ "perBlockExclusions": places }))?;
    let after = world.nodes[0].add("after")?;
    let blocks = world.blocks()?;
    let of = blocks.keys().find(|cidr| cidr.contains(&after)).context("no block")?;
    ensure!(is_allowed(*of, after), "{after} of {of} is excluded");
    let boot = world.nodes[0].reboot()?;
    let api: Api<KubeNode> = Api::all(world.client.clone());
    let patch = json!({ "status": { "nodeInfo": { "bootID": boot } } });
    world.runtime.block_on(call(api.patch_status(&node, &PatchParams::default(), &Patch::Merge(&patch))))?;
    let confirmed = wait::until("an address of a block that was confirmed", LIMIT, || {
        Ok(world.nodes[0].add("confirmed").ok())
    })?;
    ensure!(blocks.keys().any(|cidr| cidr.contains(&confirmed)), "{confirmed} is of another block");
    edit(world, 0, &json!({ "perBlockExclusions": null }))?;
    world.referee()
}
