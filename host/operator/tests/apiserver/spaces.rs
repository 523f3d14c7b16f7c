//! Spaces: no two ranges of a group overlap, whoever asks.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::json;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock};

use crate::Test;
use crate::agent::referee;
use crate::cluster::Cluster;
use crate::grants::{agents, settle};

pub(crate) const TESTS: &[Test] = &[
    ("spaces::the_younger_of_two_overlapping_pools_waits_until_the_older_is_gone", overlap),
    ("spaces::equal_ranges_of_two_groups_are_two_things", groups),
    ("spaces::a_range_that_was_taken_out_drains_and_goes", removed),
];

fn overlap(cluster: &Cluster) -> anyhow::Result<()> {
    let old = cluster.pool("old", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &old, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    let young = cluster.pool("young", "10.0.0.0/25", 27, &json!({}))?;
    cluster.drive(&mut operator, "the condition", || {
        let refused =
            cluster.condition("young", "Allocatable")? == Some(("False".into(), "RangeOverlap".into()));
        Ok(refused.then_some(()))
    })?;
    agents[0].want(cluster, &young, 1)?;
    cluster.delete::<AddressPool>("old")?;
    // The pool goes, and with it the node's last block; then the younger one has its range.
    cluster.drive(&mut operator, "the younger pool's block", || {
        agents[0].step(cluster)?;
        referee(&agents)?;
        let held = agents[0].usable().any(|cidr| cidr.ends_with("/27"));
        Ok((held && cluster.get::<AddressPool>("old")?.is_none()).then_some(()))
    })?;
    ensure!(cluster.list::<IPBlock>()?.len() == 1);
    Ok(())
}

fn groups(cluster: &Cluster) -> anyhow::Result<()> {
    let one = cluster.pool("one", "10.0.0.0/26", 26, &json!({}))?;
    let two = cluster.pool("two", "10.0.0.0/26", 26, &json!({ "overlapGroup": "other" }))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &one, 1)?;
    agents[1].want(cluster, &two, 1)?;
    cluster.drive(&mut operator, "a block in each group", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        Ok(agents.iter().all(|agent| agent.ledger.len() == 1).then_some(()))
    })?;
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    let marked = cluster
        .list::<IPBlock>()?
        .iter()
        .any(|block| block.status.as_ref().is_some_and(|status| status.mark.is_some()));
    ensure!(!marked, "a block of one group was taken for the same block of the other");
    Ok(())
}

fn removed(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("moving", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    // Without another range there is no replacement: the last open block stays.
    cluster.change::<AddressPool>("moving", &json!({ "spec": { "ipv4": { "cidrs": [] } } }))?;
    for _ in 0..5 {
        agents[0].step(cluster)?;
        cluster.runtime.block_on(operator.operator.pass());
        ensure!(referee(&agents)? == 2, "an edit took a node's blocks before there was another");
    }
    let cidrs = json!({ "spec": { "ipv4": { "cidrs": ["10.1.0.0/24"] } } });
    cluster.change::<AddressPool>("moving", &cidrs)?;
    cluster.drive(&mut operator, "the move to the new range", || {
        agents[0].step(cluster)?;
        referee(&agents)?;
        let space: AddressSpace = cluster.get("default")?.unwrap();
        let moved = agents[0].ledger.len() == 2 && agents[0].usable().all(|cidr| cidr.starts_with("10.1."));
        Ok((moved && space.spec.ranges.len() == 1).then_some(()))
    })
}
