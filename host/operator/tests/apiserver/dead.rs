//! Dead nodes: proof or attestation, quarantine, and return.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use serde_json::json;
use tenure_cluster::{AddressPool, IPBlock, NodeIPAM};
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_leases::{BlockPhase, IpBlock};
use tenure_operator::reports::Reports;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, settle};

pub(crate) const TESTS: &[Test] = &[
    ("dead::a_node_that_is_not_ready_keeps_its_blocks", not_ready),
    ("dead::the_blocks_of_a_deleted_node_wait_in_quarantine_over_leaders", quarantine),
    ("dead::a_lost_lease_of_a_deleted_node_is_made_again_and_waits_in_quarantine", lost),
    ("dead::a_node_that_registers_again_is_adopted", adopted),
    ("dead::an_attested_death_frees_after_a_minute", attested),
    ("dead::another_machine_under_the_name_speaks_for_itself_alone", replaced),
    ("dead::a_quarantine_without_an_end_ends_by_an_administrators_word", without_end),
    ("dead::a_node_that_comes_back_from_quarantine_has_its_blocks_again", back),
    ("dead::a_node_that_comes_back_after_its_blocks_went_stops_no_grant", returned),
    ("dead::two_machines_with_one_id_are_two_nodes", cloned),
    ("dead::an_answer_that_is_lost_shortens_no_quarantine", lost_answers),
];

/// A node with one block of a pool with two.
fn one(cluster: &Cluster, clock: &Arc<TestClock>) -> anyhow::Result<(TestOperator, Vec<TestAgent>)> {
    one_through(cluster, &cluster.client, clock)
}

