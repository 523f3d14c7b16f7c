//! A node of the demonstration's cluster: a daemon with a name, a machine and folders of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::super::enclave::{Enclave, child_of};
use super::plane::KUBECONFIG;
use crate::command;

/// A daemon, with the pods that it serves.
#[derive(Debug)]
pub(crate) struct ClusterNode<'a> {
    enclave: &'a Enclave,
    binaries: &'a Path,
    pub(crate) name: &'static str,
    daemon: Option<Child>,
    pods: u32,
}

impl<'a> ClusterNode<'a> {
    /// Writes the node's configuration.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn prepare(enclave: &'a Enclave, binaries: &'a Path, name: &'static str) -> Result<Self> {
        fs::create_dir(enclave.outside(&format!("/run/{name}")))?;
        let config = format!(
            "[node]\nname = \"{name}\"\nmachine_id = \"{name}\"\nsystem_uuid = \"firmware of {name}\"\n\
             [cluster]\nnetworks = {{ pods = [\"pods\"] }}\nkubeconfig = \"{KUBECONFIG}\"\npreallocation = 2\nwrite_seconds = 1\n\
             [addresses]\ncooldown_seconds = 1\n\
             [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = [\"pods\"] }}\n"
        );
        fs::write(enclave.outside(&format!("/run/{name}/tenured.toml")), config)?;
        Ok(Self { enclave, binaries, name, daemon: None, pods: 0 })
    }

    /// The Node, as its kubelet registers it.
    ///
    /// # Errors
    /// When the kernel's boot id cannot be read.
    pub(crate) fn object(&self) -> Result<Value> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let info = json!({
            "architecture": "amd64", "bootID": boot.trim(), "containerRuntimeVersion": "containerd://2",
            "kernelVersion": "6.18", "kubeProxyVersion": "", "kubeletVersion": "v1.36.3", "machineID": self.name,
            "operatingSystem": "linux", "osImage": "demo", "systemUUID": format!("firmware of {}", self.name),
        });
        let metadata = json!({ "name": self.name });
        Ok(
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": { "nodeInfo": info } }),
        )
    }

    /// Starts the daemon, on the state that is there.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(&mut self) -> Result<()> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.enclave.outside(&self.path("tenured.log")))?;
        let mut daemon = self.enclave.command(self.binaries.join("tenured"));
        daemon.args(["--run-dir", &self.path("run"), "--state-dir", &self.path("state")]);
        daemon.args(["--config", &self.path("tenured.toml")]);
        self.daemon = Some(daemon.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?);
        Ok(())
    }

    /// Kills the daemon, as if its machine lost power.
    ///
    /// # Errors
    /// When it is not running.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let mut daemon = self.daemon.take().context("the daemon is not running")?;
        let inside = i32::try_from(child_of(daemon.id())?)?;
        kill_process(Pid::from_raw(inside).context("the daemon is gone")?, Signal::KILL)?;
        daemon.wait()?;
        Ok(())
    }

    /// Adds a pod as a runtime does; returns its address.
    ///
    /// # Errors
    /// With the plugin's answer.
    pub(crate) fn add(&mut self) -> Result<String> {
        let pod = format!("{}-pod-{}", self.name, self.pods + 1);
        let answer = self.plugin("ADD", &pod)?;
        self.pods += 1;
        let answer: Value = serde_json::from_str(&answer)?;
        let address = answer.pointer("/ips/0/address").and_then(Value::as_str);
        let address = address.with_context(|| format!("no address in {answer}"))?;
        Ok(address.split('/').next().unwrap_or_default().to_owned())
    }

    /// Deletes the last pod.
    ///
    /// # Errors
    /// With the plugin's answer.
    pub(crate) fn delete(&mut self) -> Result<()> {
        let pod = format!("{}-pod-{}", self.name, self.pods);
        self.plugin("DEL", &pod)?;
        self.pods -= 1;
        Ok(())
    }

    fn plugin(&self, verb: &str, pod: &str) -> Result<String> {
        let config = json!({
            "cniVersion": "1.1.0", "name": "pods", "type": "tenure",
            "ipam": { "type": "tenure", "socket": self.path("run/cni.sock") },
        });
        let mut plugin = self.enclave.command(self.binaries.join("tenure"));
        plugin
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", pod)
            .env("CNI_NETNS", format!("/run/netns/{pod}"))
            .env("CNI_IFNAME", "eth0")
            .env("CNI_PATH", self.binaries);
        let (status, printed) = command::feed(&mut plugin, &config.to_string())?;
        ensure!(status.success(), "{verb} of {pod}: {}", printed.trim());
        Ok(printed)
    }

    /// The addresses in use, sorted.
    ///
    /// # Errors
    /// When `tenurectl` fails.
    pub(crate) fn addresses(&self) -> Result<Vec<String>> {
        let text = self.table(&["allocations", "--output", "json"])?;
        let answer: Value = serde_json::from_str(&text)?;
        let list = answer.get("allocations").unwrap_or(&answer).as_array().context("no list")?;
        let address =
            |one: &Value| one.pointer("/addresses/0").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut addresses: Vec<String> = list.iter().map(address).collect();
        addresses.sort();
        Ok(addresses)
    }

    /// Runs `tenurectl` and returns what it prints.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn table(&self, arguments: &[&str]) -> Result<String> {
        let mut ctl: Command = self.enclave.command(self.binaries.join("tenurectl"));
        command::output(ctl.args(["--run-dir", &self.path("run")]).args(arguments))
    }

    /// The end of the daemon's log.
    pub(crate) fn log(&self) -> String {
        let log = fs::read_to_string(self.enclave.outside(&self.path("tenured.log"))).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
    }

    fn path(&self, name: &str) -> String {
        format!("/run/{}/{name}", self.name)
    }
}
