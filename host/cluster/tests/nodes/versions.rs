//! A daemon among objects of a later version, as while a cluster is upgraded: it serves, refuses what it does not know, and says so.

use anyhow::{Context as _, ensure};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::definitions::definitions;
use tenure_cluster::objects::node::TurnEntry;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::claiming::{ClaimingPod, claim, claim_nodes};
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] = &[
    ("versions::a_daemon_serves_among_objects_of_a_later_version_and_refuses_its_mark", later),
    ("versions::a_node_says_what_an_earlier_definition_has_a_field_for", earlier),
];

/// The place of the field that the earlier definition lacks.
const FIELDS: &str =
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/claims/items/properties";

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

/// Definitions go back before the daemons do, and come after them where they are applied by hand.
fn earlier(world: &mut World) -> anyhow::Result<()> {
    let first = claim_nodes(world)?;
    let lent = claim(world, "address-21")?;
    let pod = ClaimingPod::create(world, "spoken-21", "amber")?;
    ensure!(pod.add(&world.nodes[first], "spoken-21")? == lent);
    wait::holds("the node to name the claim", LIMIT, || {
        Ok(world
            .node_object("amber")?
            .is_some_and(|object| object.spec.claims.iter().any(|turn| turn.claim.is_some())))
    })?;
    let said = world.node_object("amber")?.context("no object")?.spec;
    let (turns, blocks) = (said.claims, said.held.len());
    let whole = definition()?;
    let mut earlier = whole.clone();
    let fields = earlier.pointer_mut(FIELDS).and_then(Value::as_object_mut).context("other fields")?;
    fields.remove("claim").context("no such field")?;
    world.define(&earlier)?;
    wait::holds("the earlier definition to be in force", LIMIT, || Ok(!has_field(world, &turns)?))?;
    // Neither a claim's pod waits, nor do the pods of a block that is used up.
    let lent = claim(world, "address-22")?;
    let next = ClaimingPod::create(world, "spoken-22", "amber")?;
    ensure!(next.add(&world.nodes[first], "spoken-22")? == lent);
    for number in 0..=13 * blocks {
        wait::until("an address for each pod", LIMIT, || {
            Ok(world.nodes[first].add_result(&format!("spoken-{number}")).ok())
        })?;
    }
    wait::holds("the node to say that it has another block, without its claims", LIMIT, || {
        let said = world.node_object("amber")?.context("no object")?.spec;
        Ok(said.held.len() > blocks && said.claims.iter().all(|turn| turn.claim.is_none()))
    })?;
    let log = std::fs::read_to_string(world.nodes[first].daemon.path("tenured.log"))?;
    ensure!(log.contains("spec.claims.claim"), "the daemon does not say which field the definition lacks");
    // With the definition of this version, the next words are whole.
    world.define(&whole)?;
    wait::holds("this version's definition to be in force", LIMIT, || has_field(world, &turns))?;
    next.call("DEL", &world.nodes[first], "spoken-22")?.silent()?;
    next.delete(world)?;
    let lent = claim(world, "address-23")?;
    let last = ClaimingPod::create(world, "spoken-23", "amber")?;
    ensure!(last.add(&world.nodes[first], "spoken-23")? == lent);
    wait::holds("the node to name the claims again", LIMIT, || {
        let claims = world.node_object("amber")?.context("no object")?.spec.claims;
        Ok(claims.len() >= 2 && claims.iter().all(|turn| turn.claim.is_some()))
    })?;
    for (pod, container) in [(pod, "spoken-21"), (last, "spoken-23")] {
        pod.call("DEL", &world.nodes[first], container)?.silent()?;
        pod.delete(world)?;
    }
    Ok(())
}

/// The definition of NodeIPAM.
fn definition() -> anyhow::Result<Value> {
    let found = definitions().into_iter().find(|of| of.spec.names.kind == "NodeIPAM");
    Ok(serde_json::to_value(found.context("no definition")?)?)
}

/// Whether the API server takes the claims of turns. Nothing is changed.
fn has_field(world: &World, turns: &[TurnEntry]) -> anyhow::Result<bool> {
    let api: Api<NodeIPAM> = Api::all(world.client.clone());
    let parameters = PatchParams { dry_run: true, ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "spec": { "claims": turns } }));
    let patched = world.runtime.block_on(call(api.patch("amber", &parameters, &patch)))?;
    Ok(patched.spec.claims.iter().any(|turn| turn.claim.is_some()))
}
