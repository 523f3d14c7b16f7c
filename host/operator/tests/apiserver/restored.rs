//! Loss of what the API server stores: a backup that was put back, definitions that were deleted, a watch's history that was compacted.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock, NodeIPAM};
use tenure_fixtures::control_plane::ControlPlane;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, ready, settle};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("restored::a_store_that_was_put_back_gives_no_block_twice", put_back),
    ("restored::a_release_that_is_put_back_at_any_of_its_steps_gives_no_block_twice", at_each_step),
    ("restored::a_store_that_was_put_back_with_a_bumped_revision_is_noticed", bumped),
    ("restored::deleted_definitions_take_nothing_from_a_node", definitions_gone),
    ("restored::deletes_that_a_held_watch_missed_are_found_after_compaction", compacted),
];

/// Lets agents and operator work until everybody holds what it wants, while time passes and all compare what they hold.
fn recover(
    cluster: &Cluster,
    clock: &TestClock,
    operator: &mut TestOperator,
    agents: &mut [TestAgent],
    blocks: usize,
) -> anyhow::Result<()> {
    cluster.drive(operator, &format!("{blocks} blocks again"), || {
        for agent in agents.iter_mut() {
            for index in (0..agent.ledger.len()).rev() {
                agent.compare(cluster, index)?;
            }
            agent.step(cluster)?;
        }
        clock.advance(10);
        let stored = cluster.list::<IPBlock>()?;
        let bound = agents.iter().flat_map(|agent| &agent.ledger).all(|row| {
            let uid = row.uid.to_string();
            stored.iter().any(|block| block.metadata.uid.as_ref() == Some(&uid))
        });
        Ok((referee(agents)? == blocks && bound && stored.len() == blocks).then_some(()))
    })
}

fn put_back(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("kept", "10.0.0.0/24", 27, &json!({}))?;
    let mut agents = agents(cluster, 3)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 2)?;
    agents[1].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 3)?;
    cluster.with_plane(ControlPlane::back_up)?;
    // After the backup, five more blocks are leased: the pool is full.
    agents[1].want(cluster, &pool, 3)?;
    settle(cluster, &mut operator, &mut agents, 5)?;
    agents[2].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 6)?;
    let seen: Vec<Vec<_>> = agents.iter().map(|agent| agent.ledger.clone()).collect();
    cluster.with_plane(ControlPlane::restore)?;
    ensure!(cluster.list::<IPBlock>()?.len() == 3, "the backup is not what was put back");
    // The living operator remembers a newer store: it grants nothing to the node that asks first.
    agents[0].want(cluster, &pool, 4)?;
    cluster.drive(&mut operator, "the pause", || {
        ensure!(cluster.list::<IPBlock>()?.len() == 3, "granted before the nodes could say what they hold");
        Ok((ready(cluster, "n1")?.as_deref() == Some("OperatorWaits")).then_some(()))
    })?;
    recover(cluster, &clock, &mut operator, &mut agents, 8)?;
    for (agent, seen) in agents.iter().zip(seen) {
        let kept = seen.iter().all(|row| agent.ledger.iter().any(|now| now.cidr == row.cidr));
        ensure!(kept, "{} lost a block that it held", agent.identity.name);
    }
    Ok(())
}

/// The number of steps that the release of a node's block has made: marked, hinted, answered with ready, and being deleted.
fn steps_made(cluster: &Cluster, node: &str) -> anyhow::Result<usize> {
    let blocks = cluster.list::<IPBlock>()?;
    let own = blocks.into_iter().filter(|block| block.spec.node_name == node);
    let asked = |block: &IPBlock| block.status.as_ref().is_some_and(|status| status.mark.is_some());
    let Some(block) = own.into_iter().find(asked) else { return Ok(0) };
    let uid = block.metadata.uid.context("no uid")?;
    let object = cluster.get::<NodeIPAM>(node)?.context("no words")?;
    let hints = object.status.map(|status| status.blocks).unwrap_or_default();
    let is_hinted = hints.iter().any(|hint| hint.uid == uid && hint.mark.is_some());
    let is_ready = object.spec.acks.iter().any(|ack| ack.uid == uid && ack.answer == "ready");
    Ok(match (block.metadata.deletion_timestamp.is_some(), is_ready, is_hinted) {
        (true, ..) => 4,
        (_, true, _) => 3,
        (_, _, true) => 2,
        _ => 1,
    })
}

fn at_each_step(cluster: &Cluster) -> anyhow::Result<()> {
    for step in 0..=4 {
        let clock: Arc<TestClock> = Arc::default();
        let pool = cluster.pool("short", "10.0.0.0/24", 26, &json!({}))?;
        let mut agents = agents(cluster, 2)?;
        let mut operator = cluster.operator(&clock)?;
        agents[0].want(cluster, &pool, 4)?;
        settle(cluster, &mut operator, &mut agents, 4)?;
        agents[0].idle = vec![agents[0].ledger[3].uid];
        agents[0].want(cluster, &pool, 3)?;
        // One write after the other, until the release has come to the step.
        cluster.until(&format!("step {step}"), || {
            let decided = cluster.runtime.block_on(operator.operator.decide());
            for write in decided.map(|(_, writes)| writes).unwrap_or_default() {
                if steps_made(cluster, "n1")? >= step {
                    break;
                }
                // The agent may have written in between.
                let _ = cluster.runtime.block_on(operator.operator.perform(write));
            }
            if (2..step).contains(&steps_made(cluster, "n1")?) {
                agents[0].step(cluster)?;
            }
            Ok((steps_made(cluster, "n1")? >= step).then_some(()))
        })?;
        cluster.with_plane(ControlPlane::back_up)?;
        // The release goes on, and another node gets the block and uses it.
        agents[1].want(cluster, &pool, 1)?;
        cluster.drive(&mut operator, "the block to go over", || {
            agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
            referee(&agents)?;
            Ok((agents[0].ledger.len() == 3 && agents[1].ledger.len() == 1).then_some(()))
        })?;
        agents[1].give();
        agents[1].step(cluster)?;
        cluster.with_plane(ControlPlane::restore)?;
        // A leader that saw the newer store, and one that did not.
        if step % 2 == 0 {
            operator = cluster.operator(&clock)?;
        }
        recover(cluster, &clock, &mut operator, &mut agents, 4)
            .with_context(|| format!("put back at step {step}"))?;
        ensure!(
            agents[1].ledger.len() == 1 && agents[1].given.len() == 1,
            "the block was taken from its pods"
        );
        drop(operator);
        cluster.clear()?;
    }
    Ok(())
}

