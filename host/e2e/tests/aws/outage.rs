//! EC2, its metadata and the container runtime do not answer, or answer wrongly: what carries a pod stays.

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tenure_e2e::wait;

use crate::node::{AwsNode, LIMIT};

const SETTINGS: &str = "warm = { interfaces = 0, addresses = 1 }";

/// The calls that take something away.
const TAKING: [&str; 3] = ["UnassignPrivateIpAddresses", "DetachNetworkInterface", "DeleteNetworkInterface"];

/// A daemon that starts while nobody answers resumes with what it has, and routes packets as before.
pub(crate) fn silent() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    for number in 0..5 {
        node.add(&format!("pod-{number}"))?;
    }
    node.del("pod-1")?;
    node.silence()?;
    node.node.kill_daemon()?;
    node.sweep()?;
    node.node.start_daemon()?;
    node.all_have_their_way()?;
    // An address was free, and still is.
    node.add("pod-5")?;
    node.all_have_their_way()?;
    wait::holds("what is wrong", LIMIT, || Ok(node.condition("cloud-unreachable")?.is_some()))?;
    node.double.ask("DELETE", "/faults", &Value::Null)?;
    node.add("pod-6")?;
    wait::holds("everything well", LIMIT, || Ok(node.condition("cloud-unreachable")?.is_none()))?;
    node.all_have_their_way()?;
    node.all_is_well()
}

/// The outage of amazon-vpc-cni-k8s: the runtime's socket is gone, so no pod is seen; the metadata lag behind and flap; EC2
/// shows less and less. A full interface must not look unused.
pub(crate) fn unreachable_runtime() -> anyhow::Result<()> {
    let runtime = "[runtime]\nsocket = \"unix:///nonexistent/containerd.sock\"\n";
    let mut node = AwsNode::start("t3.small", SETTINGS, runtime)?;
    for number in 0..6 {
        node.add(&format!("pod-{number}"))?;
    }
    ensure!(node.condition("runtime-unreachable")?.is_some(), "the runtime should not be there");
    // Six pods fill two interfaces; the warm address is on the third.
    wait::holds("the third interface", LIMIT, || Ok(node.double.interfaces()?.len() == 3))?;
    let interfaces = node.double.interfaces()?;
    let second = interfaces.iter().find(|interface| interface["attachment"]["device"] == 1);
    let second = second.and_then(|interface| interface["id"].as_str()).unwrap_or_default().to_owned();
    let lies = json!({ "describe_hides": [second], "imds_shows": { second.clone(): "flapping" } });
    node.double.ask("PUT", "/consistency", &lies)?;
    // Missing for longer than EC2's answers may lag behind.
    wait::holds("the quarantine", LIMIT, || {
        Ok(node.condition("cloud-quarantine")?.is_some_and(|why| why.contains(&second)))
    })?;
    node.all_have_their_way()?;
    // Pods that end give nothing back, as long as nobody can say what else is there.
    for pod in ["pod-1", "pod-2"] {
        node.del(pod)?;
    }
    let before: Vec<usize> = TAKING.iter().map(|call| node.double.calls(call)).collect::<Result<_, _>>()?;
    let looked = node.double.calls("DescribeNetworkInterfaces")?;
    wait::holds("five more looks", LIMIT, || {
        Ok(node.double.calls("DescribeNetworkInterfaces")? >= looked + 5)
    })?;
    let after: Vec<usize> = TAKING.iter().map(|call| node.double.calls(call)).collect::<Result<_, _>>()?;
    ensure!(before == after, "something was taken: {before:?}, {after:?}");
    ensure!(node.double.interfaces()?.len() == interfaces.len());
    // A restart in the middle changes nothing.
    node.node.kill_daemon()?;
    node.node.start_daemon()?;
    node.all_have_their_way()?;
    node.double.ask("PUT", "/consistency", &json!({}))?;
    wait::holds("the end of the quarantine", LIMIT, || Ok(node.condition("cloud-quarantine")?.is_none()))?;
    node.add("pod-7")?;
    node.all_have_their_way()?;
    node.all_is_well()
}

