//! Spaces: no two ranges of a group overlap, whoever asks.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::json;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_leases::TurnState;
use tenure_operator::reports::Reports;
use tenure_operator::writes::OperatorWrite;

use crate::Test;
use crate::claims::{active, bound, claim, say};
use crate::clock::TestClock;
use crate::cluster::Cluster;
use crate::distrust::strip;
use crate::grants::{agents, settle};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("spaces::the_younger_of_two_overlapping_pools_waits_until_the_older_is_gone", overlap),
    ("spaces::equal_ranges_of_two_groups_are_two_things", groups),
    ("spaces::a_node_has_equal_addresses_of_one_group_alone", one_node),
    ("spaces::a_range_that_was_taken_out_drains_and_goes", removed),
    ("spaces::a_block_that_its_node_never_accepted_goes_with_its_range", unaccepted),
    ("spaces::a_range_that_was_taken_out_by_mistake_serves_again", put_back),
    ("spaces::a_range_stays_while_a_node_holds_a_block_of_it_whose_lease_is_lost", held),
    ("spaces::a_pool_made_again_with_another_size_is_safe_from_a_leader_that_has_not_heard_of_it", recreated),
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

fn one_node(cluster: &Cluster) -> anyhow::Result<()> {
    let one = cluster.pool("one", "10.0.0.0/26", 26, &json!({}))?;
    let two = cluster.pool("two", "10.0.0.0/25", 26, &json!({ "overlapGroup": "other" }))?;
    let more = json!({ "overlapGroup": "third", "usage": "Claims" });
    let names = cluster.pool("names", "10.0.0.0/29", 32, &more)?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &one, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    agents[0].want(cluster, &names, 0)?;
    agents[0].want(cluster, &two, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    let mut held: Vec<String> = agents[0].usable().collect();
    held.sort();
    ensure!(held == ["10.0.0.0/26", "10.0.0.64/26"], "{held:?}");
    // The address of a claim goes to another node that wants it.
    claim(cluster, "db-0", &json!({}))?;
    let (_, block) = bound(cluster, &mut operator, "db-0")?;
    say(cluster, &mut agents[0], &block, 1, TurnState::Wanted)?;
    say(cluster, &mut agents[1], &block, 2, TurnState::Wanted)?;
    cluster.drive(&mut operator, "the turn of the node without the address", || {
        Ok((active(cluster, &block)?.as_deref() == Some("n2")).then_some(()))
    })?;
    cluster.drive(&mut operator, "the reasons", || {
        let status = cluster.get::<NodeIPAM>("n1")?.and_then(|said| said.status).unwrap_or_default();
        let waits: Vec<String> =
            status.waiting.iter().map(|entry| format!("{} {}", entry.pool, entry.reason)).collect();
        Ok((waits == ["names AddressesHeld", "two AddressesHeld"]).then_some(()))
    })
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

fn unaccepted(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("emptied", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 1)?;
    // The node is slow, and sees its block only after the range was closed.
    cluster.drive(
        &mut operator,
        "the grant",
        || Ok((cluster.list::<IPBlock>()?.len() == 1).then_some(())),
    )?;
    cluster.change::<AddressPool>("emptied", &json!({ "spec": { "ipv4": { "cidrs": [] } } }))?;
    cluster.drive(&mut operator, "the closed range", || {
        let space: AddressSpace = cluster.get("default")?.unwrap();
        Ok(space.spec.ranges.iter().all(|range| range.state == "Closed").then_some(()))
    })?;
    cluster.drive(&mut operator, "block and range to go", || {
        agents[0].step(cluster)?;
        ensure!(referee(&agents)? == 0, "a block of a closed range was accepted");
        let space: AddressSpace = cluster.get("default")?.unwrap();
        Ok((cluster.list::<IPBlock>()?.is_empty() && space.spec.ranges.is_empty()).then_some(()))
    })
}

fn put_back(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("mistaken", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut operator = cluster.operator(&Arc::default())?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)?;
    let range = || -> anyhow::Result<Option<(String, String)>> {
        let space = cluster.get::<AddressSpace>("default")?;
        let range = space.and_then(|space| space.spec.ranges.into_iter().next());
        Ok(range.map(|range| (range.id, range.state)))
    };
    let before = range()?;
    let mut change = |cidrs: serde_json::Value, state: &str| {
        cluster.change::<AddressPool>("mistaken", &json!({ "spec": { "ipv4": { "cidrs": cidrs } } }))?;
        cluster.drive(&mut operator, state, || {
            agents[0].step(cluster)?;
            Ok(range()?.is_some_and(|(_, is)| is == state).then_some(()))
        })
    };
    change(json!([]), "Closed")?;
    change(json!(["10.0.0.0/24"]), "Open")?;
    ensure!(range()? == before, "another range: {:?}", range()?);
    // Nothing moves, and there is room again.
    agents[0].want(cluster, &pool, 3)?;
    settle(cluster, &mut operator, &mut agents, 3)?;
    cluster.drive(&mut operator, "the pool to serve", || {
        let allocatable = cluster.condition("mistaken", "Allocatable")?;
        Ok(allocatable.is_some_and(|(status, _)| status == "True").then_some(()))
    })
}

fn held(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let old = cluster.pool("old", "10.0.0.0/26", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &old, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    agents[0].use_addresses("10.0.0.0/26", 1)?;
    // Another pool waits for the addresses, with blocks of another size.
    let young = cluster.pool("young", "10.0.0.0/26", 27, &json!({}))?;
    agents[1].want(cluster, &young, 1)?;
    let overlaps = Some(("False".to_owned(), "RangeOverlap".to_owned()));
    let cidrs = json!({ "spec": { "ipv4": { "cidrs": ["10.1.0.0/26"] } } });
    cluster.change::<AddressPool>("old", &cidrs)?;
    cluster.drive(&mut operator, "the range to be closed", || {
        let space = cluster.get::<AddressSpace>("default")?;
        let mut ranges = space.into_iter().flat_map(|space| space.spec.ranges);
        let closed = ranges.any(|range| range.state == "Closed");
        Ok((closed && cluster.condition("young", "Allocatable")? == overlaps).then_some(()))
    })?;
    let lost: IPBlock = cluster.get("default.10-0-0-0.26")?.unwrap();
    strip(cluster, "default.10-0-0-0.26")?;
    cluster.drive(&mut operator, "the lease to be made again", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        referee(&agents)?;
        ensure!(agents[1].ledger.is_empty(), "addresses that a node holds were given to another");
        clock.advance(30);
        let again = cluster.get::<IPBlock>("default.10-0-0-0.26")?;
        Ok(again.filter(|again| again.metadata.uid != lost.metadata.uid).map(|_| ()))
    })?;
    ensure!(cluster.condition("young", "Allocatable")? == overlaps);
    // The node gives it back once no address of it is in use, and then the other pool has its range.
    cluster.drive(&mut operator, "the younger pool's block", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        referee(&agents)?;
        clock.advance(30);
        if agents[0].usable().any(|cidr| cidr.starts_with("10.1.")) {
            // It may have gone by now.
            let _ = agents[0].use_addresses("10.0.0.0/26", 0);
        }
        Ok(agents[1].usable().any(|cidr| cidr.ends_with("/27")).then_some(()))
    })
}

fn recreated(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = Arc::default();
    let old = cluster.pool("resized", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    let client = cluster.client_through(&proxy)?;
    let mut stale = cluster.operator_with(&client, &clock, Reports::default())?;
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &old, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    // It sees the pool, its range, and a node that wants two blocks more; then it sees nothing.
    agents[1].want(cluster, &old, 2)?;
    let grants = cluster.until("grants of the stale leader", || {
        let decided = cluster.runtime.block_on(stale.operator.decide());
        let mut writes = decided.map(|(_, writes)| writes).unwrap_or_default();
        writes.retain(|write| matches!(write, OperatorWrite::Grant(_)));
        Ok((writes.len() == 2).then_some(writes))
    })?;
    proxy.hold_watches(true);
    agents[1].forget_demand();
    agents[1].say(cluster)?;
    cluster.delete::<AddressPool>("resized")?;
    cluster.drive(&mut operator, "the pool to go", || {
        agents[0].step(cluster)?;
        Ok(cluster.get::<AddressPool>("resized")?.is_none().then_some(()))
    })?;
    let new = cluster.pool("resized", "10.0.0.0/24", 25, &json!({}))?;
    for agent in &mut agents {
        agent.forget_demand();
        agent.want(cluster, &new, 1)?;
    }
    cluster.drive(&mut operator, "the new range", || {
        let space: Option<AddressSpace> = cluster.get("default")?;
        Ok(space.is_some_and(|space| space.spec.ranges.len() == 1).then_some(()))
    })?;
    // The late grants of the old pool: their names are free, and no agent uses them.
    for write in grants {
        cluster.runtime.block_on(stale.operator.perform(write))?;
    }
    ensure!(cluster.list::<IPBlock>()?.iter().filter(|block| block.spec.cidr.ends_with("/26")).count() == 2);
    settle(cluster, &mut operator, &mut agents, 2)?;
    ensure!(agents.iter().all(|agent| agent.usable().all(|cidr| cidr.ends_with("/25"))));
    proxy.hold_watches(false);
    cluster.drive(&mut operator, "the late grants to come back", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        referee(&agents)?;
        Ok((cluster.list::<IPBlock>()?.len() == 2).then_some(()))
    })
}
