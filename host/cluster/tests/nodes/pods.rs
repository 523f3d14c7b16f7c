//! The API server's word about pods, beside a runtime that lists what the test says. In all of these the daemon cannot see the pods' network
//! namespaces, as on a node where they are mounted out of its sight.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::node::{Attachment, Daemon, metrics};
use tenure_fixtures::wait;
use tenure_runtime::fake::FakeRuntime;
use tokio::task::AbortHandle;

use crate::Test;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("pods::a_pod_without_its_sandbox_gives_its_address_back_and_a_living_one_keeps_its_own", reclaimed),
    ("pods::a_pod_that_was_deleted_by_force_and_runs_on_keeps_its_address", forced),
    ("pods::a_pod_that_has_finished_keeps_its_address_until_its_sandbox_is_gone", finished),
];

/// A daemon whose only network has ranges of its own, and which asks the API server about its pods.
pub(crate) struct PodNode {
    name: &'static str,
    pub(crate) daemon: Daemon,
    socket: PathBuf,
    runtime: AbortHandle,
}

impl Drop for PodNode {
    fn drop(&mut self) {
        self.runtime.abort();
    }
}

impl PodNode {
    pub(crate) fn start(
        world: &World,
        name: &'static str,
        listed: Vec<&'static str>,
    ) -> anyhow::Result<Self> {
        Self::start_with(world, name, 1, listed)
    }

    /// The same with another grace period, in seconds.
    pub(crate) fn start_with(
        world: &World,
        name: &'static str,
        grace: u32,
        listed: Vec<&'static str>,
    ) -> anyhow::Result<Self> {
        Self::start_through(world, name, &world.kubeconfig, grace, listed)
    }

    /// The same with another way to the API server.
    pub(crate) fn start_through(
        world: &World,
        name: &'static str,
        kubeconfig: &Path,
        grace: u32,
        listed: Vec<&'static str>,
    ) -> anyhow::Result<Self> {
        let mut daemon = Daemon::prepare()?;
        let socket = daemon.path("cri.sock");
        daemon.configure(&format!(
            "[node]\nname = \"{name}\"\n[cluster]\npods = true\nkubeconfig = \"{}\"\n\
             [runtime]\nsocket = \"{}\"\ngrace_seconds = {grace}\n[metrics]\nlisten = \"unix:{}\"\n",
            kubeconfig.display(),
            socket.display(),
            daemon.path("metrics.sock").display()
        ))?;
        let runtime = world.runtime.block_on(async { FakeRuntime(listed).serve(&socket) });
        daemon.launch()?;
        Ok(Self { name, daemon, socket, runtime })
    }

    /// From now on, the runtime lists these sandboxes.
    pub(crate) fn list(&mut self, world: &World, listed: Vec<&'static str>) -> anyhow::Result<()> {
        self.runtime.abort();
        std::fs::remove_file(&self.socket)?;
        self.runtime = world.runtime.block_on(async { FakeRuntime(listed).serve(&self.socket) });
        Ok(())
    }

    /// Makes a pod in the API server, bound to the node, and adds it as a runtime does; returns its uid.
    pub(crate) fn add(&self, world: &World, pod: &str, container: &str) -> anyhow::Result<String> {
        let uid = self.create(world, pod)?;
        self.attach(pod, &uid, &Attachment::of(container), "10.95.0.0/24")?.result()?;
        Ok(uid)
    }

    /// Makes a pod in the API server, bound to the node; returns its uid.
    pub(crate) fn create(&self, world: &World, pod: &str) -> anyhow::Result<String> {
        let spec = json!({ "nodeName": self.name, "containers": [{ "name": "main", "image": "none" }] });
        let object: Pod = serde_json::from_value(json!({ "metadata": { "name": pod }, "spec": spec }))?;
        let made = world.runtime.block_on(call(pods(world).create(&PostParams::default(), &object)))?;
        made.metadata.uid.context("no uid")
    }

    /// Adds an attachment of a pod to a network of its own with one range, as a runtime does.
    pub(crate) fn attach(
        &self,
        pod: &str,
        uid: &str,
        attachment: &Attachment,
        subnet: &str,
    ) -> anyhow::Result<Outcome> {
        let config = json!({
            "cniVersion": "1.1.0", "name": "pods",
            "ipam": { "type": "tenure", "ranges": [[{ "subnet": subnet }]] },
        });
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod};K8S_POD_UID={uid};K8S_POD_INFRA_CONTAINER_ID={}",
            attachment.container
        );
        self.daemon.shim()?.env("CNI_ARGS", &arguments).call("ADD", attachment, &config)
    }

    /// The containers that have addresses.
    pub(crate) fn containers(&self) -> anyhow::Result<Vec<String>> {
        let allocations = self.daemon.allocations("pods")?;
        let container = |allocation: &Value| allocation["container_id"].as_str().map(str::to_owned);
        allocations.iter().map(|allocation| container(allocation).context("no container")).collect()
    }

    /// A number of the daemon's metrics.
    pub(crate) fn figure(&self, name: &str) -> anyhow::Result<u64> {
        let page = metrics::read(&self.daemon.path("metrics.sock"))?;
        let found = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(found.with_context(|| format!("{name} is not among the metrics"))?.parse()?)
    }

    /// The kinds of what `tenurectl check` finds.
    fn findings(&self) -> anyhow::Result<Vec<String>> {
        let output = self.daemon.ctl_output(&["check"])?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        Ok(findings.iter().filter_map(|finding| Some(finding["kind"].as_str()?.to_owned())).collect())
    }
}

