//! Releases: the handshake, with operators that lose their memory between any two steps.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_leases::agent::ledger::LeaseHold;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, settle};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("releases::an_idle_block_of_a_short_pool_comes_back", idle),
    ("releases::a_block_in_use_is_refused_and_left_alone_for_the_delay", refused),
    ("releases::an_operator_that_forgets_everything_between_two_steps_ends_the_release", forgetful),
    ("releases::an_inherited_mark_gets_a_new_id_before_anything_is_deleted", inherited),
    ("releases::a_selector_that_no_longer_matches_drains_after_ten_minutes", unmatched),
    ("releases::a_deleted_block_drains_once_its_node_has_another", deleted),
];

/// A pool of four blocks, of which one node holds three: it is short, and an idle block is wanted back.
fn short(
    cluster: &Cluster,
    clock: &Arc<TestClock>,
) -> anyhow::Result<(AddressPool, TestOperator, Vec<TestAgent>)> {
    let pool = cluster.pool("short", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(clock)?;
    agents[0].want(cluster, &pool, 4)?;
    settle(cluster, &mut operator, &mut agents, 4)?;
    agents[0].idle = vec![agents[0].ledger[3].uid];
    agents[0].want(cluster, &pool, 3)?;
    Ok((pool, operator, agents))
}

/// The ids of the marks that are there.
fn marks(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let blocks = cluster.list::<IPBlock>()?;
    Ok(blocks.into_iter().filter_map(|block| Some(block.status?.mark?.id)).collect())
}

fn idle(cluster: &Cluster) -> anyhow::Result<()> {
    let (_, mut operator, mut agents) = short(cluster, &Arc::default())?;
    settle(cluster, &mut operator, &mut agents, 3)?;
    cluster.drive(&mut operator, "a free block", || {
        agents[0].step(cluster)?;
        let pool: AddressPool = cluster.get("short")?.unwrap();
        let capacity = pool.status.unwrap().ipv4.unwrap();
        Ok(((capacity.leased, capacity.free, agents[0].ledger.len()) == (3, 1, 3)).then_some(()))
    })
}

fn refused(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (_, mut operator, mut agents) = short(cluster, &clock)?;
    let spare = agents[0].ledger[3].cidr.to_string();
    agents[0].use_addresses(&spare, 1)?;
    cluster.drive(&mut operator, "a refusal", || {
        agents[0].step(cluster)?;
        let blocks = cluster.list::<IPBlock>()?;
        let cleared = blocks.iter().filter_map(|block| block.status.as_ref()?.cleared.clone()).count();
        Ok((cleared == 1).then_some(()))
    })?;
    for _ in 0..10 {
        agents[0].step(cluster)?;
        cluster.runtime.block_on(operator.operator.pass());
        ensure!(marks(cluster)?.is_empty(), "marked again within the delay");
    }
    ensure!(referee(&agents)? == 4);
    agents[0].use_addresses(&spare, 0)?;
    clock.advance(1800);
    settle(cluster, &mut operator, &mut agents, 3)
}

fn forgetful(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (_, operator, mut agents) = short(cluster, &clock)?;
    drop(operator);
    let mut generations = 0;
    cluster.until("the block to be free", || {
        // Each operator makes at most one write about blocks, and is killed; every other one sees the agent's answer to its own mark.
        let mut operator = cluster.operator(&clock)?;
        generations += 1;
        let lives = if generations % 2 == 0 { 3 } else { 1 };
        for _ in 0..lives {
            let decided = cluster.runtime.block_on(operator.operator.decide());
            let writes = decided.map(|(_, writes)| writes).unwrap_or_default();
            if let Some(write) = writes.into_iter().next() {
                // Another operator's late write may have come in between.
                let _ = cluster.runtime.block_on(operator.operator.perform(write));
            }
            agents[0].step(cluster)?;
            referee(&agents)?;
        }
        if generations < 12 {
            return Ok(None);
        }
        // The last one stays, until the node has heard that the block is gone.
        cluster.drive(&mut operator, "three open blocks", || {
            agents[0].step(cluster)?;
            let is_open = agents[0].ledger.iter().all(|row| row.hold == LeaseHold::Open);
            Ok((referee(&agents)? == 3 && is_open).then_some(()))
        })?;
        Ok(Some(()))
    })?;
    Ok(())
}

fn inherited(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (_, mut first, mut agents) = short(cluster, &clock)?;
    let mark = cluster.drive(&mut first, "a mark", || Ok(marks(cluster)?.pop()))?;
    // The hint goes out, and the agent answers ready.
    cluster.drive(&mut first, "the hint", || {
        agents[0].step(cluster)?;
        let frozen = agents[0].ledger.iter().any(|row| matches!(row.hold, LeaseHold::Frozen(_)));
        Ok(frozen.then_some(()))
    })?;
    drop(first);
    let mut second = cluster.operator(&clock)?;
    cluster.runtime.block_on(second.operator.pass());
    let again = marks(cluster)?.pop();
    ensure!(again.is_some_and(|again| again != mark), "an inherited mark was believed");
    ensure!(cluster.list::<IPBlock>()?.len() == 4, "deleted on an answer to another operator's mark");
    settle(cluster, &mut second, &mut agents, 3)?;
    cluster.drive(&mut second, "the new answer to free the block", || {
        agents[0].step(cluster)?;
        Ok((cluster.list::<IPBlock>()?.len() == 3).then_some(()))
    })
}

fn unmatched(cluster: &Cluster) -> anyhow::Result<()> {
    let zone = json!({ "nodeSelector": { "matchLabels": { "zone": "a" } } });
    let (pool, other) = (
        cluster.pool("zone", "10.0.0.0/24", 26, &zone)?,
        cluster.pool("other", "10.1.0.0/24", 26, &json!({}))?,
    );
    let mut agents = agents(cluster, 1)?;
    let label = |zone: &str| json!({ "metadata": { "labels": { "zone": zone } } });
    cluster.change::<Node>("n1", &label("a"))?;
    let clock = Arc::default();
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    agents[0].want(cluster, &other, 1)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    // A typo: nothing happens for ten minutes, and the time of an earlier one does not count.
    for seconds in [500, 599] {
        cluster.change::<Node>("n1", &label("b"))?;
        // The node's condition changes nothing; the pass that sees the label is one after the watch has it.
        cluster.until("the label", || {
            let seen = cluster.runtime.block_on(operator.operator.decide()).context("no decisions")?.0;
            Ok((seen.hosts["n1"].labels.get("zone") == Some("b")).then_some(()))
        })?;
        clock.advance(seconds);
        cluster.runtime.block_on(operator.operator.pass());
        agents[0].step(cluster)?;
        ensure!(marks(cluster)?.is_empty(), "drained {seconds} seconds after a typo");
        if seconds == 500 {
            cluster.change::<Node>("n1", &label("a"))?;
            cluster.until("the label", || {
                let seen = cluster.runtime.block_on(operator.operator.decide()).context("no decisions")?.0;
                Ok((seen.hosts["n1"].labels.get("zone") == Some("a")).then_some(()))
            })?;
        }
    }
    clock.advance(1);
    settle(cluster, &mut operator, &mut agents, 1)?;
    ensure!(agents[0].usable().all(|cidr| cidr.starts_with("10.1.")), "{:?}", agents[0].ledger);
    Ok(())
}

fn deleted(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("roomy", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    let old = agents[0].ledger[0].cidr.to_string();
    agents[0].use_addresses(&old, 5)?;
    let name = cluster.list::<IPBlock>()?[0].metadata.name.clone().unwrap();
    cluster.delete::<IPBlock>(&name)?;
    // A replacement comes first; then the block is cordoned, and stays while it is in use.
    cluster.drive(&mut operator, "the cordon", || {
        agents[0].step(cluster)?;
        ensure!(agents[0].ledger.iter().any(|row| row.hold == LeaseHold::Open), "no open block is left");
        let cordoned = agents[0].ledger.iter().any(|row| matches!(row.hold, LeaseHold::Cordoned(_)));
        Ok((cordoned && agents[0].ledger.len() == 2).then_some(()))
    })?;
    for _ in 0..5 {
        agents[0].step(cluster)?;
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(cluster.get::<IPBlock>(&name)?.is_some(), "taken from a node that uses it");
    agents[0].use_addresses(&old, 0)?;
    cluster.drive(&mut operator, "the block to go", || {
        for index in 0..agents[0].ledger.len() {
            let row = agents[0].ledger[index];
            if let Some(mark) = row.drained() {
                agents[0].ledger[index].hold = LeaseHold::Frozen(mark);
            }
        }
        agents[0].step(cluster)?;
        Ok((cluster.get::<IPBlock>(&name)?.is_none() && agents[0].ledger.len() == 1).then_some(()))
    })
}
