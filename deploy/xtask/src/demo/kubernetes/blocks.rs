//! The same node as one of a cluster: the operator and its definitions are installed, and pods have addresses of leased blocks.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::super::wait;
use super::cluster;
use super::machine::{KUBELET, NAME};
use super::stage::{AGENT, NAMESPACE, Stage};
use super::workloads;
use crate::{chart, kubernetes};

/// The network whose addresses come from blocks. The previous one has ranges, and keeps them.
const NETWORK: &str = "leased";

/// The pool of the cluster.
const POOL: &str = "apiVersion: ipam.tenure.dev/v1alpha1\nkind: AddressPool\nmetadata: {name: pods}\nspec:\n  \
     ipv4: {cidrs: [10.64.0.0/24], blockPrefix: 28}\n  cooldownSeconds: 0\n";

/// The pool of single addresses, and one of them with a name. `ptp` needs a gateway, for which a single address has no place.
const CLAIM: &str = "apiVersion: ipam.tenure.dev/v1alpha1\nkind: AddressPool\nmetadata: {name: names}\nspec:\n  \
     usage: Claims\n  ipv4: {cidrs: [10.65.0.0/28], blockPrefix: 32}\n  gateway: {ipv4: 10.65.0.14}\n---\n\
     apiVersion: ipam.tenure.dev/v1alpha1\nkind: AddressClaim\nmetadata: {name: named-0, namespace: default}\nspec: {pool: names}\n";

/// The length of the blocks' prefixes, in bits.
const PREFIX: u32 = 28;

/// The boot's id where a container sees it: it has a `/proc` of its own, in which the host's boot counts.
const BOOT_ID: &str = "/run/tenure/boot_id";

/// The taint with which a kubelet registers its Node.
const TAINT: &str = "ipam.tenure.dev/not-ready";

/// The pods of the Deployment.
const PODS: usize = 6;

/// The only problem that a doctor may find here: the machine's disk is in memory.
const EXPECTED_PROBLEM: &str = "state-directory";

/// Installs profile cluster, runs a Deployment, and asks the doctor.
///
/// # Errors
/// When a guarantee is broken.
pub(super) fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.tell.act("8. A node of a cluster");
    let machine = &stage.node.machine;
    crate::command::output(machine.command("cp").args(["/proc/sys/kernel/random/boot_id", BOOT_ID]))?;
    let boot = format!("agent.configuration=[node]\nboot_id_file = \"{BOOT_ID}\"");
    let network = format!("network.name={NETWORK}");
    let values = [
        "namespace.create=true",
        "profile=cluster",
        "network.cniVersion=1.1.0",
        "cluster.pools={pods,names}",
        &network,
        // No kube-proxy runs here, and there is one node.
        "cluster.apiServer.host=127.0.0.1",
        "operator.replicas=1",
        &boot,
    ];
    let manifests = chart::render(stage.workspace, &kubernetes::helm(stage.workspace)?, &values)?;
    stage.tell.turn("kubectl apply --server-side -f cluster.yaml, and an AddressPool of 16 blocks");
    let taint = format!("{TAINT}=:NoSchedule");
    stage.cluster.run(&["taint", "node", NAME, &taint])?;
    stage.cluster.apply(&manifests)?;
    stage.cluster.run(&[
        "wait",
        "--for=condition=Established",
        "crd/addresspools.ipam.tenure.dev",
        "crd/addressclaims.ipam.tenure.dev",
        "--timeout=60s",
    ])?;
    stage.cluster.apply(POOL)?;
    stage.cluster.apply(CLAIM)?;
    stage.cluster.rolled_out(NAMESPACE, "deployment/tenure-operator")?;
    stage.cluster.rolled_out(NAMESPACE, AGENT)?;
    wait::holds("the end of the start-up taint", || {
        let keys = "--output=jsonpath={.spec.taints[*].key}";
        Ok(!stage.cluster.run(&["get", "node", NAME, keys])?.contains(TAINT))
    })?;
    stage.tell.good("the operator runs, the node has leased a block, and its start-up taint is gone");
    stage.cluster.apply(&workloads::deployment("leased", PODS))?;
    stage.cluster.rolled_out("default", "deployment/leased")?;
    cluster::settled(&stage.cluster, &stage.node.machine, PODS)?;
    let blocks = blocks(stage)?;
    for (address, pod) in stage.cluster.pod_addresses()? {
        let block = u32::from(address.parse::<Ipv4Addr>()?) >> (u32::BITS - PREFIX);
        ensure!(blocks.contains(&block), "{pod} has {address}, which is in no block of the node");
    }
    stage.tell.good(&format!("{PODS} pods have addresses of the {} blocks of the node", blocks.len()));
    stage.cluster.completes("outside", &[KUBELET])?;
    stage.cluster.run(&["delete", "job/outside", "--timeout=60s"])?;
    stage.tell.good("a Job reaches the node, which is in none of the pods' subnets");
    doctor(stage)?;
    stage.cluster.run(&["delete", "deployment/leased", "--timeout=60s"])?;
    named(stage)?;
    cluster::settled(&stage.cluster, &stage.node.machine, 0)
}