/// The same, of an operator with a client of its own.
fn one_through(
    cluster: &Cluster,
    client: &Client,
    clock: &Arc<TestClock>,
) -> anyhow::Result<(TestOperator, Vec<TestAgent>)> {
    let pool = cluster.pool("two", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator_with(client, clock, Reports::default())?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    Ok((operator, agents))
}

/// The phase and the reason of the only block.
fn phase(cluster: &Cluster) -> anyhow::Result<Option<(String, Option<String>)>> {
    let block = cluster.list::<IPBlock>()?.pop();
    Ok(block.map(|block| block.status.map_or((String::new(), None), |status| (status.phase, status.reason))))
}

fn quarantined(reason: &str) -> Option<(String, Option<String>)> {
    Some(("Quarantined".into(), Some(reason.into())))
}

fn until_quarantined(cluster: &Cluster, operator: &mut TestOperator, reason: &str) -> anyhow::Result<()> {
    cluster.drive(operator, "quarantine", || Ok((phase(cluster)? == quarantined(reason)).then_some(())))
}

fn passes(cluster: &Cluster, operator: &mut TestOperator) {
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
}

fn not_ready(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (mut operator, _agents) = one(cluster, &clock)?;
    let taint = json!({ "spec": { "taints": [
        { "key": "node.kubernetes.io/unreachable", "effect": "NoExecute" },
        { "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" },
    ] } });
    cluster.change::<Node>("n1", &taint)?;
    clock.advance(1_000_000);
    passes(cluster, &mut operator);
    ensure!(phase(cluster)? == Some((String::new(), None)), "{:?}", phase(cluster)?);
    Ok(())
}

fn quarantine(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (mut operator, _agents) = one(cluster, &clock)?;
    cluster.delete::<Node>("n1")?;
    until_quarantined(cluster, &mut operator, "NodeGone")?;
    // An hour, counted by four leaders.
    for quarter in 1..=4 {
        clock.advance(900);
        cluster.drive(&mut operator, "the time to be written", || {
            let block = cluster.list::<IPBlock>()?.pop();
            let written = block.and_then(|block| block.status).map(|status| status.elapsed_seconds);
            Ok(written.is_none_or(|written| written == quarter * 900).then_some(()))
        })?;
        if quarter < 4 {
            ensure!(phase(cluster)? == quarantined("NodeGone"), "freed after {quarter} quarters");
            drop(operator);
            operator = cluster.operator(&clock)?;
            passes(cluster, &mut operator);
        }
    }
    cluster.drive(&mut operator, "the block to go", || Ok(phase(cluster)?.is_none().then_some(())))?;
    // The leader that ended the last lease needs the agent's words no more.
    cluster.drive(&mut operator, "the node to be forgotten", || {
        Ok(cluster.get::<NodeIPAM>("n1")?.is_none().then_some(()))
    })
}

fn lost(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let pool = cluster.pool("two", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    drop(operator);
    // The lease is gone, as after a restore, and so is the Node. Its machine may live on, and the other node wants all blocks.
    let name = cluster.list::<IPBlock>()?[0].metadata.name.clone().context("no name")?;
    cluster.change::<IPBlock>(&name, &json!({ "metadata": { "finalizers": null } }))?;
    cluster.delete::<IPBlock>(&name)?;
    cluster.delete::<Node>("n1")?;
    agents[1].want(cluster, &pool, 2)?;
    let mut operator = cluster.operator(&clock)?;
    cluster.drive(&mut operator, "the quarantine and a grant", || {
        agents[1].step(cluster)?;
        let block = cluster.get::<IPBlock>(&name)?;
        ensure!(
            block.as_ref().is_none_or(|block| block.spec.node_name == "n1"),
            "granted without a quarantine"
        );
        let status = block.and_then(|block| block.status);
        let waits = status.is_some_and(|status| status.reason.as_deref() == Some("NodeGone"));
        Ok((waits && agents[1].ledger.len() == 1).then_some(()))
    })?;
    clock.advance(3599);
    passes(cluster, &mut operator);
    ensure!(cluster.list::<IPBlock>()?.len() == 2, "the quarantine was cut short");
    clock.advance(1);
    settle(cluster, &mut operator, &mut agents[1..], 2)?;
    cluster.drive(&mut operator, "the node to be forgotten", || {
        Ok(cluster.get::<NodeIPAM>("n1")?.is_none().then_some(()))
    })
}

fn adopted(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (mut operator, mut agents) = one(cluster, &clock)?;
    cluster.delete::<Node>("n1")?;
    until_quarantined(cluster, &mut operator, "NodeGone")?;
    let node = cluster.host("n1", "machine1", 1)?;
    agents[0].identity = TestAgent::new(&node)?.identity;
    agents[0].say(cluster)?;
    cluster.drive(&mut operator, "the adoption", || {
        let block = cluster.list::<IPBlock>()?.pop().and_then(|block| block.status);
        let adopted =
            block.filter(|status| status.phase.is_empty()).and_then(|status| status.adopted_node_uid);
        Ok((adopted == node.metadata.uid).then_some(()))
    })?;
    clock.advance(1_000_000);
    passes(cluster, &mut operator);
    settle(cluster, &mut operator, &mut agents, 1)
}

fn attested(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (mut operator, _agents) = one(cluster, &clock)?;
    let taint = json!({ "spec": { "taints": [{ "key": "node.kubernetes.io/out-of-service", "effect": "NoExecute" }] } });
    cluster.change::<Node>("n1", &taint)?;
    until_quarantined(cluster, &mut operator, "OutOfService")?;
    clock.advance(14);
    passes(cluster, &mut operator);
    ensure!(phase(cluster)?.is_some(), "freed before a minute was over");
    clock.advance(46);
    cluster.drive(&mut operator, "the block to go", || Ok(phase(cluster)?.is_none().then_some(())))
}

fn replaced(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (mut operator, agents) = one(cluster, &clock)?;
    let held = agents[0].ledger.clone();
    cluster.delete::<Node>("n1")?;
    // The replacement overwrites everything in NodeIPAM, and a cloned disk says the same as the old machine.
    let mut clone = TestAgent::new(&cluster.host("n1", "machine2", 2)?)?;
    clone.ledger = held;
    clone.say(cluster)?;
    until_quarantined(cluster, &mut operator, "MachineReplaced")?;
    clock.advance(900);
    passes(cluster, &mut operator);
    ensure!(phase(cluster)? == quarantined("MachineReplaced"), "{:?}", phase(cluster)?);
    Ok(())
}

fn without_end(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    let reads = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reads);
    proxy.choose(move |request| {
        let is_read = !request.is_write() && request.path.contains("/nodes/n1");
        seen.fetch_add(usize::from(is_read), Ordering::Relaxed);
        ProxyFault::Pass
    });
    let (mut operator, agents) = one_through(cluster, &cluster.client_through(&proxy)?, &clock)?;
    cluster.change::<AddressPool>("two", &json!({ "spec": { "nodeGoneQuarantineSeconds": -1 } }))?;
    cluster.delete::<Node>("n1")?;
    until_quarantined(cluster, &mut operator, "NodeGone")?;
    let before = reads.load(Ordering::Relaxed);
    ensure!(before > 0, "a quarantine without a read of the Node");
    for _ in 0..5 {
        clock.advance(1_000_000);
        passes(cluster, &mut operator);
    }
    ensure!(reads.load(Ordering::Relaxed) == before, "a block that waits costs calls");
    ensure!(phase(cluster)? == quarantined("NodeGone"), "{:?}", phase(cluster)?);
    // The word about another Node of that name says nothing.
    let fenced = |uid: &str| json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } });
    cluster.change::<NodeIPAM>("n1", &fenced("00000000-0000-4000-8000-0000000000ff"))?;
    passes(cluster, &mut operator);
    ensure!(phase(cluster)? == quarantined("NodeGone"), "{:?}", phase(cluster)?);
    cluster.change::<NodeIPAM>("n1", &fenced(&agents[0].identity.uid.to_string()))?;
    cluster.drive(&mut operator, "the block to go", || Ok(phase(cluster)?.is_none().then_some(())))
}

