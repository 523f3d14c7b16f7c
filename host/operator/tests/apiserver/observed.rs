//! Events, and the start-up taint.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, IPBlock};
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_operator::reports::{EventSender, Reports};
use tenure_supervise::Interruptible as _;
use tenure_types::Clock;
use tokio::task::JoinHandle;

use crate::Test;
use crate::agent::TestAgent;
use crate::clock::TestClock;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, ready, settle};

pub(crate) const TESTS: &[Test] = &[
    ("observed::each_cause_is_an_event_once_an_hour", events),
    ("observed::events_that_the_api_server_refuses_are_counted_and_hold_nothing_up", refused_events),
    ("observed::the_start_up_taint_goes_once_the_node_has_its_blocks", taint),
    ("observed::the_start_up_taint_goes_although_another_pool_grants_the_node_nothing", other_pools),
];

/// An operator whose events are sent; aborted when it is dropped.
struct Observed {
    operator: TestOperator,
    reports: Reports,
    sender: JoinHandle<()>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.sender.abort();
    }
}

fn observed(cluster: &Cluster, client: &kube::Client, clock: &Arc<TestClock>) -> anyhow::Result<Observed> {
    let (reports, queue) = Reports::new();
    let wall: Arc<dyn Clock> = Arc::clone(clock) as _;
    let mut sender = EventSender::new(queue, client.clone(), wall, "test");
    let sender = cluster.runtime.spawn(async move { sender.work().await });
    let operator = cluster.operator_with(client, clock, reports.clone())?;
    Ok(Observed { operator, reports, sender })
}

/// The events there are: their notes by reason.
fn told(cluster: &Cluster) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), "default");
    let events = cluster.runtime.block_on(call(api.list(&ListParams::default())))?.items;
    let mut told = BTreeMap::<String, Vec<String>>::new();
    for event in events.into_iter().filter(|event| event.reporting_instance.as_deref() == Some("test")) {
        told.entry(event.reason.unwrap_or_default()).or_default().push(event.note.unwrap_or_default());
    }
    Ok(told)
}

fn forget(cluster: &Cluster) -> anyhow::Result<()> {
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), "default");
    cluster
        .runtime
        .block_on(call(api.delete_collection(&DeleteParams::default(), &ListParams::default())))?;
    Ok(())
}

/// Drives everything until there are so many events of a reason, and returns their notes.
fn until_told(
    cluster: &Cluster,
    observed: &mut Observed,
    agents: &mut [TestAgent],
    reason: &str,
    count: usize,
) -> anyhow::Result<Vec<String>> {
    cluster.drive(&mut observed.operator, reason, || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let told = told(cluster)?;
        let notes = told.get(reason).cloned().unwrap_or_default();
        ensure!(notes.len() <= count, "{reason} was told {} times: {notes:?}", notes.len());
        Ok((notes.len() == count).then_some(notes))
    })
}

