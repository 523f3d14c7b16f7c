//! Grants: what nodes want, in blocks of which no two nodes have the same.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use futures_util::future::join;
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock, NodeIPAM};
use tenure_leases::agent::ledger::{LeaseHold, LedgerBlock};
use tenure_operator::writes::OperatorWrite;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("grants::nodes_get_what_they_want_until_the_pool_is_exhausted", exhausted),
    ("grants::two_operators_that_decided_on_one_snapshot_grant_no_block_twice", same_snapshot),
    ("grants::two_operators_at_once_grant_no_block_twice", at_once),
    ("grants::a_lost_lease_is_made_again_for_its_holder_alone", lost),
    ("grants::a_selector_and_a_quota_keep_nodes_out", kept_out),
    ("grants::a_block_that_a_pool_excludes_is_granted_to_nobody_and_replaced_where_it_is_held", excluded),
];

/// Nodes with their agents.
pub(crate) fn agents(cluster: &Cluster, count: u64) -> anyhow::Result<Vec<TestAgent>> {
    (1..=count).map(|n| TestAgent::new(&cluster.host(&format!("n{n}"), &format!("machine{n}"), n)?)).collect()
}

/// Lets an operator and all agents work until the agents hold so many blocks together.
pub(crate) fn settle(
    cluster: &Cluster,
    operator: &mut TestOperator,
    agents: &mut [TestAgent],
    blocks: usize,
) -> anyhow::Result<()> {
    cluster.drive(operator, &format!("{blocks} blocks"), || {
        for agent in agents.iter_mut() {
            agent.step(cluster)?;
        }
        Ok((referee(agents)? == blocks).then_some(()))
    })
}

/// The reason of a node's condition Ready.
pub(crate) fn ready(cluster: &Cluster, node: &str) -> anyhow::Result<Option<String>> {
    let said = cluster.get::<NodeIPAM>(node)?.and_then(|said| said.status);
    Ok(said.and_then(|said| said.conditions.into_iter().next()).map(|condition| condition.reason))
}

fn exhausted(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("small", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 3)?;
    let mut operator = cluster.operator(&Arc::new(TestClock::default()))?;
    for agent in &mut agents[..2] {
        agent.want(cluster, &pool, 2)?;
    }
    settle(cluster, &mut operator, &mut agents, 4)?;
    cluster.drive(&mut operator, "a pool that serves", || {
        Ok((cluster.condition("small", "Ready")? == Some(("True".into(), "Serving".into()))).then_some(()))
    })?;
    agents[2].want(cluster, &pool, 1)?;
    cluster.drive(&mut operator, "an exhausted pool", || {
        let exhausted =
            cluster.condition("small", "Exhausted")? == Some(("True".into(), "NoBlockFree".into()));
        Ok((exhausted && ready(cluster, "n3")?.as_deref() == Some("PoolExhausted")).then_some(()))
    })?;
    let stored: AddressPool = cluster.get("small")?.unwrap();
    let capacity = stored.status.unwrap().ipv4.unwrap();
    ensure!((capacity.total, capacity.leased, capacity.free) == (4, 4, 0), "{capacity:?}");
    ensure!(ready(cluster, "n1")?.as_deref() == Some("Satisfied"));
    settle(cluster, &mut operator, &mut agents, 4)
}

fn same_snapshot(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("race", "10.0.0.0/24", 27, &json!({}))?;
    let mut agents = agents(cluster, 8)?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 1)?;
    }
    let clock = Arc::new(TestClock::default());
    let (mut first, mut second) = (cluster.operator(&clock)?, cluster.operator(&clock)?);
    // Both see the nodes and the space, and no block.
    let decided = |operator: &mut TestOperator| {
        cluster.until("decisions on grants", || {
            let decided = cluster.runtime.block_on(operator.operator.decide());
            let mut writes = decided.map(|(_, writes)| writes).unwrap_or_default();
            let space = writes.iter().position(|write| matches!(write, OperatorWrite::Space { .. }));
            if let Some(space) = space {
                // The other one may have been faster.
                let _ = cluster.runtime.block_on(operator.operator.perform(writes.remove(space)));
            }
            writes.retain(|write| matches!(write, OperatorWrite::Grant(_)));
            Ok((writes.len() == 8).then_some(writes))
        })
    };
    let (one, other) = (decided(&mut first)?, decided(&mut second)?);
    let mut other = other.into_iter();
    for write in one.into_iter().rev() {
        cluster.runtime.block_on(first.operator.perform(write))?;
        cluster.runtime.block_on(second.operator.perform(other.next().unwrap()))?;
    }
    ensure!(cluster.list::<IPBlock>()?.len() == 8, "a grant of both operators made another block");
    settle(cluster, &mut second, &mut agents, 8)
}

fn at_once(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("crowded", "10.0.0.0/24", 28, &json!({}))?;
    let mut agents = agents(cluster, 12)?;
    let clock = Arc::new(TestClock::default());
    let (mut first, mut second) = (cluster.operator(&clock)?, cluster.operator(&clock)?);
    // 16 blocks: too few for all.
    for agent in &mut agents {
        agent.want(cluster, &pool, 2)?;
    }
    cluster.until("all blocks to be held", || {
        cluster.runtime.block_on(join(first.operator.pass(), second.operator.pass()));
        for agent in &mut agents {
            agent.step(cluster)?;
        }
        Ok((referee(&agents)? == 16).then_some(()))
    })?;
    let blocks = cluster.list::<IPBlock>()?;
    for block in &blocks {
        let holder = agents.iter().find(|agent| *agent.identity.name == block.spec.node_name).unwrap();
        ensure!(holder.usable().any(|cidr| cidr == block.spec.cidr), "nobody holds {}", block.spec.cidr);
    }
    ensure!(blocks.len() == 16, "{} blocks", blocks.len());
    Ok(())
}

