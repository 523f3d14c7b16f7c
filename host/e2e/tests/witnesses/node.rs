//! A daemon and a containerd whose DELs can be lost, beside an API server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::containerd::{Containerd, Pod, PodName};
use tenure_e2e::{Daemon, wait};

use crate::LIMIT;
use crate::cluster::{Cluster, NODE};

/// A node with both witnesses.
pub(crate) struct WitnessedNode {
    /// Before the daemon that watches it.
    pub(crate) containerd: Containerd,
    daemon: Daemon,
    pub(crate) cluster: Cluster,
    /// The uids of pods, and how many sandboxes each has had.
    pods: BTreeMap<String, (String, u32)>,
    /// The file whose existence keeps DELs from the daemon.
    deaf: PathBuf,
    passed: u32,
}

impl WitnessedNode {
    /// Starts all three.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let cluster = Cluster::start()?;
        let mut daemon = Daemon::prepare()?;
        let plugins = daemon.plugin_directory(&["tenure"])?;
        let deaf = daemon.path("deaf");
        // A runtime whose plugin is gone, or whose DEL nobody hears: for it, the pod's network is torn down.
        let (plugin, real) = (plugins.join("tenure"), plugins.join("tenure.real"));
        fs::rename(&plugin, &real)?;
        let script = format!(
            "#!/bin/sh\n[ \"$CNI_COMMAND\" = DEL ] && [ -e {} ] && exit 0\nexec {} \"$@\"\n",
            deaf.display(),
            real.display()
        );
        fs::write(&plugin, script)?;
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755))?;
        let ipam = json!({ "type": "tenure", "socket": daemon.socket(), "ranges": [[{ "subnet": "10.64.0.0/24" }]] });
        let bridge = json!({ "type": "bridge", "bridge": "br0", "isGateway": true, "ipam": ipam });
        let network = json!({ "cniVersion": "1.0.0", "name": "pods", "plugins": [bridge] });
        let containerd = Containerd::start(&plugins, &network)?;
        daemon.configure(&format!(
            "[node]\nname = \"{NODE}\"\n[cluster]\npods = true\nkubeconfig = \"{}\"\n\
             [runtime]\nsocket = \"{}\"\ngrace_seconds = 1\n",
            cluster.server.kubeconfig()?.display(),
            containerd.socket().display()
        ))?;
        daemon.launch()?;
        Ok(Self { containerd, daemon, cluster, pods: BTreeMap::new(), deaf, passed: 0 })
    }

    /// Makes a pod in the API server, and starts its sandbox.
    pub(crate) async fn run(&mut self, name: &str) -> anyhow::Result<Pod> {
        let uid = self.cluster.create(name)?;
        self.pods.insert(name.to_owned(), (uid, 0));
        self.sandbox(name).await
    }

    /// Starts another sandbox of a pod, as a kubelet does after one that was lost.
    pub(crate) async fn run_once_more(&mut self, name: &str) -> anyhow::Result<Pod> {
        self.pods.get_mut(name).context("no such pod")?.1 += 1;
        self.sandbox(name).await
    }

    async fn sandbox(&self, name: &str) -> anyhow::Result<Pod> {
        let (uid, attempt) = self.pods.get(name).context("no such pod")?;
        let pod = PodName { namespace: "default", name, uid, attempt: *attempt };
        self.containerd.connect().await?.run_as(pod, LIMIT).await
    }

    /// Has containerd remove a sandbox without a DEL.
    pub(crate) async fn lose(&self, pod: &Pod) -> anyhow::Result<()> {
        fs::write(&self.deaf, "")?;
        let removed = self.remove(pod).await;
        fs::remove_file(&self.deaf)?;
        removed
    }

    /// Ends a pod as a kubelet does.
    pub(crate) async fn end(&self, pod: &Pod, name: &str) -> anyhow::Result<()> {
        self.remove(pod).await?;
        self.cluster.delete(name)?;
        ensure!(!self.containers()?.contains(&pod.id), "its DEL came, and it has its address");
        Ok(())
    }

    async fn remove(&self, pod: &Pod) -> anyhow::Result<()> {
        let mut client = self.containerd.connect().await?;
        client.stop(&pod.id).await?;
        client.remove(&pod.id).await
    }

    /// Lets a pod come and go, whose address is freed by both witnesses: since it came, the daemon has looked twice.
    pub(crate) async fn looks_twice(&mut self) -> anyhow::Result<()> {
        self.passed += 1;
        let name = format!("passing-{}", self.passed);
        let pod = self.run(&name).await?;
        self.cluster.delete(&name)?;
        self.lose(&pod).await?;
        wait::holds("the passing pod's address to be free", LIMIT, || {
            Ok(!self.containers()?.contains(&pod.id))
        })
    }

    /// Waits until these have addresses, and no others.
    pub(crate) fn becomes(&self, pods: &[&Pod]) -> anyhow::Result<()> {
        wait::holds("the addresses of the others to be free", LIMIT, || Ok(self.expect(pods).is_ok()))
    }

    /// Expects that these have addresses, and no others.
    pub(crate) fn expect(&self, pods: &[&Pod]) -> anyhow::Result<()> {
        let mut expected: Vec<String> = pods.iter().map(|pod| pod.id.clone()).collect();
        let mut found = self.containers()?;
        expected.sort_unstable();
        found.sort_unstable();
        ensure!(found == expected, "{found:?} have addresses instead of {expected:?}");
        Ok(())
    }

    fn containers(&self) -> anyhow::Result<Vec<String>> {
        let rows = self.daemon.allocations("pods")?;
        let container = |row: &Value| row.get("container_id").and_then(Value::as_str).map(str::to_owned);
        rows.iter().map(|row| container(row).context("no container")).collect()
    }

    /// The kinds of what `tenurectl check` finds.
    pub(crate) fn findings(&self) -> anyhow::Result<Vec<String>> {
        let report: Value = serde_json::from_slice(&self.daemon.ctl_output(&["check"])?.stdout)?;
        let findings = report.get("findings").and_then(Value::as_array).cloned().unwrap_or_default();
        let kind = |finding: &Value| finding.get("kind").and_then(Value::as_str).map(str::to_owned);
        Ok(findings.iter().filter_map(kind).collect())
    }

    /// Whether the node has a condition.
    pub(crate) fn has_condition(&self, name: &str) -> anyhow::Result<bool> {
        let status: Value = serde_json::from_slice(&self.daemon.ctl_output(&["status"])?.stdout)?;
        let conditions = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(conditions.iter().any(|condition| condition.get("name").is_some_and(|of| of == name)))
    }
}
