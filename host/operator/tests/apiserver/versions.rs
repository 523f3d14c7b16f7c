//! Versions: objects as an earlier version stored them, which today's operator and nodes read and go on from; and those of a later one, of which nothing
//! that is another's is lost.
//!
//! `stored` has the objects of a small cluster in the middle of its life, one file for each earlier version, whose name is the version and the commit.
//! Never change one. They are written back as a backup is, with the uids that the API server gives out now in the place of those that it gave out then.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::convert::ReadStatus;
use tenure_cluster::{AddressClaim, AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_leases::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use tenure_leases::{NodeIpamSpec, TurnState};

use crate::Test;
use crate::agent::TestAgent;
use crate::claims::{bound, claim, say, start, told};
use crate::clock::TestClock;
use crate::cluster::Cluster;
use crate::grants::{agents, settle};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("versions::todays_operator_and_nodes_go_on_from_the_objects_of_an_earlier_version", earlier),
    ("versions::an_operator_keeps_the_fields_of_a_later_version", later),
];

/// The objects of earlier versions.
const STORED: &[&str] = &[include_str!("stored/0.1.0-a521604.json")];

/// The text that a later version stores in the field `noted`.
const NOTE: &str = "by a later version";

/// The uid of a Node in a stored object.
fn node_uid(number: usize) -> String {
    format!("5a5a5a5a-0000-4000-8000-{number:012}")
}

/// The kind of an object.
fn resource(kind: &str) -> anyhow::Result<ApiResource> {
    Ok(match kind {
        "AddressPool" => ApiResource::erase::<AddressPool>(&()),
        "AddressSpace" => ApiResource::erase::<AddressSpace>(&()),
        "IPBlock" => ApiResource::erase::<IPBlock>(&()),
        "NodeIPAM" => ApiResource::erase::<NodeIPAM>(&()),
        kind => anyhow::bail!("{kind} is no kind of an earlier version"),
    })
}

/// Whether a value has all that another has.
fn has_all_of(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(key, part)| value.get(key).is_some_and(|value| has_all_of(value, part)))
        }
        (Value::Array(value), Value::Array(part)) => {
            value.len() == part.len() && value.iter().zip(part).all(|(value, part)| has_all_of(value, part))
        }
        _ => value == part,
    }
}

/// Writes stored objects back, whose Nodes are registered. Today's definitions must admit them, and take no field from them.
fn put_back(cluster: &Cluster, stored: &str, agents: &[TestAgent]) -> anyhow::Result<()> {
    let mut text = stored.to_owned();
    for (number, agent) in (1..).zip(agents) {
        text = text.replace(&node_uid(number), &agent.identity.uid.to_string());
        text = text.replace(&format!("{}{number}", "a".repeat(31)), &agent.identity.machine.to_string());
    }
    let count = serde_json::from_str::<Vec<Value>>(&text)?.len();
    for position in 0..count {
        let object = serde_json::from_str::<Vec<Value>>(&text)?.swap_remove(position);
        let kind = object["kind"].as_str().context("no kind")?.to_owned();
        let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource(&kind)?);
        let old = object["metadata"]["uid"].as_str().context("no uid")?.to_owned();
        let mut new: DynamicObject = serde_json::from_value(object.clone())?;
        new.metadata.uid = None;
        let parameters = PostParams::default();
        let mut made = cluster.runtime.block_on(call(api.create(&parameters, &new)))?;
        text = text.replace(&old, made.metadata.uid.as_deref().context("no uid")?);
        if let Some(status) = object.get("status") {
            made.data["status"] = status.clone();
            let name = made.metadata.name.clone().context("no name")?;
            made = cluster.runtime.block_on(call(api.replace_status(&name, &parameters, &made)))?;
        }
        for half in ["spec", "status"] {
            let (stored, kept) = (object.get(half).unwrap_or(&Value::Null), &made.data[half]);
            ensure!(has_all_of(kept, stored), "{kind}: of {stored}, today's definition keeps {kept}");
        }
    }
    Ok(())
}

