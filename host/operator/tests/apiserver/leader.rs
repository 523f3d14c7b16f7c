//! A deposed leader: its late writes fail.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use tenure_cluster::IPBlock;
use tenure_cluster::client::connect_with;
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, kubelets_node};
use tenure_leases::agent::ledger::LeaseHold;
use tenure_operator::leadership::{Election, StoreDoubt};
use tenure_operator::reports::Reports;
use tenure_operator::writes::{BlockChange, OperatorWrite};
use tenure_supervise::Gate;
use tokio::time::timeout;

use crate::Test;
use crate::clock::TestClock;
use crate::cluster::Cluster;
use crate::grants::{agents, ready, settle};
use crate::referee::referee;

pub(crate) const TESTS: &[Test] = &[
    ("leader::a_late_delete_fails_once_the_mark_was_taken_back", late_delete),
    ("leader::an_operator_goes_on_after_an_hour_without_the_api_server", outage),
    ("leader::a_list_and_a_watch_that_fall_silent_are_begun_again", silence),
    ("leader::a_lease_is_taken_after_its_holder_was_silent_by_ones_own_clock", election),
    ("leader::a_lease_that_a_living_store_would_not_have_stops_the_grants_of_its_taker", doubtful),
    ("leader::an_api_server_that_still_runs_shows_that_no_backup_was_put_back", same_server),
    ("leader::a_list_of_the_api_servers_that_is_not_answered_costs_no_lease", unlisted),
];

fn late_delete(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("short", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut deposed = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 4)?;
    settle(cluster, &mut deposed, &mut agents, 4)?;
    agents[0].want(cluster, &pool, 3)?;
    agents[0].idle = vec![agents[0].ledger[3].uid];
    // Up to the moment at which it has read mark and answer.
    let delete = cluster.until("the decision to delete", || {
        agents[0].step(cluster)?;
        let (_, writes) = cluster.runtime.block_on(deposed.operator.decide()).context("no decisions")?;
        for write in writes {
            if matches!(write, OperatorWrite::Block(_, _, _, BlockChange::Delete)) {
                return Ok(Some(write));
            }
            // The agent may have written in between.
            let _ = cluster.runtime.block_on(deposed.operator.perform(write));
        }
        Ok(None)
    })?;
    // Its successor hears that the node needs the block, and takes the mark back; pods start there.
    agents[0].idle.clear();
    agents[0].want(cluster, &pool, 4)?;
    let mut successor = cluster.operator(&clock)?;
    settle(cluster, &mut successor, &mut agents, 4)?;
    ensure!(agents[0].ledger.iter().all(|row| row.hold == LeaseHold::Open), "{:?}", agents[0].ledger);
    let cidr = agents[0].ledger[3].cidr.to_string();
    agents[0].use_addresses(&cidr, 1)?;
    let late = cluster.runtime.block_on(deposed.operator.perform(delete));
    let error = late.err().context("the late delete succeeded")?;
    ensure!(error.is_conflict(), "{error}");
    let blocks = cluster.list::<IPBlock>()?;
    ensure!(blocks.len() == 4 && blocks.iter().all(|block| block.metadata.deletion_timestamp.is_none()));
    settle(cluster, &mut successor, &mut agents, 4)?;
    referee(&agents)?;
    Ok(())
}

fn outage(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("short", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 2)?;
    let clock = Arc::default();
    let mut operator = cluster.operator(&clock)?;
    agents[0].want(cluster, &pool, 4)?;
    settle(cluster, &mut operator, &mut agents, 4)?;
    agents[0].idle = vec![agents[0].ledger[3].uid];
    agents[0].want(cluster, &pool, 3)?;
    cluster.drive(&mut operator, "a mark", || {
        let blocks = cluster.list::<IPBlock>()?;
        let marked =
            blocks.iter().any(|block| block.status.as_ref().is_some_and(|status| status.mark.is_some()));
        Ok(marked.then_some(()))
    })?;
    let versions = |blocks: Vec<IPBlock>| -> Vec<Option<String>> {
        blocks.into_iter().map(|block| block.metadata.resource_version).collect()
    };
    let before = versions(cluster.list()?);
    cluster.without_server(|| {
        for minute in 1..=60 {
            clock.advance(60);
            // A pod comes each minute, and every other one ends.
            agents[0].give();
            ensure!(agents[0].given.len() > minute / 2, "an address was not to be had");
            if minute % 2 == 0 {
                agents[0].free(0);
            }
            // Once the watches are interrupted, there is no pass.
            let result = cluster.runtime.block_on(operator.operator.pass()).unwrap_or_default();
            ensure!(result.written == 0, "a write was confirmed without an API server");
        }
        Ok(())
    })?;
    ensure!(versions(cluster.list()?) == before, "an error of the API server changed a block");
    // The release ends, and the block goes to the other node.
    agents[1].want(cluster, &pool, 1)?;
    cluster.drive(&mut operator, "the block to go over", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        referee(&agents)?;
        Ok((agents[1].ledger.len() == 1 && agents[0].ledger.len() == 3).then_some(()))
    })
}

