//! Words that are not to be believed: of nodes that lie, of nodes that are dead, of objects of another version, and of people who slipped.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_leases::Uid;
use tenure_leases::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use tenure_operator::view::NodeLabels;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, ready, settle};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("distrust::a_node_that_lies_in_held_stops_nobody_for_long", liar),
    ("distrust::a_dead_nodes_words_do_not_contest_the_next_lease", dead_words),
    ("distrust::a_block_of_another_version_is_neither_touched_nor_granted", unreadable),
    ("distrust::a_selector_typo_drains_a_tenth_of_the_nodes_at_a_time", typo),
    ("distrust::what_a_deselected_node_holds_is_not_granted_when_its_lease_is_lost", deselected),
    ("distrust::a_deleted_space_moves_no_block", space_gone),
    ("distrust::a_deleted_space_gives_no_pool_the_range_of_another", space_shared),
    ("distrust::a_node_that_says_nonsense_stops_nobody", nonsense),
    ("distrust::a_writer_that_touches_everything_stops_nothing", storm),
];

/// Passes and steps, a fixed number of them.
fn rounds(
    cluster: &Cluster,
    operator: &mut TestOperator,
    agents: &mut [TestAgent],
    count: usize,
) -> anyhow::Result<()> {
    for _ in 0..count {
        cluster.runtime.block_on(operator.operator.pass());
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
    }
    Ok(())
}

fn marked(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let blocks = cluster.list::<IPBlock>()?;
    let marked =
        blocks.into_iter().filter(|block| block.status.as_ref().is_some_and(|status| status.mark.is_some()));
    Ok(marked.map(|block| block.spec.node_name).collect())
}

fn claim(cidr: &str, uid: u128) -> LedgerBlock {
    let (cidr, usage) = (cidr.parse().unwrap(), BlockUsage::default());
    LedgerBlock { cidr, uid: Uid(uid), hold: LeaseHold::Open, usage }
}

fn liar(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let more = json!({ "quota": { "maxBlocksPerNode": 2 } });
    let pool = cluster.pool("coveted", "10.0.0.0/24", 28, &more)?;
    let mut agents = agents(cluster, 3)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    agents[1].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents[..2], 2)?;
    let before: BTreeSet<String> = agents.iter().flat_map(TestAgent::usable).collect();
    // It says that it holds half of the pool, and something else besides.
    let mut liar = agents.pop().context("no third agent")?;
    liar.ledger = (0..8).map(|cell| claim(&format!("10.0.0.{}/28", cell * 16), 1000 + cell)).collect();
    liar.ledger.push(claim("192.168.0.0/28", 2000));
    liar.say(cluster)?;
    cluster.drive(&mut operator, "the pause", || {
        agents[0].want(cluster, &pool, 2)?;
        Ok((ready(cluster, "n1")?.as_deref() == Some("OperatorWaits")).then_some(()))
    })?;
    clock.advance(120);
    // New lies are not another reason to pause. Nobody else gets the blocks that it names, and it gets no more than its quota.
    cluster.drive(&mut operator, "a grant beside the lies", || {
        let cells = (0..8).map(|cell| claim(&format!("10.0.0.{}/28", cell * 16), 3000 + cell));
        liar.ledger = cells.collect();
        liar.say(cluster)?;
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        Ok((referee(&agents)? == 3).then_some(()))
    })?;
    let blocks = cluster.list::<IPBlock>()?;
    let gained = blocks.iter().filter(|block| block.spec.node_name == "n3").count();
    ensure!(gained <= 2, "a lie was worth {gained} blocks");
    let named: BTreeSet<String> = liar.usable().filter(|cidr| !before.contains(cidr)).collect();
    ensure!(agents.iter().flat_map(TestAgent::usable).all(|cidr| !named.contains(&cidr)), "it might be true");
    Ok(())
}

fn dead_words(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("scarce", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents[..1], 1)?;
    cluster.delete::<Node>("n1")?;
    cluster.drive(&mut operator, "the quarantine", || {
        let blocks = cluster.list::<IPBlock>()?;
        Ok(blocks[0].status.as_ref().is_some_and(|status| status.phase == "Quarantined").then_some(()))
    })?;
    // Its agent never speaks again, so that its NodeIPAM goes on saying that it holds the block.
    clock.advance(3600);
    agents[1].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents[1..], 2)?;
    rounds(cluster, &mut operator, &mut agents[1..], 5)?;
    ensure!(marked(cluster)?.is_empty(), "a dead node's words contest a lease");
    cluster.drive(&mut operator, "the dead node to be forgotten", || {
        Ok(cluster.get::<NodeIPAM>("n1")?.is_none().then_some(()))
    })
}