/// Gives a node the ledger that it had when its object was written.
fn remember(cluster: &Cluster, agent: &mut TestAgent) -> anyhow::Result<()> {
    let object: NodeIPAM = cluster.get(&agent.identity.name)?.context("no object")?;
    let read = ReadStatus::of(&object);
    ensure!(read.errors.is_empty(), "a node cannot read {:?}", read.errors);
    let said = NodeIpamSpec::try_from(&object)?;
    let row = |cidr, uid| {
        let hint = read.told.blocks.iter().find(|hint| hint.uid == uid);
        let hold = hint.and_then(|hint| hint.mark).map_or(LeaseHold::Open, |mark| LeaseHold::Frozen(mark.id));
        LedgerBlock { cidr, uid, hold, usage: BlockUsage::default() }
    };
    agent.ledger = said.held.iter().map(|held| row(held.cidr, held.uid)).collect();
    agent.idle = said.idle;
    Ok(())
}

fn uid_of(cluster: &Cluster, block: &str) -> anyhow::Result<Option<String>> {
    Ok(cluster.get::<IPBlock>(block)?.and_then(|block| block.metadata.uid))
}

fn earlier(cluster: &Cluster) -> anyhow::Result<()> {
    STORED.iter().try_for_each(|stored| {
        cluster.clear()?;
        from_stored(cluster, stored)
    })
}

fn from_stored(cluster: &Cluster, stored: &str) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let mut agents = agents(cluster, 2)?;
    put_back(cluster, stored, &agents)?;
    agents.iter_mut().try_for_each(|agent| remember(cluster, agent))?;
    let kept = ["default.10-0-0-0.26", "default.10-0-0-128.26"];
    let before = [uid_of(cluster, kept[0])?, uid_of(cluster, kept[1])?];
    let mut operator = cluster.operator(&clock)?;
    let seen = cluster.until("the decisions", || Ok(cluster.runtime.block_on(operator.operator.decide())))?.0;
    ensure!(
        seen.unreadable.is_empty() && seen.left_out.is_empty(),
        "{:?} {:?}",
        seen.unreadable,
        seen.left_out
    );
    // The release that was under way ends, and the other node gets the block.
    let pool: AddressPool = cluster.get("old")?.context("no pool")?;
    agents[0].want(cluster, &pool, 1)?;
    agents[1].want(cluster, &pool, 2)?;
    cluster.drive(&mut operator, "the other node to have the block", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        referee(&agents)?;
        let has = |agent: &TestAgent, cidr: &str| agent.usable().any(|usable| usable == cidr);
        Ok((has(&agents[1], "10.0.0.64/26") && !has(&agents[0], "10.0.0.64/26")).then_some(()))
    })?;
    ensure!(before == [uid_of(cluster, kept[0])?, uid_of(cluster, kept[1])?], "a lease was made again");
    // The time that a block had spent in quarantine counts: 900 of 3,600 seconds.
    agents[0].want(cluster, &pool, 2)?;
    clock.advance(2600);
    for _ in 0..3 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    let quarantined: IPBlock = cluster.get("default.10-0-0-192.26")?.context("released early")?;
    ensure!(
        quarantined.status.is_some_and(|status| status.phase == "Quarantined"),
        "it is out of quarantine"
    );
    clock.advance(101);
    settle(cluster, &mut operator, &mut agents, 4)
}