/// A pod of a StatefulSet has the address of its claim, and so has the next pod of its name.
fn named(stage: &Stage<'_>) -> Result<()> {
    let claim = "addressclaim/named-0";
    stage.cluster.run(&["wait", "--for=condition=Bound", claim, "--timeout=60s"])?;
    let address = stage.cluster.run(&["get", claim, "--output=jsonpath={.status.address}"])?;
    stage.cluster.apply(&workloads::claiming_set("named"))?;
    for turn in ["first", "second"] {
        stage.cluster.rolled_out("default", "statefulset/named")?;
        cluster::settled(&stage.cluster, &stage.node.machine, 1)?;
        let pods = stage.cluster.pod_addresses()?;
        ensure!(pods.contains_key(address.trim()), "the {turn} pod has not {address} of its claim: {pods:?}");
        stage.cluster.run(&["delete", "pod/named-0", "--timeout=60s"])?;
    }
    stage.tell.good(&format!("two pods of one name, one after the other, have {address} of their claim"));
    stage.cluster.run(&["delete", "statefulset/named", "--timeout=60s"])?;
    stage.cluster.run(&["delete", claim, "--timeout=60s"]).map(drop)
}

/// The beginnings of the addresses of the blocks that a node holds: there is one node.
fn blocks(stage: &Stage<'_>) -> Result<Vec<u32>> {
    let blocks = stage.cluster.list(&["ipblocks.ipam.tenure.dev"])?;
    let block = |block: &Value| {
        let cidr =
            block.pointer("/spec/cidr").and_then(Value::as_str).context("a block without addresses")?;
        let (address, length) = cidr.split_once('/').context("no prefix length")?;
        ensure!(length.parse() == Ok(PREFIX), "a block of another size: {cidr}");
        Ok(u32::from(address.parse::<Ipv4Addr>()?) >> (u32::BITS - PREFIX))
    };
    // A claim's address is a block, too.
    let of_node = |block: &&Value| block.pointer("/spec/claim").is_none();
    blocks.iter().filter(of_node).map(block).collect()
}

/// Runs the doctor in the agent's pod, as the chart's notes say.
fn doctor(stage: &mut Stage<'_>) -> Result<()> {
    let arguments =
        ["--namespace", NAMESPACE, "exec", AGENT, "--", "tenurectl", "doctor", "--output", "json"];
    let findings = wait::until("the doctor's answer", || {
        // It exits with 1 because of the disk; what else it finds may take a moment to be gone.
        let output = stage.cluster.kubectl(&arguments).output()?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let checks = answer.get("checks").and_then(Value::as_array).cloned().context("no checks")?;
        let of =
            |check: &Value, key: &str| check.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let problems: Vec<_> = checks
            .iter()
            .filter(|check| of(check, "verdict") == "problem" && of(check, "name") != EXPECTED_PROBLEM)
            .map(|check| format!("{}: {}", of(check, "name"), of(check, "found")))
            .collect();
        ensure!(problems.is_empty(), "tenurectl doctor finds {}", problems.join("; "));
        let rights = checks.iter().find(|check| of(check, "name") == "api-rights").context("no rights")?;
        ensure!(of(rights, "verdict") == "fine", "the agent's rights: {rights}");
        Ok(Some(of(rights, "found")))
    })?;
    stage.tell.good(&format!("tenurectl doctor, in the pod: {findings}"));
    Ok(())
}
