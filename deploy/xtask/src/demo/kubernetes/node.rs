//! The daemons of the node: containerd and the kubelet, each started, killed and started again.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use tenure_fixtures::go_module::{CONTAINERD, GoModule, NODE};

use super::super::wait;
use super::groups::{ControlGroups, GROUP};
use super::machine::{ADDRESS, Machine, NAME, SHARED, TARGET};
use super::process::DemoProcess;
use super::workloads::WORKLOAD;

/// The CRI socket, at its usual place.
const SOCKET: &str = "/run/containerd/containerd.sock";

/// containerd as Kubernetes' distributions set it up, but for a machine without AppArmor, systemd and registries. A machine may withhold the
/// capability to lower an OOM score. The image of sandboxes is pinned, since no registry has it.
fn containerd_config() -> String {
    format!(
        r#"version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{WORKLOAD}"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/opt/cni/bin"]
    conf_dir = "/etc/cni/net.d"
    use_internal_loopback = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"#
    )
}

/// A kubelet that leaves the machine's memory, disk and control groups outside of its own alone.
fn kubelet_config() -> String {
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
containerRuntimeEndpoint: unix://{SOCKET}
cgroupDriver: cgroupfs
cgroupRoot: /{GROUP}
failCgroupV1: false
cpuCFSQuota: false
enforceNodeAllocatable: [none]
failSwapOn: false
evictionHard: {{memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}}
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
resolvConf: ""
maxPods: 200
registryPullQPS: 0
nodeStatusUpdateFrequency: 4s
"#
    )
}

/// The node's daemons on its machine.
#[derive(Debug)]
pub(super) struct KubernetesNode<'a> {
    pub(super) machine: Machine<'a>,
    containerd: Option<DemoProcess>,
    kubelet: Option<DemoProcess>,
    /// How often containerd was started: each start has a log of its own.
    starts: u32,
}

impl<'a> KubernetesNode<'a> {
    /// Puts the reference plugins on the machine, and starts containerd.
    ///
    /// # Errors
    /// When containerd does not start.
    pub(super) fn start(machine: Machine<'a>) -> Result<Self> {
        for name in ["bridge", "host-local", "portmap", "ptp"] {
            let to = machine.outside(&format!("/opt/cni/bin/{name}"));
            let from = machine.outside(&path(&CONTAINERD, name));
            fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        fs::write(machine.outside(&format!("{SHARED}/containerd.toml")), containerd_config())?;
        fs::write(machine.outside(&format!("{SHARED}/kubelet.yaml")), kubelet_config())?;
        let mut node = Self { machine, containerd: None, kubelet: None, starts: 0 };
        node.start_containerd()?;
        Ok(node)
    }

    /// Starts containerd, and waits until it serves: a kubelet that comes earlier ends.
    ///
    /// # Errors
    /// When it ends, or does not serve within a minute.
    pub(super) fn start_containerd(&mut self) -> Result<()> {
        self.starts = self.starts.saturating_add(1);
        let mut command = self.machine.command(path(&CONTAINERD, "containerd"));
        // It looks for its shim in the folders of PATH.
        let folder = format!("{TARGET}/{}", CONTAINERD.folder_name());
        command.env("PATH", format!("{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
        command.arg(format!("--config={SHARED}/containerd.toml"));
        let mut containerd =
            DemoProcess::start("containerd", command, self.log(&format!("containerd-{}", self.starts)))?;
        wait::holds("containerd", || {
            containerd.check()?;
            containerd.has_logged("successfully booted")
        })?;
        self.containerd = Some(containerd);
        Ok(())
    }

    /// Starts the kubelet. It registers the Node by itself.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start_kubelet(&mut self) -> Result<()> {
        let mut command = self.machine.command(path(&NODE, "kubelet"));
        command.args([
            &format!("--config={SHARED}/kubelet.yaml"),
            &format!("--kubeconfig={SHARED}/kubelet.kubeconfig"),
            &format!("--hostname-override={NAME}"),
            &format!("--node-ip={ADDRESS}"),
        ]);
        self.kubelet = Some(DemoProcess::start("kubelet", command, self.log("kubelet"))?);
        Ok(())
    }

    /// Kills the kubelet.
    ///
    /// # Errors
    /// When it is not running.
    pub(super) fn kill_kubelet(&mut self) -> Result<()> {
        self.kubelet.take().context("the kubelet is not running")?.kill()
    }

    /// Kills containerd. Its shims and the containers go on.
    ///
    /// # Errors
    /// When it is not running.
    pub(super) fn kill_containerd(&mut self) -> Result<()> {
        self.containerd.take().context("containerd is not running")?.kill()
    }

    /// Cuts the power, boots, and starts containerd and the kubelet. The daemon comes when the kubelet starts its pod.
    ///
    /// # Errors
    /// When something does not start.
    pub(super) fn reboot(&mut self, groups: &ControlGroups) -> Result<()> {
        self.containerd = None;
        self.kubelet = None;
        self.machine.power_cycle()?;
        groups.empty()?;
        self.start_containerd()?;
        self.start_kubelet()
    }

    /// Checks that both daemons run.
    ///
    /// # Errors
    /// Ends with the last lines of the log of the one that has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        [&mut self.containerd, &mut self.kubelet].into_iter().flatten().try_for_each(DemoProcess::check)
    }

    /// The last lines of both logs.
    pub(super) fn tails(&self) -> String {
        let tails = [&self.containerd, &self.kubelet].into_iter().flatten().map(DemoProcess::tail);
        tails.collect::<Vec<_>>().join("\n\n")
    }

    /// Runs containerd's own client on the images and containers of Kubernetes.
    ///
    /// # Errors
    /// When it fails.
    pub(super) fn ctr(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.machine.command(path(&CONTAINERD, "ctr"));
        crate::command::output(command.args(["--namespace", "k8s.io"]).args(arguments))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.machine.outside(&format!("{SHARED}/{name}.log"))
    }
}

/// A built program, on the machine.
fn path(module: &GoModule, name: &str) -> String {
    format!("{TARGET}/{}/{name}", module.folder_name())
}
