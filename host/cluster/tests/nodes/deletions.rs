//! Many pods of a node that are deleted at once, and whose DELs never come.
//!
//! Each costs two reads at least, and all of them share the bucket of a hundred and of ten more each second: a test run deletes as many as it ends with
//! in about a minute. `TENURE_DELETIONS` sets another number, such as 10000, which takes forty minutes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_fixtures::control_plane::ADMIN_TOKEN;
use tenure_fixtures::control_plane::proxy::{FaultProxy, ProxyFault};
use tenure_fixtures::node::Attachment;
use tenure_fixtures::wait;
use tokio::time::Instant;

use crate::Test;
use crate::pods::{PodNode, delete, pods};
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] =
    &[("deletions::pods_that_are_deleted_at_once_are_each_freed_once_at_the_buckets_pace", at_once)];

/// The number of pods, if the environment does not say another one.
const USUAL: usize = 140;

/// Calls that are under way at once.
const WORKERS: usize = 8;

/// The longest that questions may wait for their turn after they have taken of the bucket, in seconds.
const LOOK_SECONDS: f64 = 10.0;

/// The bucket: what it holds, and what comes to it each second.
const BURST: f64 = 100.0;
const EACH_SECOND: f64 = 10.0;

/// The node.
const NODE: &str = "magenta";

/// Reads of pods and writes of events, as they passed.
#[derive(Default)]
struct Heard {
    reads: Vec<(Instant, String)>,
    events: usize,
}

fn count() -> anyhow::Result<usize> {
    match std::env::var("TENURE_DELETIONS") {
        Ok(count) => count.parse().with_context(|| format!("TENURE_DELETIONS={count} is not a number")),
        Err(_) => Ok(USUAL),
    }
}

fn listen(proxy: &FaultProxy) -> Arc<Mutex<Heard>> {
    let all = Arc::<Mutex<Heard>>::default();
    let heard = Arc::clone(&all);
    proxy.choose(move |request| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        if request.method == "GET" && request.path.contains("/pods/") {
            let name = request.path.split('?').next().and_then(|path| path.rsplit('/').next());
            heard.reads.push((Instant::now(), name.unwrap_or_default().to_owned()));
        }
        if request.method == "POST" && request.path.contains("/events") {
            heard.events += 1;
        }
        ProxyFault::Pass
    });
    all
}

/// A pod in the API server, bound to the node; its name and uid.
async fn create(api: Api<Pod>, number: usize) -> anyhow::Result<(String, String)> {
    let name = format!("many-{number}");
    let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
    let metadata = json!({ "name": name, "labels": { "of": "many" } });
    let pod: Pod = serde_json::from_value(json!({ "metadata": metadata, "spec": spec }))?;
    let made = call(api.create(&PostParams::default(), &pod)).await?;
    Ok((name, made.metadata.uid.context("no uid")?))
}

/// Makes the pods, and adds them as a runtime does.
fn add(world: &World, node: &PodNode, count: usize) -> anyhow::Result<()> {
    let made = stream::iter(0..count).map(|number| create(pods(world), number));
    let made: Vec<(String, String)> = world.runtime.block_on(made.buffer_unordered(WORKERS).try_collect())?;
    let part = count.div_ceil(WORKERS).max(1);
    std::thread::scope(|scope| {
        let add = |(name, uid): &(String, String)| {
            let attachment = Attachment::of(format!("c-{name}"));
            node.attach(name, uid, &attachment, "10.100.0.0/16")?.result().map(drop)
        };
        let parts = made.chunks(part).map(|part| scope.spawn(move || part.iter().try_for_each(add)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().try_for_each(|part| part.join().unwrap())
    })
}

/// Deletes the pods while the node's watch is held back, so that it shows all of it at once.
fn delete_all(world: &World, proxy: &FaultProxy) -> anyhow::Result<()> {
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    let all = ListParams::default().labels("of=many");
    proxy.hold_watches(true);
    wait::holds("the pods to be deleted", LIMIT * 4, || {
        // The API server ends a request after a minute, and this one may be longer.
        let _ = world.runtime.block_on(pods(world).delete_collection(&now, &all));
        Ok(world.runtime.block_on(call(pods(world).list(&all.clone().limit(1))))?.items.is_empty())
    })?;
    proxy.hold_watches(false);
    Ok(())
}

/// The allocations that the daemon says it has freed as leaked, by their owners.
fn freed(node: &PodNode) -> anyhow::Result<Vec<String>> {
    let log = std::fs::read_to_string(node.daemon.path("tenured.log"))?;
    let lines = log.lines().filter(|line| line.contains("freed the leaked allocation"));
    let owner = |line: &str| line.split("owner=").nth(1)?.split_whitespace().next().map(str::to_owned);
    lines.map(|line| owner(line).with_context(|| line.to_owned())).collect()
}

/// Expects that no more questions were asked than the bucket has. Those of a look may wait for as long as the look takes; so many more may then come at
/// once.
fn within_bucket(reads: &[(Instant, String)]) -> anyhow::Result<()> {
    let most = BURST + EACH_SECOND * LOOK_SECONDS;
    let (mut left, mut before) = (most, None);
    for (number, (at, _)) in reads.iter().enumerate() {
        let gained = before.map_or(0.0, |before| at.duration_since(before).as_secs_f64() * EACH_SECOND);
        left = (left + gained).min(most) - 1.0;
        before = Some(*at);
        ensure!(left >= 0.0, "question {number} of {} is beyond the bucket", reads.len());
    }
    Ok(())
}

fn at_once(world: &mut World) -> anyhow::Result<()> {
    let count = count()?;
    let proxy = world.plane.proxy()?;
    let heard = listen(&proxy);
    let node = PodNode::start_through(world, NODE, &proxy.kubeconfig(ADMIN_TOKEN)?, 1, vec!["c-living"])?;
    node.add(world, "living", "c-living")?;
    add(world, &node, count)?;
    ensure!(node.containers()?.len() == count + 1);
    let begin = Instant::now();
    delete_all(world, &proxy)?;
    let limit = LIMIT + Duration::from_secs(u64::try_from(count)?);
    // A pod that is missed has its address; one that is freed is forgotten a minute later.
    wait::holds("the pods to be missed", LIMIT, || Ok(node.figure("tenure_pods_missing")? > 0))?;
    wait::holds("no pod to be missed any more", limit, || Ok(node.figure("tenure_pods_missing")? == 0))?;
    ensure!(node.containers()? == ["c-living"], "{:?}", node.containers()?);
    let freed = freed(&node)?;
    let owners: BTreeSet<&String> = freed.iter().collect();
    ensure!(freed.len() == count && owners.len() == count, "{} of {count} were freed", freed.len());
    wait::holds("an event on each pod, or its count among the lost ones", LIMIT, || {
        let lost = node.figure("tenure_pods_events_lost_total")?;
        let written = heard.lock().unwrap_or_else(PoisonError::into_inner).events;
        Ok(written + usize::try_from(lost)? >= count)
    })?;
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |name: &str| heard.reads.iter().filter(|(_, read)| read == name).count();
    ensure!((0..count).all(|number| of(&format!("many-{number}")) >= 2), "a pod was read less than twice");
    ensure!(of("living") == 0, "the watch has it");
    let took = heard.reads.last().map(|(last, _)| last.duration_since(begin).as_secs());
    println!("{count} pods: {} reads in {} s", heard.reads.len(), took.unwrap_or_default());
    within_bucket(&heard.reads)?;
    delete(world, "living")
}