fn back(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let (mut operator, mut agents) = one(cluster, &clock)?;
    let returned = |operator: &mut TestOperator| {
        cluster.drive(operator, "the return", || {
            Ok((phase(cluster)? == Some((String::new(), None))).then_some(()))
        })
    };
    // An attestation that was wrong: while it stands, the agent's word does not count.
    let taint = json!({ "spec": { "taints": [{ "key": "node.kubernetes.io/out-of-service", "effect": "NoExecute" }] } });
    cluster.change::<Node>("n1", &taint)?;
    until_quarantined(cluster, &mut operator, "OutOfService")?;
    agents[0].say(cluster)?;
    passes(cluster, &mut operator);
    ensure!(phase(cluster)? == quarantined("OutOfService"), "{:?}", phase(cluster)?);
    cluster.change::<Node>("n1", &json!({ "spec": { "taints": null } }))?;
    returned(&mut operator)?;
    // A machine that was rebooted after its Node was deleted has its blocks again, also if it does not say that it holds them.
    cluster.delete::<Node>("n1")?;
    until_quarantined(cluster, &mut operator, "NodeGone")?;
    let held = std::mem::take(&mut agents[0].ledger);
    agents[0].say(cluster)?;
    agents[0].identity = TestAgent::new(&cluster.host("n1", "machine1", 99)?)?.identity;
    returned(&mut operator)?;
    agents[0].ledger = held;
    agents[0].say(cluster)?;
    settle(cluster, &mut operator, &mut agents, 1)
}

fn returned(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let pool = cluster.pool("four", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    // No agent runs there, so a pause would not end before its time.
    cluster.host("n3", "machine3", 1)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    let uid = agents[0].identity.uid.to_string();
    cluster
        .change::<Node>("n1", &json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } }))?;
    cluster.drive(&mut operator, "the block to go", || Ok(phase(cluster)?.is_none().then_some(())))?;
    // The machine is up again, with its ledger. No time passes.
    cluster.change::<Node>(
        "n1",
        &json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": null } } }),
    )?;
    agents[1].want(cluster, &pool, 1)?;
    cluster.drive(&mut operator, "the lease of one and a grant to the other", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let blocks = cluster.list::<IPBlock>()?;
        let names: std::collections::BTreeSet<_> =
            blocks.iter().map(|block| block.spec.node_name.as_str()).collect();
        Ok((names.len() == 2 && agents[1].ledger.len() == 1).then_some(()))
    })
}

