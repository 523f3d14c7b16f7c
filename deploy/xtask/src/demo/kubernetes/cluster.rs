//! The cluster as `kubectl` shows it, and the node's ledger as `tenurectl` shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tenure_fixtures::go_module::NODE;

use super::super::enclave::Enclave;
use super::super::wait;
use super::machine::{Machine, SHARED, TARGET};
use super::{plane, workloads};
use crate::command;

/// The client of the API server.
#[derive(Debug)]
pub(super) struct Cluster<'a> {
    enclave: &'a Enclave,
    kubectl: PathBuf,
}

impl<'a> Cluster<'a> {
    /// A client with all rights.
    pub(super) fn new(enclave: &'a Enclave, target: &Path) -> Self {
        Self { enclave, kubectl: plane::program(target, &NODE, "kubectl") }
    }

    /// A `kubectl` with these arguments.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> Command {
        let mut command = self.enclave.command(&self.kubectl);
        command.arg(format!("--kubeconfig={SHARED}/admin.kubeconfig")).args(arguments);
        command
    }

    /// Runs `kubectl`.
    ///
    /// # Errors
    /// When it fails.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String> {
        command::output(&mut self.kubectl(arguments))
    }

    /// Applies manifests by server-side apply.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub(super) fn apply(&self, manifests: &str) -> Result<()> {
        let mut kubectl = self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"]);
        let (status, printed) = command::feed(&mut kubectl, manifests)?;
        ensure!(status.success(), "kubectl does not apply the manifests: {printed}");
        Ok(())
    }

    /// The items of a list of objects.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn list(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let text = self.run(&[&["get", "--output=json"], arguments].concat())?;
        let list: Value = serde_json::from_str(&text)?;
        Ok(list.get("items").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Starts a Job, and waits for its end.
    ///
    /// # Errors
    /// If it fails, for example because it does not reach an address.
    pub(super) fn completes(&self, name: &str, addresses: &[&str]) -> Result<()> {
        self.apply(&workloads::job(name, addresses))?;
        let job = format!("job/{name}");
        self.run(&["wait", "--for=condition=Complete", &job, "--timeout=60s"]).map(drop)
    }

    /// Waits for the end of a rollout.
    ///
    /// # Errors
    /// When it takes longer than two minutes.
    pub(super) fn rolled_out(&self, namespace: &str, workload: &str) -> Result<()> {
        self.run(&["--namespace", namespace, "rollout", "status", workload, "--timeout=300s"]).map(drop)
    }

    /// The addresses of all living pods that have one of the pods' network, each with the pod's name.
    ///
    /// # Errors
    /// When the pods cannot be listed, or two have the same address.
    pub(super) fn pod_addresses(&self) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for pod in self.list(&["pods", "--namespace=default"])? {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            // A finished pod of a Job has no sandbox any more, and keeps the address in its status.
            if text("/status/phase").is_some_and(|phase| phase == "Running")
                && let (Some(address), Some(name)) = (text("/status/podIP"), text("/metadata/name"))
                && let Some(other) = found.insert(address.clone(), name.clone())
            {
                anyhow::bail!("{name} and {other} both have {address}");
            }
        }
        Ok(found)
    }

    /// How often the kubelet could not make a pod's sandbox so far, and the last message about it.
    ///
    /// # Errors
    /// When the events cannot be listed.
    pub(super) fn failed_sandboxes(&self) -> Result<(u64, String)> {
        let events = self.list(&[
            "events",
            "--all-namespaces",
            "--field-selector=reason=FailedCreatePodSandBox",
            "--sort-by=.lastTimestamp",
        ])?;
        let count = |event: &Value| {
            let series = event.pointer("/series/count").or_else(|| event.get("count"));
            series.and_then(Value::as_u64).unwrap_or(1)
        };
        let last = events.last().and_then(|event| event.get("message")?.as_str());
        Ok((events.iter().map(count).sum(), last.unwrap_or_default().to_owned()))
    }
}

/// The addresses that the node's ledger has given out, without their lengths.
///
/// # Errors
/// When the daemon does not answer.
pub(super) fn ledger(machine: &Machine<'_>) -> Result<BTreeSet<String>> {
    let text = tenurectl(machine, &["allocations", "--output", "json"])?;
    let answer: Value = serde_json::from_str(&text)?;
    let list = answer.get("allocations").unwrap_or(&answer).as_array().context("no list of allocations")?;
    let address = |held: &Value| {
        let text = held.pointer("/addresses/0").and_then(Value::as_str).unwrap_or_default();
        text.split('/').next().unwrap_or_default().to_owned()
    };
    Ok(list.iter().map(address).collect())
}

/// Runs the built `tenurectl` on the machine, as an operator logged in there does.
///
/// # Errors
/// When it fails.
pub(super) fn tenurectl(machine: &Machine<'_>, arguments: &[&str]) -> Result<String> {
    command::output(machine.command(format!("{TARGET}/debug/tenurectl")).args(arguments))
}

/// Waits until this many pods live, and the ledger has given out exactly their addresses.
///
/// # Errors
/// When that does not come true within a minute: then an address has leaked, or a pod has one that the ledger does not know.
pub(super) fn settled(cluster: &Cluster<'_>, machine: &Machine<'_>, pods: usize) -> Result<()> {
    let mut last = String::new();
    let agreed = wait::holds("the ledger to agree with the pods", || {
        // The daemon may be on its way.
        let (Ok(ledger), living) = (ledger(machine), cluster.pod_addresses()?) else { return Ok(false) };
        last = format!("ledger: {ledger:?}\npods: {living:?}");
        Ok(living.len() == pods && living.keys().eq(&ledger))
    });
    agreed.with_context(|| last)
}
