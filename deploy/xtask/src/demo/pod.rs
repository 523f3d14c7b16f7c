//! A pod of the demonstration: a network namespace, and the real `bridge` plugin as a runtime calls it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::enclave::Enclave;
use super::node::Node;
use crate::command;

/// The name of the network that all pods are on.
pub(crate) const NETWORK: &str = "demo";
/// The folder of Debian's CNI plugins.
const PLUGINS: &str = "/usr/lib/cni";

/// A pod.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    /// Its name, which is its container's id as well.
    pub(crate) name: String,
    /// In CIDR notation.
    pub(crate) address: String,
}

/// Adds and deletes pods, as a container runtime does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runtime<'a> {
    pub(crate) enclave: &'a Enclave,
    /// The folder of our plugin.
    pub(crate) binaries: &'a Path,
}

impl Runtime<'_> {
    /// Adds a pod: creates its namespace, then calls CNI ADD through `bridge`.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn add(&self, name: &str) -> Result<Pod> {
        command::output(self.enclave.command("ip").args(["netns", "add", name]))?;
        let result = self.call(&format!("{PLUGINS}/bridge"), "ADD", name)?;
        Ok(Pod { name: name.to_owned(), address: address(&result)? })
    }

    /// Repeats the ADD of an existing pod to the IPAM plugin, as a runtime does that has lost the reply.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn ask_again(&self, pod: &Pod) -> Result<String> {
        address(&self.call(&self.binaries.join("tenure").display().to_string(), "ADD", &pod.name)?)
    }

    /// Takes a pod off the network.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn delete(&self, pod: &Pod) -> Result<()> {
        self.call(&format!("{PLUGINS}/bridge"), "DEL", &pod.name).map(|_| ())
    }

    /// Pings one pod from another; returns the round-trip time as `ping` prints it.
    ///
    /// # Errors
    /// When there is no reply.
    pub(crate) fn ping(&self, from: &Pod, to: &Pod) -> Result<String> {
        let target = to.address.split('/').next().unwrap_or_default();
        let arguments = ["netns", "exec", &from.name, "ping", "-c", "1", "-W", "5", target];
        let text = command::output(self.enclave.command("ip").args(arguments))?;
        let time = text.split("time=").nth(1).and_then(|rest| rest.lines().next());
        Ok(time.unwrap_or("an unknown time").to_owned())
    }

    /// Calls a plugin as the CNI specification requires.
    fn call(&self, plugin: &str, verb: &str, pod: &str) -> Result<Value> {
        let config = json!({
            "cniVersion": "1.0.0", "name": NETWORK, "type": "bridge", "bridge": "demo0",
            "ipam": { "type": "tenure", "socket": Node::socket(), "ranges": [[{ "subnet": "10.88.0.0/24" }]] },
        });
        let mut plugin: Command = self.enclave.command(plugin);
        plugin
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", pod)
            .env("CNI_NETNS", format!("/run/netns/{pod}"))
            .env("CNI_IFNAME", "eth0")
            .env("CNI_PATH", format!("{}:{PLUGINS}", self.binaries.display()))
            .env("CNI_ARGS", format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=demo;K8S_POD_NAME={pod}"));
        let (status, printed) = command::feed(&mut plugin, &config.to_string())?;
        if !status.success() {
            bail!("{verb} of {pod} failed: {}", printed.trim());
        }
        if printed.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&printed)
            .with_context(|| format!("{verb} of {pod} did not print JSON: {printed}"))
    }
}

/// The first address of a CNI result.
fn address(result: &Value) -> Result<String> {
    let address = result.pointer("/ips/0/address").and_then(Value::as_str);
    Ok(address.with_context(|| format!("no address in {result}"))?.to_owned())
}
