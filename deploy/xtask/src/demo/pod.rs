//! A pod of the demonstration: a network namespace, and a main plugin as a runtime calls it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::enclave::Enclave;
use super::node::DemoNode;
use crate::command;

/// The name of the network that all pods are on.
pub(crate) const NETWORK: &str = "demo";
/// The folder of Debian's CNI plugins.
const PLUGINS: &str = "/usr/lib/cni";
/// The folder of our own main plugin, inside the enclave.
const OUR_PLUGINS: &str = "/run/cni";

/// A pod.
#[derive(Debug, Clone)]
pub(crate) struct DemoPod {
    /// The pod's name, which is its container's id as well.
    pub(crate) name: String,
    /// In CIDR notation.
    pub(crate) address: String,
}

impl DemoPod {
    /// The pod's address without the prefix length.
    pub(crate) fn bare(&self) -> &str {
        self.address.split('/').next().unwrap_or_default()
    }
}

/// Adds and deletes pods, as a container runtime does.
#[derive(Debug, Clone)]
pub(crate) struct DemoRuntime<'a> {
    enclave: &'a Enclave,
    /// The folder of our plugin.
    binaries: &'a Path,
    /// The main plugin.
    main: String,
    /// The directory in which plugins look for other plugins.
    path: String,
    config: Value,
}

impl<'a> DemoRuntime<'a> {
    /// Pods through Debian's `bridge`, which calls `tenure` for their addresses.
    pub(crate) fn bridge(enclave: &'a Enclave, binaries: &'a Path) -> Self {
        let config = json!({
            "cniVersion": "1.0.0", "name": NETWORK, "type": "bridge", "bridge": "demo0",
            "ipam": { "type": "tenure", "socket": DemoNode::socket(), "ranges": [[{ "subnet": "10.88.0.0/24" }]] },
        });
        let path = format!("{}:{PLUGINS}", binaries.display());
        Self { enclave, binaries, main: format!("{PLUGINS}/bridge"), path, config }
    }

    /// Pods through `tenure-eni`, which is `tenure` under another name. The daemon has the network's configuration.
    ///
    /// # Errors
    /// When the second name cannot be given.
    pub(crate) fn eni(enclave: &'a Enclave, binaries: &'a Path) -> Result<Self> {
        let config = json!({
            "cniVersion": "1.1.0", "name": NETWORK, "type": "tenure-eni",
            "ipam": { "type": "tenure", "socket": DemoNode::socket() },
        });
        let folder = enclave.outside(OUR_PLUGINS);
        fs::create_dir(&folder)?;
        symlink(binaries.join("tenure"), folder.join("tenure-eni"))?;
        let main = format!("{OUR_PLUGINS}/tenure-eni");
        Ok(Self { enclave, binaries, main, path: OUR_PLUGINS.to_owned(), config })
    }

    /// Adds a pod: creates its namespace, then calls ADD.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn add(&self, name: &str) -> Result<DemoPod> {
        self.create(name)?;
        self.attach(name)
    }

    /// Creates a pod's namespace.
    ///
    /// # Errors
    /// With the error of `ip`.
    pub(crate) fn create(&self, name: &str) -> Result<()> {
        command::output(self.enclave.command("ip").args(["netns", "add", name])).map(|_| ())
    }

    /// Calls ADD for a pod whose namespace is there.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn attach(&self, name: &str) -> Result<DemoPod> {
        let result = self.call(&self.main, "ADD", name)?;
        Ok(DemoPod { name: name.to_owned(), address: address(&result)? })
    }

    /// Repeats the ADD of an existing pod to the IPAM plugin, as a runtime does that has lost the reply.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn ask_again(&self, pod: &DemoPod) -> Result<String> {
        address(&self.call(&self.binaries.join("tenure").display().to_string(), "ADD", &pod.name)?)
    }

    /// Takes a pod off the network.
    ///
    /// # Errors
    /// With the plugin's own error.
    pub(crate) fn delete(&self, pod: &DemoPod) -> Result<()> {
        self.call(&self.main, "DEL", &pod.name).map(|_| ())
    }

    /// Pings one pod from another; returns the round-trip time as `ping` prints it.
    ///
    /// # Errors
    /// When there is no reply.
    pub(crate) fn ping(&self, from: &DemoPod, to: &DemoPod) -> Result<String> {
        let arguments = ["netns", "exec", &from.name, "ping", "-c", "1", "-W", "5", to.bare()];
        let text = command::output(self.enclave.command("ip").args(arguments))?;
        let time = text.split("time=").nth(1).and_then(|rest| rest.lines().next());
        Ok(time.unwrap_or("an unknown time").to_owned())
    }

    /// Calls a plugin as the CNI specification requires.
    fn call(&self, plugin: &str, verb: &str, pod: &str) -> Result<Value> {
        let mut plugin: Command = self.enclave.command(plugin);
        plugin
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", pod)
            .env("CNI_NETNS", format!("/run/netns/{pod}"))
            .env("CNI_IFNAME", "eth0")
            .env("CNI_PATH", &self.path)
            .env("CNI_ARGS", format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=demo;K8S_POD_NAME={pod}"));
        let (status, printed) = command::feed(&mut plugin, &self.config.to_string())?;
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