/// Writes a field of a later version, and a label, into an object.
fn note(cluster: &Cluster, api: &Api<DynamicObject>, name: &str, half: &str) -> anyhow::Result<()> {
    let label = json!({ "metadata": { "labels": { "noted": "yes" } } });
    let patch = json!({ half: { "noted": NOTE } });
    let parameters = PatchParams::default();
    cluster.runtime.block_on(call(api.patch(name, &parameters, &Patch::Merge(&label))))?;
    // The API server knows the field some time after its definition.
    cluster.until("a field of a later version", || {
        let patch = Patch::Merge(&patch);
        let written = match half {
            "status" => cluster.runtime.block_on(call(api.patch_status(name, &parameters, &patch))),
            _ => cluster.runtime.block_on(call(api.patch(name, &parameters, &patch))),
        };
        Ok(written.ok().filter(|object| object.data[half]["noted"] == NOTE).map(drop))
    })
}

/// The operator keeps `noted`, which it does not know, in each object that it writes.
fn later(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("short", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let (mut operator, _) = start(cluster)?;
    claim(cluster, "db-0", &json!({}))?;
    let (_, named) = bound(cluster, &mut operator, "db-0")?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    let mut blocks = cluster.list::<IPBlock>()?.into_iter().filter_map(|block| block.metadata.name);
    let name = blocks.find(|name| *name != named).context("no block")?;
    let of = |kind| Ok::<_, anyhow::Error>(Api::all_with(cluster.client.clone(), &resource(kind)?));
    let claims = ApiResource::erase::<AddressClaim>(&());
    let noted: [(Api<DynamicObject>, _, _); 5] = [
        (of("IPBlock")?, name.as_str(), "status"),
        (of("AddressPool")?, "short", "status"),
        (of("NodeIPAM")?, "n1", "status"),
        (of("AddressSpace")?, "default", "spec"),
        (Api::namespaced_with(cluster.client.clone(), "default", &claims), "db-0", "status"),
    ];
    cluster.with_later_definition(|| {
        noted.iter().try_for_each(|(api, name, half)| note(cluster, api, name, half))?;
        // A mark and its end, each of which writes the status of the block, and that of its node and its pool.
        let uid = cluster.get::<IPBlock>(&name)?.context("no block")?.metadata.uid.context("no uid")?;
        agents[0].idle = vec![uid.parse()?];
        agents[0].want(cluster, &pool, 1)?;
        let is_marked = |cluster: &Cluster| -> anyhow::Result<bool> {
            let block = cluster.get::<IPBlock>(&name)?.context("no block")?;
            let said = cluster.get::<NodeIPAM>("n1")?.and_then(|said| said.status).unwrap_or_default();
            let hinted = said.blocks.iter().any(|hint| hint.mark.is_some());
            Ok(block.status.is_some_and(|status| status.mark.is_some()) && hinted)
        };
        cluster.drive(&mut operator, "a mark", || Ok(is_marked(cluster)?.then_some(())))?;
        agents[0].idle.clear();
        agents[0].want(cluster, &pool, 2)?;
        cluster.drive(&mut operator, "the end of the mark", || Ok((!is_marked(cluster)?).then_some(())))?;
        // A turn, which the claim tells, and another range, which the space and the pool tell.
        say(cluster, &mut agents[0], &named, 1, TurnState::Wanted)?;
        let more =
            json!({ "spec": { "ipv4": { "cidrs": ["10.0.0.0/25", "10.0.1.0/25"], "blockPrefix": 26 } } });
        cluster.change::<AddressPool>("short", &more)?;
        cluster.drive(&mut operator, "the turn and the range", || {
            let status =
                cluster.get::<AddressPool>("short")?.and_then(|pool| pool.status).unwrap_or_default();
            let turn = told(cluster, "db-0")?.and_then(|claim| claim.node);
            Ok((turn.is_some() && status.ipv4.is_some_and(|blocks| blocks.total == 4)).then_some(()))
        })?;
        for (api, name, half) in &noted {
            let object = cluster.runtime.block_on(call(api.get(name)))?;
            ensure!(object.data[half]["noted"] == NOTE, "{name}: the field is gone: {}", object.data);
            let labels = object.metadata.labels.unwrap_or_default();
            ensure!(labels.contains_key("noted"), "{name}: the label is gone: {labels:?}");
        }
        Ok(())
    })
}