fn events(cluster: &Cluster) -> anyhow::Result<()> {
    forget(cluster)?;
    let clock: Arc<TestClock> = Arc::default();
    let pool = cluster.pool("told", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 3)?;
    let mut observed = observed(cluster, &cluster.client, &clock)?;
    agents[0].want(cluster, &pool, 1)?;
    agents[1].want(cluster, &pool, 1)?;
    let leased = until_told(cluster, &mut observed, &mut agents, "BlockLeased", 2)?;
    ensure!(leased.iter().all(|note| note.contains("of pool told is leased to node n")), "{leased:?}");
    agents[2].want(cluster, &pool, 1)?;
    let exhausted = until_told(cluster, &mut observed, &mut agents, "PoolExhausted", 1)?;
    ensure!(exhausted[0].contains("n3 among them"), "{exhausted:?}");
    cluster.pool("other", "10.0.0.0/25", 26, &json!({}))?;
    until_told(cluster, &mut observed, &mut agents, "PoolOverlap", 1)?;
    // Attestations, by their names.
    let taint = json!({ "spec": { "taints": [{ "key": "node.kubernetes.io/out-of-service", "effect": "NoExecute" }] } });
    cluster.change::<Node>("n1", &taint)?;
    let fenced = until_told(cluster, &mut observed, &mut agents[1..], "NodeFenced", 1)?;
    ensure!(fenced[0].contains("the taint node.kubernetes.io/out-of-service"), "{fenced:?}");
    let uid = agents[1].identity.uid.to_string();
    cluster
        .change::<Node>("n2", &json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } }))?;
    let fenced = until_told(cluster, &mut observed, &mut agents[2..], "NodeFenced", 2)?;
    let named = format!("the annotation ipam.tenure.dev/fenced={uid}");
    ensure!(fenced.iter().any(|note| note.contains(&named)), "{fenced:?}");
    until_told(cluster, &mut observed, &mut agents[2..], "BlockQuarantined", 2)?;
    until_told(cluster, &mut observed, &mut agents[2..], "BlockReleased", 1)?;
    // The same again, many times, is told no more within the hour.
    let before = told(cluster)?;
    for _ in 0..10 {
        cluster.runtime.block_on(observed.operator.operator.pass());
    }
    let text = observed.reports.metrics.exposition(clock.monotonic());
    ensure!(
        text.contains("tenure_operator_events_total{reason=\"PoolOverlap\",outcome=\"repeated\"}"),
        "{text}"
    );
    let after = told(cluster)?;
    ensure!(before["PoolOverlap"] == after["PoolOverlap"] && after["PoolExhausted"].len() == 1, "{after:?}");
    Ok(())
}

fn refused_events(cluster: &Cluster) -> anyhow::Result<()> {
    forget(cluster)?;
    let clock: Arc<TestClock> = Arc::default();
    let proxy = cluster.with_plane(|plane| plane.proxy())?;
    proxy.choose(|request| match request.path.contains("/events") {
        true => ProxyFault::Refuse(503),
        false => ProxyFault::Pass,
    });
    let client = cluster.client_through(&proxy)?;
    let pool = cluster.pool("quiet", "10.0.0.0/25", 26, &json!({}))?;
    let mut agents = agents(cluster, 1)?;
    let mut observed = observed(cluster, &client, &clock)?;
    agents[0].want(cluster, &pool, 2)?;
    settle(cluster, &mut observed.operator, &mut agents, 2)?;
    let failed = "tenure_operator_events_total{reason=\"BlockLeased\",outcome=\"failed\"} 2";
    cluster.until("the count", || {
        Ok(observed.reports.metrics.exposition(clock.monotonic()).contains(failed).then_some(()))
    })?;
    // Nothing repeats them.
    let requests = proxy.requests();
    for _ in 0..5 {
        cluster.runtime.block_on(observed.operator.operator.pass());
    }
    ensure!(told(cluster)?.is_empty(), "{:?}", told(cluster)?);
    ensure!(proxy.requests() <= requests + 5, "{} requests at rest", proxy.requests() - requests);
    Ok(())
}

/// The keys of a Node's taints.
fn keys(cluster: &Cluster, node: &str) -> anyhow::Result<Vec<String>> {
    let node: Node = cluster.get(node)?.context("no node")?;
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    Ok(taints.into_iter().map(|taint| taint.key).collect())
}

