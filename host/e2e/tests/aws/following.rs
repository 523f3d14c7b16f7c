//! What changes around a running node, and the metadata service as the source of it.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::wait;

use crate::node::{self, AwsNode, LIMIT};

const SETTINGS: &str = "warm = { interfaces = 0, addresses = 1 }";

/// A new node whose EC2 must not be called serves what somebody else has attached.
pub(crate) fn metadata_alone() -> anyhow::Result<()> {
    let config = node::config("imdsOnly = true", "");
    let mut node = AwsNode::prepare("t3.small", &config)?;
    let mut assigned = node.double.assign(2)?;
    let before = calls_of_ec2(&node)?;
    node.node.start_daemon()?;
    let mut pods = vec![node.add("pod-0")?, node.add("pod-1")?];
    pods.sort();
    assigned.sort();
    ensure!(pods == assigned, "{pods:?}, {assigned:?}");
    node.all_have_their_way()?;
    let sandbox = node.node.sandbox("one-too-many")?;
    let refused = node.try_add("one-too-many", &sandbox)?.to_string();
    ensure!(refused.contains("pool-exhausted") && !refused.contains("add a range"), "{refused}");
    node.node.kill_daemon()?;
    node.node.start_daemon()?;
    node.all_have_their_way()?;
    // The pods have their way before the daemon knows its instance again.
    let shown = wait::until("the instance", LIMIT, || Ok(node.node.daemon.ctl(&["cloud"]).ok()))?;
    ensure!(shown["source"] == "imds", "{shown:#}");
    ensure!(shown["trouble"].as_str().unwrap_or_default().is_empty(), "{shown:#}");
    ensure!(calls_of_ec2(&node)? == before, "EC2 was called");
    node.all_is_well()
}

/// How many calls have reached EC2.
fn calls_of_ec2(node: &AwsNode) -> anyhow::Result<usize> {
    let journal = node.double.get("/journal")?;
    Ok(journal.as_array().context("a list of calls")?.iter().filter(|call| call["face"] == "ec2").count())
}

/// The VPC gets a range, and the primary interface other groups, while the node runs.
pub(crate) fn ranges_and_groups() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    for number in 0..4 {
        node.add(&format!("pod-{number}"))?;
    }
    let account = &node.double.get("/state")?["account"];
    let mut ranges: Vec<Value> = account["cidrs"].as_array().context("ranges")?.clone();
    let mut groups: Vec<Value> = account["groups"].as_array().context("groups")?.clone();
    ranges.push(json!("10.77.0.0/16"));
    groups.push(json!("sg-other"));
    node.double.ask("PUT", "/account", &json!({ "cidrs": ranges, "groups": groups }))?;
    let primary = node.double.interfaces()?;
    let primary =
        primary.iter().find(|of| of["attachment"]["device"] == 0).context("the primary interface")?;
    let id = primary["id"].as_str().context("its id")?;
    node.double.call("ModifyNetworkInterfaceAttribute", id, "SecurityGroupId.1=sg-other")?;
    wait::holds("the exemption of the new range", LIMIT, || {
        Ok(node.node.sh("nft list ruleset")?.contains("10.77.0.0/16"))
    })?;
    wait::holds("the groups of all interfaces", LIMIT, || {
        let interfaces = node.double.interfaces()?;
        Ok(interfaces.len() == 2 && interfaces.iter().all(|of| of["groups"] == json!(["sg-other"])))
    })?;
    node.all_have_their_way()?;
    node.all_is_well()
}

/// The metadata service falls silent while the daemon runs.
pub(crate) fn silent_metadata() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    node.add("pod-0")?;
    ensure!(node.condition("cloud-unreachable")?.is_none());
    node.double.ask("POST", "/faults", &json!({ "call": "/", "kind": "reset" }))?;
    wait::holds("that the metadata service is silent", LIMIT, || {
        Ok(node.condition("cloud-unreachable")?.is_some_and(|why| why.contains("metadata service")))
    })?;
    node.add("pod-1")?;
    node.double.ask("DELETE", "/faults", &Value::Null)?;
    wait::holds("the end of that", LIMIT, || Ok(node.condition("cloud-unreachable")?.is_none()))?;
    node.all_have_their_way()?;
    node.all_is_well()
}
