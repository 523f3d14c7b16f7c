//! The acts of the demonstration, each with the facts that it asserts.

use anyhow::{Result, ensure};

use super::super::wait;
use super::absence;
use super::blocks;
use super::cluster;
use super::figures;
use super::images::UPGRADE;
use super::machine::{KUBELET, NAME};
use super::stage::{AGENT, NAMESPACE, Stage};
use super::workloads;
use crate::{chart, kubernetes, progress};

/// The network of the shipped manifests.
const NETWORK: &str = "pods";

/// The plugin and the network's configuration, on the machine.
const FILES: [&str; 2] = ["/opt/cni/bin/tenure", absence::CONFIGURATION];

/// The pods of the Deployment and of the StatefulSet.
const WEB: usize = 10;
const STORE: usize = 3;

impl Stage<'_> {
    /// All acts, in order.
    ///
    /// # Errors
    /// When a guarantee is broken.
    pub(super) fn play(&mut self) -> Result<()> {
        self.install()?;
        self.run_workloads()?;
        self.exchange_policy()?;
        self.upgrade()?;
        self.kill()?;
        self.reboot()?;
        absence::play(self)?;
        self.agree(WEB + STORE)?;
        if self.with_figures {
            self.tell.act("Beside host-local");
            figures::compare(self)?;
        }
        self.remove()?;
        blocks::play(self)?;
        self.plane.check()
    }

    /// The shipped manifests are installed, and the node becomes ready.
    fn install(&mut self) -> Result<()> {
        self.tell.act("1. Installing tenure by the shipped manifests");
        self.node.start_kubelet()?;
        let node = format!("node/{NAME}");
        wait::holds("the node's registration", || {
            self.node.check()?;
            Ok(self.cluster.run(&["get", &node]).is_ok())
        })?;
        let ready = self.cluster.run(&[
            "get",
            &node,
            "--output=jsonpath={.status.conditions[?(@.type==\"Ready\")].status}",
        ])?;
        ensure!(ready != "True", "the node is ready before it has a network");
        self.tell.good("the kubelet has registered the node, which is not ready: it has no network");
        // The runtime is new enough, so a node without addresses is to be not ready.
        let manifests = self.manifests()?.replace("\"cniVersion\": \"1.0.0\"", "\"cniVersion\": \"1.1.0\"");
        self.tell.turn("kubectl apply --server-side -f single-node.yaml, with CNI 1.1.0");
        let start = progress::now();
        self.cluster.apply(&manifests)?;
        self.cluster.rolled_out(NAMESPACE, AGENT)?;
        let runs = progress::now();
        self.cluster.run(&["wait", "--for=condition=Ready", &node, "--timeout=60s"])?;
        let ready = progress::now();
        self.tell.good("the DaemonSet runs, and the node is ready");
        self.cluster.apply(&workloads::deployment("first", 1))?;
        self.cluster.rolled_out("default", "deployment/first")?;
        let first = progress::now();
        self.agree(1)?;
        let [runs, ready, first] = [runs, ready, first].map(|at| at.saturating_sub(start).as_secs_f64());
        self.tell.line(&format!(
            "by the stop-watch, since the manifests were applied: the DaemonSet runs after {runs:.0} s, the node is ready after {ready:.0} s, and the first pod runs after {first:.0} s"
        ));
        self.cluster.run(&["delete", "deployment/first", "--timeout=60s"])?;
        // Its pod ends later than it, and is none of those of the next act.
        cluster::settled(&self.cluster, &self.node.machine, 0)
    }

    /// A Deployment, a StatefulSet and a Job run, with the addresses that the ledger says.
    fn run_workloads(&mut self) -> Result<()> {
        self.tell.act("2. A Deployment, a StatefulSet and a Job");
        self.cluster
            .apply(&(workloads::deployment("web", WEB) + &workloads::stateful_set("store", STORE)))?;
        for workload in ["deployment/web", "statefulset/store"] {
            self.cluster.rolled_out("default", workload)?;
        }
        let pods = self.cluster.pod_addresses()?;
        let addresses: Vec<&str> = pods.keys().map(String::as_str).chain([KUBELET]).collect();
        self.cluster.completes("reach", &addresses)?;
        self.tell
            .good(&format!("the Job has reached the node and all {} pods at their addresses", pods.len()));
        self.agree(WEB + STORE)?;
        self.none_failed("in all of this", 0)
    }

    /// The policy is exchanged while a Deployment is restarted.
    fn exchange_policy(&mut self) -> Result<()> {
        self.tell.act("3. Another policy, during a rolling restart");
        let failed = self.cluster.failed_sandboxes()?.0;
        self.restart_web()?;
        cluster::tenurectl(&self.node.machine, &["policy", "activate", NETWORK, "highest-first"])?;
        self.tell
            .turn("kubectl rollout restart deployment/web; tenurectl policy activate pods highest-first");
        self.cluster.rolled_out("default", "deployment/web")?;
        self.restart_web()?;
        self.cluster.rolled_out("default", "deployment/web")?;
        self.agree(WEB + STORE)?;
        let high = self.cluster.pod_addresses()?.into_iter().filter(|(address, name)| {
            let last = address.rsplit('.').next().and_then(|text| text.parse::<u8>().ok());
            name.starts_with("web") && last.is_some_and(|last| last > 200)
        });
        ensure!(high.count() == WEB, "the Deployment's pods do not have the highest addresses");
        self.tell.good("the Deployment's pods have the highest addresses of the range");
        self.none_failed("during the exchange", failed)
    }

    /// The DaemonSet is upgraded to another image while the Deployment is restarted.
    fn upgrade(&mut self) -> Result<()> {
        self.tell.act("4. Upgrading tenure while a Deployment is restarted");
        let failed = self.cluster.failed_sandboxes()?.0;
        let image = format!("localhost/tenure:{UPGRADE}");
        let containers = ["plugin", "tenured", "network"].map(|name| format!("{name}={image}"));
        let containers: Vec<&str> = containers.iter().map(String::as_str).collect();
        self.cluster.run(&[&["--namespace", NAMESPACE, "set", "image", AGENT][..], &containers].concat())?;
        self.tell
            .turn(&format!("kubectl set image {AGENT} *={image}; kubectl rollout restart deployment/web"));
        self.restart_web()?;
        self.cluster.rolled_out(NAMESPACE, AGENT)?;
        self.cluster.rolled_out("default", "deployment/web")?;
        self.agree(WEB + STORE)?;
        self.none_failed("during the upgrade", failed)?;
        self.tell.turn(&format!("kubectl rollout undo {AGENT}; kubectl rollout restart deployment/web"));
        self.cluster.run(&["--namespace", NAMESPACE, "rollout", "undo", AGENT])?;
        self.restart_web()?;
        self.cluster.rolled_out(NAMESPACE, AGENT)?;
        self.cluster.rolled_out("default", "deployment/web")?;
        self.agree(WEB + STORE)?;
        self.none_failed("on the way back", failed)
    }

    /// The daemon, the kubelet and containerd are killed, each while the Deployment is restarted.
    fn kill(&mut self) -> Result<()> {
        self.tell.act("5. SIGKILL");
        for victim in ["tenured", "kubelet", "containerd"] {
            self.restart_web()?;
            match victim {
                "tenured" => self.kill_daemon()?,
                "kubelet" => {
                    self.node.kill_kubelet()?;
                    self.node.start_kubelet()?;
                }
                _ => {
                    self.node.kill_containerd()?;
                    self.node.start_containerd()?;
                }
            }
            self.tell.turn(&format!("kill -KILL {victim}, during a rolling restart"));
            self.cluster.rolled_out("default", "deployment/web")?;
            self.cluster.rolled_out(NAMESPACE, AGENT)?;
            self.agree(WEB + STORE)?;
        }
        Ok(())
    }

    /// Kills the daemon by the id of its container; the kubelet starts the next one.
    fn kill_daemon(&mut self) -> Result<()> {
        let of = "--output=jsonpath={.items[0].status.containerStatuses[?(@.name==\"tenured\")].containerID}";
        let container = self.cluster.run(&["--namespace", NAMESPACE, "get", "pods", of])?;
        let container = container.trim_start_matches("containerd://");
        self.node.ctr(&["tasks", "kill", "--signal", "SIGKILL", container]).map(drop)
    }

    /// The power is cut. At the boot, containerd and the kubelet come first, and the daemon with its pod.
    fn reboot(&mut self) -> Result<()> {
        self.tell.act("6. A power cut");
        let (failed, _) = self.cluster.failed_sandboxes()?;
        let before = self.cluster.pod_addresses()?;
        self.node.reboot(self.groups)?;
        self.tell.turn(
            "the machine loses all processes and /run, and boots with the same disk; tenured starts last",
        );
        wait::holds("other sandboxes of all pods", || {
            self.node.check()?;
            let now = self.cluster.pod_addresses()?;
            Ok(now.len() == WEB + STORE && now.iter().all(|pod| before.get(pod.0) != Some(pod.1)))
        })?;
        self.cluster.rolled_out(NAMESPACE, AGENT)?;
        self.agree(WEB + STORE)?;
        self.none_failed("at the boot", failed)
    }

    /// The workloads are deleted, and then tenure, as the chart does it. No address is left, and no network.
    fn remove(&mut self) -> Result<()> {
        self.tell.act("Deleting everything");
        ensure!(
            FILES.iter().all(|file| self.node.machine.outside(file).exists()),
            "the plugin or its configuration is not where it belongs"
        );
        let helm = kubernetes::helm(self.workspace)?;
        self.cluster.apply(&chart::render(
            self.workspace,
            &helm,
            &["namespace.create=true", "uninstalling=true"],
        )?)?;
        self.tell.turn("helm upgrade tenure --set uninstalling=true");
        self.cluster.rolled_out(NAMESPACE, AGENT)?;
        self.agree(WEB + STORE)?;
        self.cluster.run(&["delete", "deployment/web", "statefulset/store", "job/reach", "--timeout=60s"])?;
        wait::holds("the removal of the plugin and its configuration", || {
            self.node.check()?;
            Ok(FILES.iter().all(|file| !self.node.machine.outside(file).exists()))
        })?;
        self.tell.good("with its last pod, the node has lost the plugin and the network's configuration");
        self.agree(0)
    }

    fn restart_web(&self) -> Result<()> {
        self.cluster.run(&["rollout", "restart", "deployment/web"]).map(drop)
    }

    /// Waits until as many pods as expected have exactly the addresses that the ledger has given out.
    fn agree(&self, expected: usize) -> Result<()> {
        cluster::settled(&self.cluster, &self.node.machine, expected)?;
        self.tell.good(&format!(
            "the ledger has given out the addresses of the {expected} living pods, and no other"
        ));
        Ok(())
    }

    /// Asserts that no sandbox has failed since there were this many failures.
    fn none_failed(&self, during: &str, before: u64) -> Result<()> {
        let (now, last) = self.cluster.failed_sandboxes()?;
        ensure!(
            now == before,
            "{} sandboxes failed {during}; the last one: {last}",
            now.saturating_sub(before)
        );
        self.tell.good(&format!("0 sandboxes failed {during}"));
        Ok(())
    }
}