fn bumped(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("kept", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    cluster.with_plane(ControlPlane::back_up)?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    let version = |change: u64| -> anyhow::Result<u64> {
        let labels = json!({ "metadata": { "labels": { "change": change.to_string() } } });
        let pool = cluster.change::<AddressPool>("kept", &labels)?;
        Ok(pool.metadata.resource_version.context("no version")?.parse()?)
    };
    let seen = version(0)?;
    cluster.with_plane(ControlPlane::restore)?;
    // As `etcdutl snapshot restore --bump-revision --mark-compacted` leaves it: no version is lower than one that was read, and the history is gone.
    let mut now = 0;
    for change in 1.. {
        now = version(change)?;
        if now > seen {
            break;
        }
    }
    cluster.with_plane(|plane| plane.compact(now))?;
    cluster.without_server(|| Ok(()))?;
    agents[1].want(cluster, &pool, 2)?;
    cluster.drive(&mut operator, "the pause", || {
        ensure!(cluster.list::<IPBlock>()?.len() == 1, "granted before the nodes could say what they hold");
        Ok((ready(cluster, "n2")?.as_deref() == Some("OperatorWaits")).then_some(()))
    })?;
    recover(cluster, &clock, &mut operator, &mut agents, 4)
}

fn definitions_gone(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("uninstalled", "10.0.0.0/24", 27, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&clock)?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 2)?;
    }
    settle(cluster, &mut operator, &mut agents, 4)?;
    let kinds = ["addresspools.ipam.tenure.dev", "ipblocks.ipam.tenure.dev"];
    for kind in kinds {
        cluster.delete::<CustomResourceDefinition>(kind)?;
    }
    cluster.until("the objects to be deleted", || {
        let blocks = cluster.list::<IPBlock>()?;
        let pools = cluster.list::<AddressPool>()?;
        let deleted = blocks.iter().all(|block| block.metadata.deletion_timestamp.is_some())
            && pools.iter().all(|pool| pool.metadata.deletion_timestamp.is_some());
        Ok(deleted.then_some(()))
    })?;
    for _ in 0..10 {
        cluster.runtime.block_on(operator.operator.pass());
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        clock.advance(30);
    }
    let blocks = cluster.list::<IPBlock>()?;
    let marked =
        blocks.iter().filter(|block| block.status.as_ref().is_some_and(|status| status.mark.is_some()));
    ensure!(marked.count() == 0 && blocks.len() == 4, "an uninstall asks the nodes' blocks back");
    // A person goes on all the same, and then installs again, with the same pool.
    let strip = json!({ "metadata": { "finalizers": null } });
    for block in &blocks {
        cluster.change::<IPBlock>(block.metadata.name.as_deref().context("no name")?, &strip)?;
    }
    cluster.change::<AddressPool>("uninstalled", &strip)?;
    cluster.until("the definitions to be gone", || {
        Ok((cluster.get::<CustomResourceDefinition>(kinds[0])?.is_none()
            && cluster.get::<CustomResourceDefinition>(kinds[1])?.is_none())
        .then_some(()))
    })?;
    cluster.install()?;
    let pool = cluster.pool("uninstalled", "10.0.0.0/24", 27, &json!({}))?;
    for agent in &mut agents {
        agent.forget_demand();
        agent.want(cluster, &pool, 2)?;
    }
    ensure!(referee(&agents)? == 4, "a node dropped a block with the definitions");
    recover(cluster, &clock, &mut operator, &mut agents, 4)
}

fn compacted(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("missed", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    let client = cluster.client_through(&proxy)?;
    let mut operator =
        cluster.operator_with(&client, &clock, tenure_operator::reports::Reports::default())?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    // What happens now, the operator does not see: a lease is lost, and history with it.
    proxy.hold_watches(true);
    let name = cluster.list::<IPBlock>()?[0].metadata.name.clone().context("no name")?;
    cluster.change::<IPBlock>(&name, &json!({ "metadata": { "finalizers": null } }))?;
    cluster.delete::<IPBlock>(&name)?;
    let version =
        cluster.change::<AddressPool>("missed", &json!({ "metadata": { "labels": { "a": "b" } } }))?;
    let version = version.metadata.resource_version.context("no version")?.parse()?;
    cluster.with_plane(|plane| plane.compact(version))?;
    // The server's own memory of events goes with it.
    cluster.without_server(|| Ok(()))?;
    proxy.hold_watches(false);
    cluster.drive(&mut operator, "the lost lease to be seen and made again", || {
        clock.advance(30);
        cluster.get::<IPBlock>(&name)
    })?;
    recover(cluster, &clock, &mut operator, &mut agents, 2)
}
