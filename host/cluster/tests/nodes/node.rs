//! A node: a daemon with a name, a machine and directories of its own, and pods that come and go through the plugin.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use tenure_fixtures::control_plane::kubelets_node;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::node::{Attachment, Daemon};

use crate::agents;

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) daemon: Daemon,
    pods: Vec<String>,
    boots: u32,
}

/// A pod in the API server.
pub(crate) struct CreatedPod {
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl Node {
    /// Makes a node's directories and configuration.
    pub(crate) fn prepare(name: &str, kubeconfig: &Path) -> anyhow::Result<Self> {
        Self::prepare_with(name, kubeconfig, &["pods"], "[\"ipv4\"]")
    }

    /// Makes those of a node whose network has addresses of several pools or families.
    pub(crate) fn prepare_with(
        name: &str,
        kubeconfig: &Path,
        pools: &[&str],
        families: &str,
    ) -> anyhow::Result<Self> {
        let node = Self::prepare_alone(name, "10.0.0.0/24")?;
        node.lease(kubeconfig, pools, families)?;
        Ok(node)
    }

    /// Makes those of a node that has ranges of its own, and asks no API server.
    pub(crate) fn prepare_alone(name: &str, subnet: &str) -> anyhow::Result<Self> {
        let daemon = Daemon::prepare()?;
        std::fs::copy("/proc/sys/kernel/random/boot_id", boot_id_file(&daemon))?;
        let node = Self { name: name.to_owned(), daemon, pods: Vec::new(), boots: 0 };
        node.have_ranges(subnet)?;
        Ok(node)
    }

    /// Configures a network with ranges of the node's own.
    pub(crate) fn have_ranges(&self, subnet: &str) -> anyhow::Result<()> {
        self.configure(&format!(
            "[networks.pods]\nipam = {{ type = \"tenure\", ranges = [[{{ subnet = \"{subnet}\" }}]] }}\n"
        ))
    }

    /// Configures a network whose addresses come from leased blocks.
    pub(crate) fn lease(&self, kubeconfig: &Path, pools: &[&str], families: &str) -> anyhow::Result<()> {
        let pools = json!(pools);
        self.configure(&format!(
            "[cluster]\nnetworks = {{ pods = {pools} }}\nkubeconfig = \"{}\"\npreallocation = 2\nrelease_seconds = 1\nwrite_seconds = 1\n\
             [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = {pools}, families = {families} }}\n",
            kubeconfig.display(),
        ))
    }

    /// Configures that blocks are leased for a network that the plugin's configuration defines.
    pub(crate) fn lease_undefined(&self, kubeconfig: &Path, pools: &[&str]) -> anyhow::Result<()> {
        self.configure(&format!(
            "[cluster]\nnetworks = {{ pods = {} }}\nkubeconfig = \"{}\"\n",
            json!(pools),
            kubeconfig.display()
        ))
    }

    fn configure(&self, networks: &str) -> anyhow::Result<()> {
        let name = &self.name;
        self.daemon.configure(&format!(
            "[node]\nname = \"{name}\"\nboot_id_file = \"{}\"\nmachine_id = \"{name}\"\nsystem_uuid = \"firmware of {name}\"\n\
             [addresses]\ncooldown_seconds = 1\n[metrics]\nlisten = \"unix:{}\"\n{networks}{}",
            boot_id_file(&self.daemon).display(),
            self.daemon.path("metrics.sock").display(),
            agents::table()?
        ))
    }

    /// The Node, as the kubelet registers it.
    pub(crate) fn object(&self) -> anyhow::Result<Value> {
        let boot = std::fs::read_to_string(boot_id_file(&self.daemon))?;
        Ok(kubelets_node(&self.name, &self.name, boot.trim()))
    }

    /// Kills the daemon, and starts it in another boot of the machine, whose id it returns.
    pub(crate) fn reboot(&mut self) -> anyhow::Result<String> {
        self.daemon.kill()?;
        self.boot_again()
    }

    /// Changes words of the configuration, which the next start reads.
    pub(crate) fn reconfigure(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let path = self.daemon.path("tenured.toml");
        let config = std::fs::read_to_string(&path)?;
        anyhow::ensure!(config.contains(from), "{from} is not in the configuration");
        Ok(std::fs::write(path, config.replace(from, to))?)
    }

    /// Adds lines to the configuration, which the next start reads.
    pub(crate) fn append(&self, lines: &str) -> anyhow::Result<()> {
        let path = self.daemon.path("tenured.toml");
        let config = std::fs::read_to_string(&path)?;
        Ok(std::fs::write(path, config + lines)?)
    }

    /// Starts the daemon, which was killed, in another boot of the machine, whose id it returns.
    pub(crate) fn boot_again(&mut self) -> anyhow::Result<String> {
        self.boots += 1;
        let boot = format!("7e5e1e57-0000-4000-8000-{:012}", self.boots);
        std::fs::write(boot_id_file(&self.daemon), &boot)?;
        self.daemon.launch()?;
        Ok(boot)
    }

    /// Calls the plugin for a pod, as a runtime does.
    pub(crate) fn call(&self, verb: &str, pod: &str) -> anyhow::Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        self.daemon.shim()?.call(verb, &Attachment::of(pod), &config)
    }