fn cloned(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("two", "10.0.0.0/25", 26, &json!({}))?;
    let nodes = [cluster.host("n1", "clone", 1)?, cluster.host("n2", "clone", 2)?];
    let mut agents = nodes.iter().map(TestAgent::new).collect::<anyhow::Result<Vec<_>>>()?;
    let mut operator = cluster.operator(&clock)?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 1)?;
    }
    settle(cluster, &mut operator, &mut agents, 2)?;
    cluster.delete::<Node>("n1")?;
    let phases = || -> anyhow::Result<Vec<(String, String)>> {
        let blocks = cluster.list::<IPBlock>()?;
        let phase =
            |block: &IPBlock| block.status.as_ref().map(|status| status.phase.clone()).unwrap_or_default();
        Ok(blocks.iter().map(|block| (block.spec.node_name.clone(), phase(block))).collect())
    };
    cluster.drive(&mut operator, "the quarantine of one", || {
        let mut phases = phases()?;
        phases.sort();
        let one = [("n1".to_owned(), "Quarantined".to_owned()), ("n2".to_owned(), String::new())];
        Ok((phases == one).then_some(()))
    })?;
    clock.advance(3600);
    cluster.drive(&mut operator, "the end of one", || {
        Ok((phases()? == [("n2".to_owned(), String::new())]).then_some(()))
    })
}

/// The seconds of quarantine that the only block has.
fn elapsed(cluster: &Cluster) -> anyhow::Result<i64> {
    let block = cluster.list::<IPBlock>()?.pop().context("the quarantine is over")?;
    Ok(block.status.map_or(0, |status| status.elapsed_seconds))
}

/// Waits until the operator's watch shows the only block in quarantine, with so many seconds.
fn until_seen(cluster: &Cluster, operator: &mut TestOperator, seconds: u64) -> anyhow::Result<()> {
    cluster.until("the watch to show the quarantine", || {
        let (seen, _) = cluster.runtime.block_on(operator.operator.decide()).unwrap_or_default();
        let block = seen.blocks.first().map(|view| &view.block);
        let is_it =
            |block: &IpBlock| block.phase == BlockPhase::Quarantined && block.elapsed_seconds == seconds;
        Ok(block.is_some_and(is_it).then_some(()))
    })?;
    passes(cluster, operator);
    Ok(())
}

fn lost_answers(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    proxy.choose(|request| match request.is_write() && request.path.contains("/ipblocks/") {
        true => ProxyFault::LoseReply,
        false => ProxyFault::Pass,
    });
    let (mut operator, mut agents) = one_through(cluster, &cluster.client_through(&proxy)?, &clock)?;
    cluster.delete::<Node>("n1")?;
    until_quarantined(cluster, &mut operator, "NodeGone")?;
    until_seen(cluster, &mut operator, 0)?;
    clock.advance(900);
    cluster.drive(&mut operator, "a quarter", || Ok((elapsed(cluster)? == 900).then_some(())))?;
    until_seen(cluster, &mut operator, 900)?;
    clock.advance(899);
    passes(cluster, &mut operator);
    ensure!(elapsed(cluster)? == 900, "{} seconds counted after 1799", elapsed(cluster)?);
    // The machine comes back, and its Node is deleted again much later.
    let node = cluster.host("n1", "machine1", 1)?;
    agents[0].identity = TestAgent::new(&node)?.identity;
    agents[0].say(cluster)?;
    let leased = Some((String::new(), None));
    cluster.drive(&mut operator, "the return", || Ok((phase(cluster)? == leased).then_some(())))?;
    clock.advance(100_000);
    cluster.delete::<Node>("n1")?;
    until_quarantined(cluster, &mut operator, "NodeGone")?;
    until_seen(cluster, &mut operator, 0)?;
    clock.advance(899);
    passes(cluster, &mut operator);
    ensure!(elapsed(cluster)? == 0, "{} seconds counted after 899", elapsed(cluster)?);
    Ok(())
}
