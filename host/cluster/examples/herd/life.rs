//! The calls of the API server that pods cost a node, and how soon the address of a pod without a DEL is free.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_fixtures::control_plane::proxy::{FaultProxy, ProxyFault};
use tenure_fixtures::control_plane::{ADMIN_TOKEN, kubelets_node};
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::node::{Attachment, Daemon};
use tenure_fixtures::wait;
use tenure_runtime::fake::FakeRuntime;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::Failure;

/// The longest that anything may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The node's name.
const NODE: &str = "living";

/// The grace period of its runtime.
const GRACE: Duration = Duration::from_secs(3);

/// Pods that end without a DEL, one after the other.
const LEAKS: u32 = 3;

/// The numbers of calls, without the watches.
#[derive(Default)]
struct CallCounts {
    reads: AtomicU64,
    writes: AtomicU64,
}

impl CallCounts {
    fn now(&self) -> (u64, u64) {
        (self.reads.load(Ordering::Relaxed), self.writes.load(Ordering::Relaxed))
    }
}

/// A node, and the way to its API server.
struct LivingNode<'a> {
    runtime: &'a Runtime,
    client: &'a Client,
    daemon: Daemon,
}

/// Measures the lives of so many pods.
pub(crate) fn measure(
    runtime: &Runtime,
    client: &Client,
    proxy: &FaultProxy,
    pods: usize,
) -> Result<Value, Failure> {
    let counts = Arc::<CallCounts>::default();
    let counted = Arc::clone(&counts);
    proxy.choose(move |request| {
        if !request.is_watch() {
            let of = if request.is_write() { &counted.writes } else { &counted.reads };
            of.fetch_add(1, Ordering::Relaxed);
        }
        ProxyFault::Pass
    });
    let node = LivingNode::start(runtime, client, proxy)?;
    let before = counts.now();
    for number in 0..pods {
        let name = format!("life-{number}");
        let uid = node.create(&name)?;
        node.call("ADD", &name, &uid)?.address()?;
        node.call("DEL", &name, &uid)?.silent()?;
        node.delete(&name)?;
    }
    let lived = counts.now();
    let mut slowest = Duration::ZERO;
    for number in 0..LEAKS {
        let name = format!("leak-{number}");
        let uid = node.create(&name)?;
        node.call("ADD", &name, &uid)?.address()?;
        node.delete(&name)?;
        let began = Instant::now();
        wait::holds("the address to be free", LIMIT, || Ok(node.daemon.allocations("pods")?.is_empty()))?;
        slowest = slowest.max(began.elapsed());
    }
    let leaked = counts.now();
    let each = |count: u64, of: f64| count as f64 / of;
    let (pods, leaks) = (pods as f64, f64::from(LEAKS));
    Ok(json!({
        "reads_per_pod": each(lived.0 - before.0, pods), "writes_per_pod": each(lived.1 - before.1, pods),
        "reads_per_leak": each(leaked.0 - lived.0, leaks), "writes_per_leak": each(leaked.1 - lived.1, leaks),
        "leak_seconds": slowest.as_secs_f64(), "grace_seconds": GRACE.as_secs_f64(),
    }))
}

impl<'a> LivingNode<'a> {
    /// Starts a node with blocks of the pool `pods`, and waits until it says that it has one.
    fn start(runtime: &'a Runtime, client: &'a Client, proxy: &FaultProxy) -> anyhow::Result<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let node: Node = serde_json::from_value(kubelets_node(NODE, NODE, boot.trim()))?;
        runtime.block_on(call(Api::all(client.clone()).create(&PostParams::default(), &node)))?;
        let mut daemon = Daemon::prepare()?;
        let socket = daemon.path("cri.sock");
        daemon.configure(&format!(
            "[node]\nname = \"{NODE}\"\nmachine_id = \"{NODE}\"\nsystem_uuid = \"firmware of {NODE}\"\n\
             [cluster]\nnetworks = {{ pods = [\"pods\"] }}\nkubeconfig = \"{}\"\nwrite_seconds = 1\n\
             [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = [\"pods\"] }}\n\
             [runtime]\nsocket = \"{}\"\ngrace_seconds = {}\n",
            proxy.kubeconfig(ADMIN_TOKEN)?.display(),
            socket.display(),
            GRACE.as_secs()
        ))?;
        let _serves = runtime.block_on(async { FakeRuntime(vec!["another"]).serve(&socket) });
        daemon.start_again()?;
        let node = Self { runtime, client, daemon };
        wait::holds("the node's word about its block", LIMIT, || {
            let said: Api<tenure_cluster::NodeIPAM> = Api::all(client.clone());
            let said = runtime.block_on(call(said.get_opt(NODE)))?;
            Ok(said.is_some_and(|said| !said.spec.held.is_empty()))
        })?;
        Ok(node)
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Makes a pod; returns its uid.
    fn create(&self, name: &str) -> anyhow::Result<String> {
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
        let pod: Pod = serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec }))?;
        let made = self.runtime.block_on(call(self.pods().create(&PostParams::default(), &pod)))?;
        made.metadata.uid.context("no uid")
    }

    fn delete(&self, name: &str) -> anyhow::Result<()> {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.runtime.block_on(call(self.pods().delete(name, &now)))?;
        Ok(())
    }

    /// Calls the plugin as a runtime does.
    fn call(&self, verb: &str, name: &str, uid: &str) -> anyhow::Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={name};K8S_POD_UID={uid};K8S_POD_INFRA_CONTAINER_ID={name}"
        );
        self.daemon.shim()?.env("CNI_ARGS", &arguments).call(verb, &Attachment::of(name), &config)
    }
}
