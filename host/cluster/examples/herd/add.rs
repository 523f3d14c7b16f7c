//! ADDs on the node of a cluster and on a node without one, in turns, and the memory of both daemons.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tenure_cluster::AddressPool;
use tenure_cluster::client::call;
use tenure_fixtures::control_plane::kubelets_node;
use tenure_fixtures::node::{Attachment, Daemon};
use tenure_fixtures::wait;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::Failure;
use crate::operator::resident;

/// The longest that the node may wait for its block.
const LIMIT: Duration = Duration::from_secs(60);

/// The daemon's configuration, without what the cluster adds. Both networks have 1,024 addresses.
const ALONE: &str =
    "[networks.pods]\nipam = { type = \"tenure\", ranges = [[{ subnet = \"10.77.0.0/22\" }]] }\n";

/// A daemon, and the times of its ADDs.
struct MeasuredNode {
    daemon: Daemon,
    times: Vec<Duration>,
}

impl MeasuredNode {
    fn start(config: &str) -> anyhow::Result<Self> {
        let mut daemon = Daemon::prepare()?;
        daemon.configure(config)?;
        daemon.start_again()?;
        Ok(Self { daemon, times: Vec::new() })
    }

    /// Adds and deletes a pod; notes the time of the ADD.
    fn add(&mut self, pod: &str) -> anyhow::Result<()> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        let (shim, attachment) = (self.daemon.shim()?, Attachment::of(pod));
        let began = Instant::now();
        let outcome = shim.call("ADD", &attachment, &config)?;
        self.times.push(began.elapsed());
        outcome.address()?;
        shim.call("DEL", &attachment, &config)?.silent()
    }

    fn median(&mut self) -> f64 {
        self.times.sort();
        self.times.get(self.times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64) * 1e6
    }

    fn memory(&self) -> Result<f64, Failure> {
        resident(self.daemon.pid()?.as_raw_nonzero().get().unsigned_abs())
    }
}

/// Measures so many ADDs on each node.
pub(crate) fn measure(
    runtime: &Runtime,
    client: &Client,
    kubeconfig: &Path,
    adds: usize,
) -> Result<Value, Failure> {
    let (name, boot) = ("measured", std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?);
    let pool = json!({ "ipv4": { "cidrs": ["10.80.0.0/20"], "blockPrefix": 22 }, "cooldownSeconds": 0 });
    let pool = AddressPool::new("pods", serde_json::from_value(pool)?);
    runtime.block_on(call(Api::all(client.clone()).create(&PostParams::default(), &pool)))?;
    let node: Node = serde_json::from_value(kubelets_node(name, name, boot.trim()))?;
    runtime.block_on(call(Api::all(client.clone()).create(&PostParams::default(), &node)))?;
    let mut joined = MeasuredNode::start(&format!(
        "[node]\nname = \"{name}\"\nmachine_id = \"{name}\"\nsystem_uuid = \"firmware of {name}\"\n\
         [cluster]\nnetworks = {{ pods = [\"pods\"] }}\nkubeconfig = \"{}\"\n\
         [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = [\"pods\"] }}\n",
        kubeconfig.display()
    ))?;
    let mut alone = MeasuredNode::start(ALONE)?;
    wait::holds("the node to have its block", LIMIT, || Ok(joined.add("first").is_ok()))?;
    joined.times.clear();
    for number in 0..adds {
        // Each is first as often as second: what one leaves to the disk, the other may wait for.
        let mut nodes = [&mut alone, &mut joined];
        nodes.rotate_left(number % 2);
        for node in nodes {
            node.add(&format!("pod-{number}")).context("an ADD")?;
        }
    }
    let memory = (alone.memory()?, joined.memory()?);
    let (alone, joined) = (alone.median(), joined.median());
    Ok(json!({
        "adds": adds,
        "add_alone_us": alone, "add_joined_us": joined,
        "daemon_alone_megabytes": memory.0, "daemon_joined_megabytes": memory.1,
    }))
}