fn election(cluster: &Cluster) -> anyhow::Result<()> {
    let clock: Arc<TestClock> = Arc::default();
    let elect = |name: &str| {
        let gate = Gate::default();
        let election =
            Election::new(cluster.client.clone(), "kube-system", name, Arc::clone(&clock) as _, gate.clone());
        (election, gate)
    };
    let leads = |gate: &Gate| cluster.runtime.block_on(timeout(Duration::ZERO, gate.passed())).is_ok();
    let ((mut first, one), (mut second, two)) = (elect("first"), elect("second"));
    cluster.runtime.block_on(first.look())?;
    cluster.runtime.block_on(second.look())?;
    ensure!(leads(&one) && !leads(&two), "not the first one leads");
    clock.advance(9);
    cluster.runtime.block_on(first.look())?;
    clock.advance(9);
    cluster.runtime.block_on(second.look())?;
    clock.advance(14);
    cluster.runtime.block_on(second.look())?;
    ensure!(!leads(&two), "the Lease was taken from a leader that had renewed it");
    clock.advance(1);
    cluster.runtime.block_on(second.look())?;
    ensure!(leads(&two), "the Lease of a silent leader was not taken");
    let lost = cluster.runtime.block_on(first.look());
    ensure!(lost.is_err(), "a deposed leader believes that it leads");
    Ok(())
}

fn doubtful(cluster: &Cluster) -> anyhow::Result<()> {
    let elect = |name: &str, clock: &Arc<TestClock>, doubt: &StoreDoubt| {
        let clock = Arc::clone(clock) as _;
        let election = Election::new(cluster.client.clone(), "default", name, clock, Gate::default());
        election.telling(doubt.clone())
    };
    let raised = |election: &mut Election, doubt: &StoreDoubt| -> anyhow::Result<bool> {
        cluster.runtime.block_on(election.look())?;
        Ok(doubt.take())
    };
    let (clock, later) = (Arc::<TestClock>::default(), TestClock::days_ahead(1));
    let (first, second) = (StoreDoubt::default(), StoreDoubt::default());
    let mut leader = elect("first", &clock, &first);
    ensure!(!raised(&mut leader, &first)?, "the first leader of all");
    clock.advance(2);
    ensure!(!raised(&mut leader, &first)?, "its own renewal");
    // As after a restore: the Lease has a renewal of long ago.
    let old = json!({ "spec": { "renewTime": "2020-01-01T00:00:00.000000Z" } });
    let api: Api<Lease> = Api::namespaced(cluster.client.clone(), "default");
    let (name, patch) = ("tenure-operator", Patch::Merge(&old));
    cluster.runtime.block_on(api.patch(name, &PatchParams::default(), &patch))?;
    ensure!(raised(&mut leader, &first)?, "its renewal is gone from the store");
    // A successor within the minute hears of the pause that is under way, by the Lease.
    cluster.runtime.block_on(leader.look())?;
    let mut successor = elect("second", &clock, &second);
    cluster.runtime.block_on(successor.look())?;
    clock.advance(15);
    ensure!(raised(&mut successor, &second)?, "the pause of its predecessor is forgotten");
    second.pauses(false);
    clock.advance(2);
    ensure!(!raised(&mut successor, &second)?, "a pause that is over");
    // One that finds a Lease of yesterday, and its operator.
    let pool = cluster.pool("late", "10.0.0.0/24", 26, &json!({}))?;
    // No agent runs under another operating system, so nothing waits for one.
    let mut other = kubelets_node("other", "machine9", "00000000-0000-4000-8000-000000000009");
    other["status"]["nodeInfo"]["operatingSystem"] = json!("windows");
    cluster.create::<Node>(&serde_json::from_value(other)?)?;
    let mut agents = agents(cluster, 2)?;
    agents[0].want(cluster, &pool, 1)?;
    let mut operator = cluster.operator(&later)?;
    let doubt = operator.operator.doubt();
    let mut third = elect("third", &later, &doubt);
    cluster.runtime.block_on(third.look())?;
    later.advance(15);
    cluster.runtime.block_on(third.look())?;
    cluster.drive(&mut operator, "the pause", || {
        agents[0].step(cluster)?;
        ensure!(cluster.list::<IPBlock>()?.is_empty(), "granted from a store that may be a backup");
        Ok((ready(cluster, "n1")?.as_deref() == Some("OperatorWaits")).then_some(()))
    })?;
    // The other node has not spoken. When it has, nothing can be lost any more.
    agents[1].say(cluster)?;
    settle(cluster, &mut operator, &mut agents, 1)
}

