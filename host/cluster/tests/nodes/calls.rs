//! The calls that the life of a pod costs the API server. whereabouts makes four writes and as many reads for an ADD, and the same for a DEL.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_fixtures::control_plane::ADMIN_TOKEN;
use tenure_fixtures::control_plane::proxy::ProxyFault;
use tenure_fixtures::node::metrics;
use tenure_fixtures::wait;
use tenure_runtime::fake::FakeRuntime;

use crate::Test;
use crate::node::{CreatedPod, Node};
use crate::pods::{delete, events};
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] =
    &[("calls::a_pod_costs_no_call_and_one_without_a_del_costs_an_event_and_few_reads", counted)];

/// The node's name.
const NODE: &str = "frugal";

/// Makes a pod in the API server, bound to the node.
fn created(world: &World, name: &str) -> anyhow::Result<CreatedPod> {
    let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
    let pod: Pod = serde_json::from_value(
        json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec }),
    )?;
    let api: Api<Pod> = Api::namespaced(world.client.clone(), "default");
    let made = world.runtime.block_on(call(api.create(&PostParams::default(), &pod)))?;
    Ok(CreatedPod { name: name.to_owned(), uid: made.metadata.uid.context("no uid")? })
}

fn counted(world: &mut World) -> anyhow::Result<()> {
    let proxy = world.plane.proxy()?;
    let calls = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&calls);
    proxy.choose(move |request| {
        if !request.is_watch() {
            let path = request.path.split('?').next().unwrap_or_default();
            let mut calls = heard.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(format!("{} {path}", request.method));
        }
        ProxyFault::Pass
    });
    let node = Node::prepare(NODE, &proxy.kubeconfig(ADMIN_TOKEN)?)?;
    let socket = node.daemon.path("cri.sock");
    node.append(&format!("[runtime]\nsocket = \"{}\"\ngrace_seconds = 1\n", socket.display()))?;
    let runtime = world.runtime.block_on(async { FakeRuntime(vec!["other"]).serve(&socket) });
    world.join(node)?;
    let node = world.nodes.last().unwrap();
    // The node has said what it holds.
    wait::holds("the node's word about its block", LIMIT, || {
        Ok(world.node_object(NODE)?.is_some_and(|object| object.spec.held.len() == 1))
    })?;
    let of = |method: &str, part: &str| -> Vec<String> {
        let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().filter(|call| call.starts_with(method) && call.contains(part)).cloned().collect()
    };
    let before = of("PATCH", "/nodeipams/").len();
    for number in 0..5 {
        let pod = created(world, &format!("life-{number}"))?;
        node.call_for(&pod, "ADD")?.address()?;
        node.call_for(&pod, "DEL")?.silent()?;
        delete(world, &pod.name)?;
    }
    let leaked = created(world, "leaked")?;
    node.call_for(&leaked, "ADD")?.address()?;
    delete(world, &leaked.name)?;
    wait::holds("the event of the freed address", LIMIT, || {
        Ok(events(world, &leaked.uid)? == ["AddressReclaimed"])
    })?;
    runtime.abort();
    ensure!(node.addresses()?.is_empty());
    ensure!(of("", "/pods/life-").is_empty(), "{:?}", of("", "/pods/life-"));
    ensure!((1..=3).contains(&of("GET", "/pods/leaked").len()), "{:?}", of("GET", "/pods/leaked"));
    ensure!(of("POST", "").len() == 1 && of("POST", "/events").len() == 1, "{:?}", of("POST", ""));
    let after = of("PATCH", "").len();
    ensure!(after == before, "{} writes of the node's object", after - before);
    // A daemon that starts again says at once all that it said before.
    let node = world.nodes.last_mut().unwrap();
    node.daemon.kill()?;
    node.daemon.launch()?;
    let page = node.daemon.path("metrics.sock");
    wait::holds("the first words after the start", LIMIT, || {
        let page = metrics::read(&page).unwrap_or_default();
        let written = page.lines().find_map(|line| line.strip_prefix("tenure_cluster_writes_total "));
        Ok(written.is_some_and(|count| count != "0"))
    })?;
    let said = world.node_object(NODE)?.context("no object")?.spec;
    ensure!(said.held.len() == 1 && said.pools.len() == 1, "{said:?}");
    let after = of("PATCH", "/nodeipams/").len();
    ensure!(after == before + 1, "{} writes of the node's object", after - before);
    Ok(())
}