fn lost(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("lost", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let clock = Arc::new(TestClock::default());
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    // Somebody removes the record, finalizer and all, while another node waits for a block.
    let name = cluster.list::<IPBlock>()?[0].metadata.name.clone().unwrap();
    cluster.change::<IPBlock>(&name, &json!({ "metadata": { "finalizers": null } }))?;
    cluster.delete::<IPBlock>(&name)?;
    agents[1].want(cluster, &pool, 1)?;
    cluster.drive(&mut operator, "a pause", || {
        Ok((ready(cluster, "n2")?.as_deref() == Some("OperatorWaits")).then_some(()))
    })?;
    ensure!(cluster.list::<IPBlock>()?.len() == 1, "granted in the pause after a lost lease");
    // A successor sees it, too.
    drop(operator);
    let mut operator = cluster.operator(&clock)?;
    cluster.runtime.block_on(operator.operator.pass());
    ensure!(cluster.list::<IPBlock>()?.len() == 1, "a successor granted before the nodes could speak");
    clock.advance(120);
    cluster.drive(&mut operator, "the lease to be made again", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let again = cluster.get::<IPBlock>(&name)?;
        for index in 0..agents[0].ledger.len() {
            agents[0].compare(cluster, index)?;
        }
        let uid = again.as_ref().and_then(|block| block.metadata.uid.clone());
        let rebound = agents[0].ledger.iter().any(|row| Some(row.uid.to_string()) == uid);
        Ok((again.is_some_and(|block| block.spec.node_name == "n1") && rebound).then_some(()))
    })?;
    settle(cluster, &mut operator, &mut agents, 2)
}

fn kept_out(cluster: &Cluster) -> anyhow::Result<()> {
    let more =
        json!({ "nodeSelector": { "matchLabels": { "zone": "a" } }, "quota": { "maxBlocksPerNode": 1 } });
    let pool = cluster.pool("zone", "10.0.0.0/24", 26, &more)?;
    let mut agents = agents(cluster, 2)?;
    let label = json!({ "metadata": { "labels": { "zone": "a" } } });
    cluster.change::<k8s_openapi::api::core::v1::Node>("n1", &label)?;
    let mut operator = cluster.operator(&Arc::new(TestClock::default()))?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 2)?;
    }
    cluster.drive(&mut operator, "both refusals", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let reasons = (ready(cluster, "n1")?, ready(cluster, "n2")?);
        let refused = reasons == (Some("QuotaReached".into()), Some("NotAdmitted".into()));
        Ok((refused && referee(&agents)? == 1).then_some(()))
    })
}

fn excluded(cluster: &Cluster) -> anyhow::Result<()> {
    let more = json!({ "exclusions": [{ "cidr": "10.0.0.0/26" }], "quota": { "maxBlocksPerNode": 1 } });
    let pool = cluster.pool("halved", "10.0.0.0/25", 26, &more)?;
    let mut agents = agents(cluster, 3)?;
    let mut operator = cluster.operator(&Arc::new(TestClock::default()))?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 1)?;
    }
    cluster.drive(&mut operator, "one block, and no other", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let exhausted = cluster.condition("halved", "Exhausted")?;
        let is_exhausted = exhausted == Some(("True".into(), "NoBlockFree".into()));
        Ok((is_exhausted && referee(&agents)? == 1).then_some(()))
    })?;
    let holder = agents.iter().position(|agent| !agent.ledger.is_empty()).context("no holder")?;
    ensure!(agents[holder].usable().eq(["10.0.0.64/26"]), "{:?}", agents[holder].ledger);
    for agent in agents.iter_mut().filter(|agent| agent.ledger.is_empty()) {
        agent.want(cluster, &pool, 0)?;
    }
    // The other half is excluded, and the node has its quota: the block that it uses goes with its last address.
    agents[holder].use_addresses("10.0.0.64/26", 5)?;
    cluster.change::<AddressPool>(
        "halved",
        &json!({ "spec": { "exclusions": [{ "cidr": "10.0.0.64/26" }] } }),
    )?;
    cluster.drive(&mut operator, "the replacement, and the cordon", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let is_cordoned = |row: &LedgerBlock| matches!(row.hold, LeaseHold::Cordoned(_));
        let ledger = &agents[holder].ledger;
        Ok((ledger.len() == 2 && ledger.iter().any(is_cordoned)).then_some(()))
    })?;
    agents[holder].use_addresses("10.0.0.64/26", 0)?;
    cluster.drive(&mut operator, "the excluded block to go", || {
        for row in &mut agents[holder].ledger {
            if let Some(mark) = row.drained() {
                row.hold = LeaseHold::Frozen(mark);
            }
        }
        agents[holder].step(cluster)?;
        let left = cluster.list::<IPBlock>()?;
        Ok((left.len() == 1 && left[0].spec.cidr == "10.0.0.0/26").then_some(()))
    })
}