fn taint(cluster: &Cluster) -> anyhow::Result<()> {
    let mut agents = agents(cluster, 3)?;
    let taints = json!({ "spec": { "taints": [
        { "key": "ipam.tenure.dev/not-ready", "effect": "NoSchedule" },
        { "key": "somebody/else", "value": "kept", "effect": "NoSchedule" },
    ] } });
    let keys = |node: &str| keys(cluster, node);
    for node in ["n1", "n2", "n3"] {
        cluster.change::<Node>(node, &taints)?;
    }
    let mut operator = cluster.operator(&Arc::default())?;
    // The chart comes before its pools: there is nothing yet that an agent could want.
    agents[0].say(cluster)?;
    cluster.drive(&mut operator, "no demand", || {
        Ok((ready(cluster, "n1")?.as_deref() == Some("NoDemand")).then_some(()))
    })?;
    // A pool for claims alone has no block for anybody.
    let names = cluster.pool("names", "10.60.0.0/29", 32, &json!({ "usage": "Claims" }))?;
    agents[2].want(cluster, &names, 0)?;
    cluster.drive(&mut operator, "the taint of a node without blocks to go", || {
        Ok((keys("n3")? == ["somebody/else"]).then_some(()))
    })?;
    ensure!(keys("n1")?.len() == 2, "the taint went before there was a pool");
    let pool = cluster.pool("started", "10.0.0.0/25", 26, &json!({}))?;
    agents[0].want(cluster, &pool, 1)?;
    cluster.drive(
        &mut operator,
        "the lease",
        || Ok((cluster.list::<IPBlock>()?.len() == 1).then_some(())),
    )?;
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(keys("n1")?.len() == 2, "the taint went before the agent held its block");
    cluster.drive(&mut operator, "the taint to go", || {
        agents[0].step(cluster)?;
        Ok((keys("n1")? == ["somebody/else"]).then_some(()))
    })?;
    ensure!(keys("n2")?.len() == 2, "the taint of a node without an agent went");
    // A node that loses its readiness later keeps its pods.
    cluster.delete::<AddressPool>("started")?;
    for _ in 0..5 {
        agents[0].step(cluster)?;
        cluster.runtime.block_on(operator.operator.pass());
    }
    ensure!(keys("n1")? == ["somebody/else"], "the taint was put back");
    Ok(())
}

fn other_pools(cluster: &Cluster) -> anyhow::Result<()> {
    let pool = cluster.pool("zone-a", "10.0.0.0/24", 26, &json!({}))?;
    let selector = json!({ "nodeSelector": { "matchLabels": { "zone": "b" } } });
    let others = [
        ("n1", cluster.pool("zone-b", "10.1.0.0/26", 26, &selector)?, "Satisfied"),
        ("n2", cluster.pool("off", "10.2.0.0/26", 26, &json!({ "disabled": true }))?, "Satisfied"),
        (
            "n3",
            cluster.pool("full", "10.3.0.0/26", 26, &json!({ "exclusions": [{ "cidr": "10.3.0.0/26" }] }))?,
            "PoolExhausted",
        ),
    ];
    let mut agents = agents(cluster, 3)?;
    let taints =
        json!({ "spec": { "taints": [{ "key": "ipam.tenure.dev/not-ready", "effect": "NoSchedule" }] } });
    for (agent, (node, other, _)) in agents.iter_mut().zip(&others) {
        cluster.change::<Node>(node, &taints)?;
        agent.want(cluster, other, 1)?;
    }
    let mut operator = cluster.operator(&Arc::default())?;
    cluster.drive(&mut operator, "all refusals", || {
        let reasons = ["n1", "n2", "n3"].map(|node| ready(cluster, node).ok().flatten());
        let reasons = reasons.map(Option::unwrap_or_default);
        Ok((reasons == ["NotAdmitted", "PoolClosed", "PoolExhausted"]).then_some(()))
    })?;
    for agent in &mut agents {
        agent.want(cluster, &pool, 1)?;
    }
    cluster
        .drive(&mut operator, "the leases", || Ok((cluster.list::<IPBlock>()?.len() == 3).then_some(())))?;
    for _ in 0..5 {
        cluster.runtime.block_on(operator.operator.pass());
    }
    for (node, ..) in &others {
        ensure!(keys(cluster, node)?.len() == 1, "the taint of {node} went before the agent held its block");
    }
    cluster.drive(&mut operator, "the taints to go", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        for (node, _, reason) in &others {
            if !keys(cluster, node)?.is_empty() || ready(cluster, node)?.as_deref() != Some(*reason) {
                return Ok(None);
            }
        }
        Ok(Some(()))
    })?;
    let exhausted = cluster.condition("zone-b", "Exhausted")?;
    ensure!(exhausted == Some(("False".into(), "BlocksFree".into())), "{exhausted:?}");
    Ok(())
}