fn unreadable(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("mixed", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    let name = cluster.list::<IPBlock>()?[0].metadata.name.clone().context("no name")?;
    let written = cluster.with_later_definition(|| {
        let api: Api<IPBlock> = Api::all(cluster.client.clone());
        let later = json!({ "status": { "mark": { "id": "0000000000000007", "why": "renumber" } } });
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&later));
        cluster.until("a word of a later version", || {
            Ok(cluster.runtime.block_on(call(api.patch_status(&name, &parameters, &patch))).ok())
        })
    })?;
    agents[1].want(cluster, &pool, 1)?;
    cluster.drive(&mut operator, "the other block", || {
        agents[1].step(cluster)?;
        Ok((agents[1].ledger.len() == 1).then_some(()))
    })?;
    let found: IPBlock = cluster.get(&name)?.context("no block")?;
    ensure!(found.metadata.resource_version == written.metadata.resource_version, "it was written");
    ensure!(agents[1].usable().all(|cidr| cidr != found.spec.cidr), "it was granted");
    Ok(())
}

fn typo(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("wide", "10.0.0.0/22", 28, &json!({}))?;
    let spare = cluster.pool("spare", "10.1.0.0/22", 28, &json!({}))?;
    let mut agents = agents(cluster, 20)?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 1)?;
        agent.want(cluster, &spare, 1)?;
    }
    let mut operator = cluster.operator(&clock)?;
    settle(cluster, &mut operator, &mut agents, 40)?;
    let selector = json!({ "spec": { "nodeSelector": { "matchLabels": { "zone": "typo" } } } });
    cluster.change::<AddressPool>("wide", &selector)?;
    cluster.until("the selector to be seen", || {
        let seen = cluster.runtime.block_on(operator.operator.decide()).context("no decisions")?.0;
        let wide = seen.pools.iter().find(|pool| &*pool.lease.key.name == "wide").context("no pool")?;
        Ok((!wide.selects(&NodeLabels::default())).then_some(()))
    })?;
    rounds(cluster, &mut operator, &mut [], 3)?;
    clock.advance(599);
    rounds(cluster, &mut operator, &mut [], 3)?;
    ensure!(marked(cluster)?.is_empty(), "drained within ten minutes of a typo");
    clock.advance(1);
    rounds(cluster, &mut operator, &mut [], 5)?;
    let mut nodes = marked(cluster)?;
    nodes.dedup();
    ensure!(nodes.len() == 2, "{} of 20 nodes drain at once", nodes.len());
    // The typo is put right: the marks go, and every block is used again.
    cluster.change::<AddressPool>("wide", &json!({ "spec": { "nodeSelector": null } }))?;
    cluster.drive(&mut operator, "the marks to go", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        Ok((marked(cluster)?.is_empty() && referee(&agents)? == 40).then_some(()))
    })
}

/// Deletes an IPBlock with its finalizer.
pub(crate) fn strip(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    cluster.change::<IPBlock>(name, &json!({ "metadata": { "finalizers": null } }))?;
    cluster.delete::<IPBlock>(name)
}

