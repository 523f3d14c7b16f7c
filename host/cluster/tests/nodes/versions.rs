//! A daemon among objects of a later version, as while a cluster is upgraded: it serves, refuses what it does not know, and says so.

use anyhow::{Context as _, ensure};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] =
    &[("versions::a_daemon_serves_among_objects_of_a_later_version_and_refuses_its_mark", later)];

fn later(world: &mut World) -> anyhow::Result<()> {
    let name = world.nodes[0].name.clone();
    let address = world.nodes[0].add("before")?;
    let blocks = world.blocks()?;
    let (cidr, _) = blocks.into_iter().find(|(cidr, _)| cidr.contains(&address)).context("no block")?;
    let block = BlockName::new("default", cidr)?.to_string();
    let lease = world.block_uid(&block)?.context("no lease")?;
    let marked = Marked { node: name, block, lease };
    world.with_later_definitions(|world| {
        marked.know_the_later_version(world, true)?;
        among_later(world, &marked)
    })?;
    marked.know_the_later_version(world, false)?;
    world.ready()?;
    world.nodes[0].add("at-the-end")?;
    world.referee()
}

fn among_later(world: &mut World, marked: &Marked) -> anyhow::Result<()> {
    marked.mark(world, &json!({ "id": "0000000000000007", "why": "renumber" }))?;
    marked.is_refused(world)?;
    world.nodes[0].add("beside-the-mark")?;
    // A restart forgets nothing, and finds the same.
    world.nodes[0].daemon.kill()?;
    world.nodes[0].daemon.launch()?;
    world.nodes[0].del("before")?;
    world.nodes[0].add("after-a-restart")?;
    marked.is_refused(world)?;
    let log = std::fs::read_to_string(world.nodes[0].daemon.path("tenured.log"))?;
    ensure!(log.contains("renumber"), "the daemon does not say which word it cannot read");
    // The later operator takes its mark back, before the cluster goes back to the earlier version.
    marked.mark(world, &Value::Null)?;
    world.referee()
}

/// A block that is marked by an operator of a later version.
struct Marked {
    node: String,
    block: String,
    lease: String,
}

impl Marked {
    /// Waits until the API server takes the field of a later version, or no longer does.
    fn know_the_later_version(&self, world: &World, later: bool) -> anyhow::Result<()> {
        let objects = [
            (ApiResource::erase::<AddressSpace>(&()), "default"),
            (ApiResource::erase::<AddressPool>(&()), POOL),
            (ApiResource::erase::<IPBlock>(&()), &self.block),
            (ApiResource::erase::<NodeIPAM>(&()), &self.node),
        ];
        for (resource, name) in objects {
            let half = if resource.kind == "AddressSpace" { "spec" } else { "status" };
            wait::holds("the definition to be in force", LIMIT, || {
                let written = write(world, &resource, name, half, &json!({ "noted": "by a later version" }));
                Ok(written.is_ok_and(|object| object.data[half]["noted"].is_string() == later))
            })?;
        }
        Ok(())
    }

    /// Marks the block, or takes the mark back, as an operator does: first in the block, then in the hint.
    fn mark(&self, world: &World, mark: &Value) -> anyhow::Result<()> {
        let of_block = ApiResource::erase::<IPBlock>(&());
        write(world, &of_block, &self.block, "status", &json!({ "mark": mark }))?;
        let status = world.node_object(&self.node)?.context("no object")?.status.unwrap_or_default();
        let mut blocks = serde_json::to_value(status.blocks)?;
        let mut hints = blocks.as_array_mut().context("no hints")?.iter_mut();
        let hint = hints.find(|hint| hint["uid"] == self.lease.as_str());
        hint.context("no hint about the lease")?["mark"] = mark.clone();
        let of_node = ApiResource::erase::<NodeIPAM>(&());
        write(world, &of_node, &self.node, "status", &json!({ "blocks": blocks })).map(drop)
    }

    /// Waits until the node has refused the mark.
    fn is_refused(&self, world: &World) -> anyhow::Result<()> {
        wait::holds("the refusal of an unknown mark", LIMIT, || {
            let acks = world.node_object(&self.node)?.map(|object| object.spec.acks).unwrap_or_default();
            Ok(acks.iter().any(|ack| ack.uid == self.lease && ack.answer == "unknown"))
        })
    }
}

/// Writes fields of an object.
fn write(
    world: &World,
    resource: &ApiResource,
    name: &str,
    half: &str,
    fields: &Value,
) -> anyhow::Result<DynamicObject> {
    let api: Api<DynamicObject> = Api::all_with(world.client.clone(), resource);
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(json!({ half: fields })));
    Ok(match half {
        "status" => world.runtime.block_on(call(api.patch_status(name, &parameters, &patch)))?,
        _ => world.runtime.block_on(call(api.patch(name, &parameters, &patch)))?,
    })
}