/// The state directory is lost while pods run: they keep their way and their addresses, and nothing is given back.
pub(crate) fn lost_state() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    for number in 0..5 {
        node.add(&format!("pod-{number}"))?;
    }
    node.node.kill_daemon()?;
    std::fs::remove_dir_all(node.node.daemon.state_directory())?;
    node.node.launch_daemon()?;
    wait::holds("the loss", LIMIT, || Ok(node.condition("state-lost").ok().flatten().is_some()))?;
    wait::holds("a daemon that serves", LIMIT, || Ok(node.condition("starting")?.is_none()))?;
    node.all_have_their_way()?;
    let taken: Vec<usize> = TAKING.iter().map(|call| node.double.calls(call)).collect::<Result<_, _>>()?;
    ensure!(taken == [0, 0, 0], "something was taken: {taken:?}");
    let sandbox = node.node.sandbox("new")?;
    let refused = node.try_add("new", &sandbox)?.to_string();
    ensure!(refused.contains("not-ready"), "{refused}");
    node.all_is_well()
}

/// A call that the role may not make is named with EC2's words, and pods go on with what there is.
pub(crate) fn denied() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    let deny = json!({ "deny": [{ "action": "CreateNetworkInterface" }] });
    node.double.ask("PUT", "/permissions", &deny)?;
    for number in 0..3 {
        node.add(&format!("pod-{number}"))?;
    }
    wait::holds("the refusal", LIMIT, || {
        let permission = "lacks the permission ec2:CreateNetworkInterface";
        Ok(node.condition("cloud-refused")?.is_some_and(|why| why.contains(permission)))
    })?;
    ensure!(node.condition("cloud-unreachable")?.is_none(), "EC2 answers");
    let sandbox = node.node.sandbox("waits")?;
    let refused = node.try_add("waits", &sandbox)?.to_string();
    // It waits almost as long as its caller does, and says what for.
    ensure!(refused.contains("not-yet") && refused.contains("CreateNetworkInterface"), "{refused}");
    node.all_have_their_way()?;
    node.all_is_well()
}

/// Somebody takes the address of a living pod off its interface: the pod keeps it, nobody else gets it, and `check` names the pod until the
/// address is back.
pub(crate) fn taken_address() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    let address = node.add("robbed")?;
    let interface = node.double.interfaces()?[0]["id"].as_str().unwrap_or_default().to_owned();
    let named = format!("PrivateIpAddress.1={address}");
    node.double.call("UnassignPrivateIpAddresses", &interface, &named)?;
    // A daemon looks at all interfaces when it starts. One that runs finds it by the metadata service, within minutes.
    node.node.kill_daemon()?;
    node.node.start_daemon()?;
    node.add("spared")?;
    wait::holds("the quarantine, with the pod", LIMIT, || {
        Ok(node.condition("cloud-quarantine")?.is_some_and(|why| why.contains("by pod default/robbed")))
    })?;
    let found = taken_addresses(&node)?;
    let [finding] = found.as_slice() else { bail!("{found:?}") };
    ensure!(finding["pod_namespace"] == "default" && finding["pod_name"] == "robbed", "{finding:#}");
    let detail = finding["detail"].as_str().unwrap_or_default();
    ensure!(detail.contains(&format!("EC2 does not show {address}/32 on interface {interface}")), "{detail}");
    ensure!(node.add("late")? != address, "a taken address was handed out again");
    node.double.call("AssignPrivateIpAddresses", &interface, &named)?;
    wait::holds("the end of the finding", LIMIT, || Ok(taken_addresses(&node)?.is_empty()))?;
    node.all_have_their_way()?;
    node.all_is_well()
}

/// The findings of `check` about addresses that were taken from pods.
fn taken_addresses(node: &AwsNode) -> anyhow::Result<Vec<Value>> {
    let output = node.node.daemon.ctl_output(&["check"])?;
    let checked: Value = serde_json::from_slice(&output.stdout)?;
    let all = checked["findings"].as_array().context("a list of findings")?;
    Ok(all.iter().filter(|finding| finding["kind"] == "address-taken").cloned().collect())
}