fn same_server(cluster: &Cluster) -> anyhow::Result<()> {
    let clock = TestClock::of_today();
    let own: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-public");
    let of_servers: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-system");
    let label = ListParams::default().labels("apiserver.kubernetes.io/identity=kube-apiserver");
    let server = |before: &str| {
        cluster.until("the API server's Lease", || {
            let found = cluster.runtime.block_on(of_servers.list(&label))?.items.pop();
            let holder = found.and_then(|lease| lease.spec?.holder_identity);
            Ok(holder.filter(|holder| holder != before))
        })
    };
    let elect = |name: &str, doubt: &StoreDoubt| {
        let (client, clock) = (cluster.client.clone(), Arc::clone(&clock) as _);
        Election::new(client, "kube-public", name, clock, Gate::default()).telling(doubt.clone())
    };
    // As if the Lease had been left alone for years.
    let age = || -> anyhow::Result<()> {
        let old = Patch::Merge(json!({ "spec": { "renewTime": "2020-01-01T00:00:00.000000Z" } }));
        cluster.runtime.block_on(own.patch("tenure-operator", &PatchParams::default(), &old))?;
        Ok(())
    };
    let before = server("")?;
    cluster.runtime.block_on(elect("first", &StoreDoubt::default()).look())?;
    age()?;
    let pool = cluster.pool("early", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    // No agent runs there, so a pause would not end before its time.
    cluster.host("n2", "machine2", 1)?;
    agents[0].want(cluster, &pool, 1)?;
    let mut operator = cluster.operator(&clock)?;
    let mut second = elect("second", &operator.operator.doubt());
    cluster.runtime.block_on(second.look())?;
    clock.advance(15);
    cluster.runtime.block_on(second.look())?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    // Another process of the API server may serve a backup.
    age()?;
    cluster.without_server(|| Ok(()))?;
    server(&before)?;
    let doubt = StoreDoubt::default();
    let mut third = elect("third", &doubt);
    cluster.runtime.block_on(third.look())?;
    clock.advance(15);
    cluster.runtime.block_on(third.look())?;
    ensure!(doubt.take(), "any API server will do");
    Ok(())
}

fn unlisted(cluster: &Cluster) -> anyhow::Result<()> {
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    proxy.choose(|request| match request.path.contains("/kube-system/leases") {
        true => ProxyFault::Delay(Duration::from_secs(3600)),
        false => ProxyFault::Pass,
    });
    let (client, clock, leading) = (cluster.client_through(&proxy)?, TestClock::of_today(), Gate::default());
    let renewed = || -> anyhow::Result<_> {
        let own: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-node-lease");
        Ok(cluster.runtime.block_on(own.get("tenure-operator"))?.spec.and_then(|spec| spec.renew_time))
    };
    let mut election =
        Election::new(client, "kube-node-lease", "unlisted", Arc::clone(&clock) as _, leading.clone());
    cluster.runtime.block_on(election.look())?;
    cluster
        .runtime
        .block_on(timeout(Duration::from_secs(1), leading.passed()))
        .context("it does not lead")?;
    let first = renewed()?;
    // The next look at the API servers is due, too.
    clock.advance(120);
    cluster.runtime.block_on(election.look())?;
    ensure!(renewed()? > first, "the Lease was not renewed");
    Ok(())
}

fn silence(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("silent", "10.0.0.0/24", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    // The first list of each kind never comes to an end: not a byte arrives.
    let mut seen = std::collections::BTreeSet::new();
    proxy.choose(move |request| {
        let kind = request.path.split('?').next().unwrap_or_default().to_owned();
        if seen.insert(kind) { ProxyFault::Delay(Duration::from_secs(3600)) } else { ProxyFault::Pass }
    });
    let kubeconfig = proxy.kubeconfig(ADMIN_TOKEN)?;
    let silence = Duration::from_secs(1);
    let client = cluster.runtime.block_on(connect_with(Some(&kubeconfig), silence))?;
    let mut operator = cluster.operator_with(&client, &Arc::default(), Reports::default())?;
    agents[0].want(cluster, &pool, 1)?;
    settle(cluster, &mut operator, &mut agents, 1)?;
    // The watches stay open, and say nothing of what happens.
    proxy.hold_watches(true);
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut operator, &mut agents, 2)
}