pub(crate) fn pods(world: &World) -> Api<Pod> {
    Api::default_namespaced(world.client.clone())
}

pub(crate) fn delete(world: &World, pod: &str) -> anyhow::Result<()> {
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    world.runtime.block_on(call(pods(world).delete(pod, &now)))?;
    Ok(())
}

/// The reasons of the events on a pod.
pub(crate) fn events(world: &World, uid: &str) -> anyhow::Result<Vec<String>> {
    let api: Api<Event> = Api::default_namespaced(world.client.clone());
    let all = world.runtime.block_on(call(api.list(&ListParams::default())))?.items;
    let of_pod = all
        .into_iter()
        .filter(|event| event.regarding.as_ref().and_then(|regarding| regarding.uid.as_deref()) == Some(uid));
    Ok(of_pod.filter_map(|event| event.reason).collect())
}

/// whereabouts #176 and #207: living pods lost their addresses to its clean-up.
fn reclaimed(world: &mut World) -> anyhow::Result<()> {
    let mut node = PodNode::start(world, "violet", vec!["other"])?;
    let ended = node.add(world, "ended", "c-ended")?;
    let living = node.add(world, "living", "c-living")?;
    let finished = node.add(world, "finished", "c-finished")?;
    // The kubelet has made another sandbox of the pod, after one that was lost without a DEL.
    let replaced = node.add(world, "replaced", "c-replaced")?;
    node.list(world, vec!["other", format!("late@{replaced}").leak()])?;
    ensure!(node.containers()?.len() == 4);
    succeed(world, "finished")?;
    delete(world, "ended")?;
    wait::holds("the addresses without a sandbox to be free", LIMIT, || {
        Ok(node.containers()? == ["c-living"])
    })?;
    for uid in [ended, finished, replaced] {
        wait::holds("the event on the pod", LIMIT, || Ok(events(world, &uid)? == ["AddressReclaimed"]))?;
    }
    ensure!(node.containers()? == ["c-living"], "{:?}", node.containers()?);
    ensure!(events(world, &living)?.is_empty());
    ["living", "finished", "replaced"].into_iter().try_for_each(|pod| delete(world, pod))
}

fn forced(world: &mut World) -> anyhow::Result<()> {
    let mut node = PodNode::start(world, "indigo", vec!["c-forced"])?;
    let uid = node.add(world, "forced", "c-forced")?;
    delete(world, "forced")?;
    wait::holds("the finding", LIMIT, || Ok(node.findings()? == ["pod-gone"]))?;
    ensure!(node.containers()? == ["c-forced"], "it runs on, and keeps its address");
    node.list(world, vec![])?;
    wait::holds("the address to be free", LIMIT, || Ok(node.containers()?.is_empty()))?;
    wait::holds("the event on the pod", LIMIT, || Ok(events(world, &uid)? == ["AddressReclaimed"]))
}

/// A Job's pod, say: the API server has it, and its sandbox stays for a while.
fn finished(world: &mut World) -> anyhow::Result<()> {
    let mut node = PodNode::start(world, "crimson", vec!["c-done"])?;
    node.add(world, "done", "c-done")?;
    succeed(world, "done")?;
    wait::holds("the finding", LIMIT, || Ok(node.findings()? == ["pod-gone"]))?;
    // That another address is freed proves that the daemon has looked twice.
    node.add(world, "passes", "c-passes")?;
    delete(world, "passes")?;
    wait::holds("the other address to be free", LIMIT, || Ok(node.containers()? == ["c-done"]))?;
    node.list(world, vec![])?;
    wait::holds("the address to be free", LIMIT, || Ok(node.containers()?.is_empty()))?;
    delete(world, "done")
}

/// Ends a pod's containers, as its kubelet says.
fn succeed(world: &World, pod: &str) -> anyhow::Result<()> {
    let status = Patch::Merge(json!({ "status": { "phase": "Succeeded" } }));
    let patch = PatchParams::default();
    world.runtime.block_on(call(pods(world).patch_status::<Value>(pod, &patch, &status)))?;
    Ok(())
}