fn deselected(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("edited", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    // The selector leaves the holder out, and the record of its lease goes.
    cluster.change::<Node>("n2", &json!({ "metadata": { "labels": { "zone": "b" } } }))?;
    let selector = json!({ "spec": { "nodeSelector": { "matchLabels": { "zone": "b" } } } });
    cluster.change::<AddressPool>("edited", &selector)?;
    let name = cluster.list::<IPBlock>()?[0].metadata.name.clone().context("no name")?;
    strip(cluster, &name)?;
    agents[1].want(cluster, &pool, 2)?;
    clock.advance(120);
    cluster.drive(&mut operator, "one block, and no more", || {
        agents[1].step(cluster)?;
        clock.advance(30);
        referee(&agents)?;
        let waits = ready(cluster, "n2")?.as_deref() == Some("PoolExhausted");
        Ok((agents[1].ledger.len() == 1 && waits).then_some(()))
    })?;
    rounds(cluster, &mut operator, &mut agents[1..], 5)?;
    referee(&agents)?;
    // The selector is put right: the lease is made again.
    cluster.change::<AddressPool>("edited", &json!({ "spec": { "nodeSelector": null } }))?;
    cluster.drive(&mut operator, "the lease to be made again", || {
        clock.advance(30);
        Ok(cluster.get::<IPBlock>(&name)?.is_some_and(|block| block.spec.node_name == "n1").then_some(()))
    })
}

fn space_gone(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("spaced", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    let before: AddressSpace = cluster.get("default")?.context("no space")?;
    cluster.delete::<AddressSpace>("default")?;
    let after = cluster.drive(&mut operator, "the space to be made again", || {
        let space = cluster.get::<AddressSpace>("default")?;
        Ok(space.filter(|space| space.metadata.uid != before.metadata.uid))
    })?;
    ensure!(after.spec == before.spec, "the ranges are other ones: {:?}", after.spec);
    rounds(cluster, &mut operator, &mut agents, 5)?;
    ensure!(marked(cluster)?.is_empty() && referee(&agents)? == 2, "a block is to move");
    agents[0].want(cluster, &pool, 3)?;
    settle(cluster, &mut operator, &mut agents, 3)
}

fn space_shared(cluster: &Cluster) -> anyhow::Result<()> {
    let old = cluster.pool("old", "10.0.0.0/24", 27, &json!({}))?;
    let young = cluster.until("a younger pool", || {
        let young = cluster.pool("young", "10.2.0.0/24", 26, &json!({}))?;
        if young.metadata.creation_timestamp > old.metadata.creation_timestamp {
            return Ok(Some(young));
        }
        cluster.delete::<AddressPool>("young").map(|()| None)
    })?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &young, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    // The older pool wants the younger one's range, which only the space has refused so far.
    let cidrs = json!({ "spec": { "ipv4": { "cidrs": ["10.0.0.0/24", "10.2.0.0/24"] } } });
    cluster.change::<AddressPool>("old", &cidrs)?;
    let refused = |operator: &mut TestOperator| {
        cluster.drive(operator, "the overlap", || {
            let overlaps = Some(("False".into(), "RangeOverlap".into()));
            Ok((cluster.condition("old", "Allocatable")? == overlaps).then_some(()))
        })
    };
    refused(&mut operator)?;
    cluster.delete::<AddressSpace>("default")?;
    let space = cluster
        .drive(&mut operator, "the space to be made again", || cluster.get::<AddressSpace>("default"))?;
    let ranges = space.spec.ranges.iter().map(|range| format!("{} {}", range.pool.name, range.cidr));
    let ranges: Vec<String> = ranges.collect();
    ensure!(ranges == ["old 10.0.0.0/24", "young 10.2.0.0/24"], "{ranges:?}");
    refused(&mut operator)?;
    agents[1].want(cluster, &old, 8)?;
    settle(cluster, &mut operator, &mut agents, 10)
}

fn nonsense(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("served", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    agents[1].want(cluster, &pool, 0)?;
    // The definition admits the name, and no block can have it.
    let turn = json!({ "block": "default.10-0.26", "turn": "0000000000000001", "state": "Held", "pod": "default/p" });
    cluster.change::<NodeIPAM>("n2", &json!({ "spec": { "claims": [turn] } }))?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents[..1], 1)
}

fn storm(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("touched", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 3)?;
    // Somebody writes an annotation to each object of a kind, without a pause.
    let touches: Arc<AtomicU64> = Arc::default();
    let client = &cluster.client;
    let writers = [
        cluster.runtime.spawn(touch::<AddressPool>(client.clone(), Arc::clone(&touches))),
        cluster.runtime.spawn(touch::<IPBlock>(client.clone(), Arc::clone(&touches))),
        cluster.runtime.spawn(touch::<NodeIPAM>(client.clone(), Arc::clone(&touches))),
        cluster.runtime.spawn(touch::<AddressSpace>(client.clone(), Arc::clone(&touches))),
    ];
    let result = (|| {
        cluster.until("a storm", || Ok((touches.load(Ordering::Relaxed) > 20).then_some(())))?;
        settle(cluster, &mut operator, &mut agents, 3)?;
        agents[0].idle = vec![agents[0].ledger[2].uid];
        agents[0].want(cluster, &pool, 2)?;
        agents[1].want(cluster, &pool, 2)?;
        settle(cluster, &mut operator, &mut agents, 4)
    })();
    writers.iter().for_each(tokio::task::JoinHandle::abort);
    result
}

/// Writes an annotation to every object of a kind, for ever.
async fn touch<K>(client: kube::Client, touches: Arc<AtomicU64>)
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::all(client);
    loop {
        for object in call(api.list(&kube::api::ListParams::default())).await.into_iter().flatten() {
            let name = object.meta().name.clone().unwrap_or_default();
            let count = touches.fetch_add(1, Ordering::Relaxed);
            let patch = json!({ "metadata": { "annotations": { "touched": count.to_string() } } });
            // It may be gone by now.
            let _ = call(api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))).await;
        }
        tokio::task::yield_now().await;
    }
}