    /// Calls the plugin for a pod of the API server.
    pub(crate) fn call_for(&self, pod: &CreatedPod, verb: &str) -> anyhow::Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        let CreatedPod { name, uid } = pod;
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={name};K8S_POD_UID={uid};K8S_POD_INFRA_CONTAINER_ID={name}"
        );
        self.daemon.shim()?.env("CNI_ARGS", &arguments).call(verb, &Attachment::of(name), &config)
    }

    /// Adds a pod; returns the result of the plugin.
    pub(crate) fn add_result(&mut self, pod: &str) -> anyhow::Result<Value> {
        let result = self.call("ADD", pod).and_then(|outcome| outcome.result());
        self.pods.push(pod.to_owned());
        result.with_context(|| format!("ADD of {pod} on {}", self.name))
    }

    /// Adds a pod; returns its address.
    pub(crate) fn add(&mut self, pod: &str) -> anyhow::Result<IpAddr> {
        let outcome = self.call("ADD", pod).and_then(|outcome| outcome.address());
        let address = outcome.with_context(|| format!("ADD of {pod} on {}", self.name))?;
        self.pods.push(pod.to_owned());
        let (ip, _) = address.split_once('/').context("an address without its prefix length")?;
        Ok(ip.parse()?)
    }

    /// Adds pods at once; returns their addresses.
    pub(crate) fn add_at_once(&mut self, pods: &[String]) -> anyhow::Result<Vec<IpAddr>> {
        let this = &*self;
        let outcomes: Vec<anyhow::Result<Outcome>> = std::thread::scope(|scope| {
            let calls: Vec<_> = pods.iter().map(|pod| scope.spawn(move || this.call("ADD", pod))).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        self.pods.extend_from_slice(pods);
        let address = |outcome: anyhow::Result<Outcome>| {
            let address = outcome?.address()?;
            Ok(address.split_once('/').context("an address without its prefix length")?.0.parse()?)
        };
        outcomes.into_iter().map(address).collect()
    }

    /// Deletes a pod.
    pub(crate) fn del(&mut self, pod: &str) -> anyhow::Result<()> {
        self.call("DEL", pod)?.silent()?;
        self.pods.retain(|known| known != pod);
        Ok(())
    }

    /// Deletes all pods.
    pub(crate) fn clear(&mut self) -> anyhow::Result<()> {
        std::mem::take(&mut self.pods).into_iter().try_for_each(|pod| self.call("DEL", &pod)?.silent())
    }

    /// The addresses in use.
    pub(crate) fn addresses(&self) -> anyhow::Result<Vec<IpAddr>> {
        let of = |allocation: Value| -> anyhow::Result<Vec<IpAddr>> {
            let addresses = allocation["addresses"].as_array().cloned().unwrap_or_default();
            let ip = |address: Value| {
                let text = address.as_str().map(str::to_owned).context("no address")?;
                Ok(text.split('/').next().unwrap_or_default().parse()?)
            };
            addresses.into_iter().map(ip).collect()
        };
        let all: Vec<Vec<IpAddr>> =
            self.daemon.allocations("pods")?.into_iter().map(of).collect::<anyhow::Result<_>>()?;
        Ok(all.concat())
    }
}

/// The file with the id of the machine's boot.
fn boot_id_file(daemon: &Daemon) -> PathBuf {
    daemon.path("boot_id_of_node")
}
