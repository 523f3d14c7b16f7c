//! A node: a daemon with a name, a machine and directories of its own, and pods that come and go through the plugin.

use std::net::IpAddr;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};
use tenure_fixtures::control_plane::kubelets_node;
use tenure_fixtures::node::plugin::Outcome;
use tenure_fixtures::node::{Attachment, Daemon};

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) daemon: Daemon,
    pods: Vec<String>,
}

impl Node {
    /// Makes a node's directories and configuration.
    pub(crate) fn prepare(name: &str, kubeconfig: &Path) -> anyhow::Result<Self> {
        let daemon = Daemon::prepare()?;
        daemon.configure(&format!(
            "[node]\nname = \"{name}\"\nmachine_id = \"{name}\"\nsystem_uuid = \"firmware of {name}\"\n\
             [cluster]\nnetworks = {{ pods = [\"pods\"] }}\nkubeconfig = \"{}\"\npreallocation = 2\nrelease_seconds = 1\nwrite_seconds = 1\n\
             [addresses]\ncooldown_seconds = 1\n\
             [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = [\"pods\"] }}\n",
            kubeconfig.display()
        ))?;
        Ok(Self { name: name.to_owned(), daemon, pods: Vec::new() })
    }

    /// The Node, as the kubelet registers it.
    pub(crate) fn object(&self) -> anyhow::Result<Value> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(kubelets_node(&self.name, &self.name, boot.trim()))
    }

    /// Calls the plugin for a pod, as a runtime does.
    pub(crate) fn call(&self, verb: &str, pod: &str) -> anyhow::Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        self.daemon.shim()?.call(verb, &Attachment::of(pod), &config)
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
