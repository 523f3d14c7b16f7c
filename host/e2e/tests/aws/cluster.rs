//! A node on AWS whose daemon follows its Node and its ENIConfig in a real API server.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::wait;

use crate::api_server::{CUSTOM, NodesServer, TAINT};
use crate::node::{AwsNode, LIMIT};

/// From a new machine to one that is scaled in, and an API server that goes away in between.
pub(crate) fn followed() -> anyhow::Result<()> {
    let settings = format!(
        "{CUSTOM}
         warm = {{ addresses = 2 }}
         [[networks.pods.ipam.targets]]
         labels = {{ pool = \"batch\" }}
         warm = {{ addresses = 3 }}"
    );
    let mut node = AwsNode::prepare("t3.small", "")?;
    let (mut server, config) = NodesServer::start(&node, &settings)?;

    // Without its ENIConfig, a node gets no interface, and is not ready.
    node.node.launch_daemon()?;
    told(&node, "pods.max", "8")?;
    let lacks = "there is no ENIConfig eu-1a, so no interface is created";
    wait::holds("the want of an ENIConfig", LIMIT, || {
        Ok(node.condition("node-unknown")?.as_deref() == Some(lacks))
    })?;
    ensure!(
        node.double.interfaces()?.len() == 1 && server.has_taint(TAINT)?,
        "{:?}",
        node.double.interfaces()?
    );
    server.create_eni_config(&node)?;
    let output = node.node.daemon.ctl_output(&["status", "--wait", "60"])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    wait::holds("the end of the taint", LIMIT, || Ok(!server.has_taint(TAINT)?))?;
    ensure!(server.has_taint("dedicated")?, "the other taint is gone, too");
    warm(&node, 2)?;
    let interface = created(&node)?.context("no interface was created")?;
    ensure!(interface["groups"] == json!(["sg-pods"]), "{interface:#}");
    ensure!(node.condition("node-unknown")?.is_none());

    server.change(&json!({ "metadata": { "labels": { "pool": "batch" } } }))?;
    warm(&node, 3)?;

    // The API server goes, and the daemon with it: what was said last is in force, before and after.
    server.api.plane.stop_server()?;
    wait::holds("the API server's silence", LIMIT, || {
        Ok(node.condition("node-unknown")?.is_some_and(|why| why.contains("cannot read Node blue: ")))
    })?;
    warm(&node, 3)?;
    node.node.kill_daemon()?;
    node.node.start_daemon()?;
    let explained = told(&node, "pods.max", "8")?;
    let label = json!({ "kind": "label", "name": "pool", "attributes": { "value": "batch" } });
    ensure!(explained["objects"].as_array().is_some_and(|objects| objects.contains(&label)), "{explained:#}");
    for number in 0..4 {
        node.add(&format!("pod-{number}"))?;
    }
    // More than one interface has.
    ensure!(node.double.interfaces()?.len() == 3, "{:?}", node.double.interfaces()?);
    node.all_have_their_way()?;

    // The machine is cordoned and scaled in.
    server.api.plane.start_server()?;
    server.api.serves()?;
    let taints = json!([{ "key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule" }]);
    let leaving = json!({ "spec": { "unschedulable": true, "taints": taints } });
    server.change(&leaving)?;
    told(&node, "schedulable", "false")?;
    told(&node, "terminating", "true")?;
    wait::holds("the API server's word", LIMIT, || Ok(node.condition("node-unknown")?.is_none()))?;
    // The configuration wins.
    node.node.daemon.configure(&config.replace("[aws]", "[aws]\nterminating = false"))?;
    node.node.daemon.ctl(&["reload"])?;
    told(&node, "terminating", "false")?;
    told(&node, "schedulable", "false")?;
    node.all_is_well()
}

/// The outage of a node in a custom network: EC2, its metadata service and the API server are silent while it restarts. The ledger has nothing
/// of its primary interface, and all the same its pods keep their way, and its flows their marks and their translation.
pub(crate) fn silent() -> anyhow::Result<()> {
    let mut node = AwsNode::prepare("t3.small", "")?;
    let settings = format!("{CUSTOM}\nwarm = {{ interfaces = 0, addresses = 1 }}");
    let (mut server, _) = NodesServer::start(&node, &settings)?;
    server.create_eni_config(&node)?;
    node.node.start_daemon()?;
    for number in 0..4 {
        node.add(&format!("pod-{number}"))?;
    }
    // The primary interface serves no pods, and one other has three.
    node.rests_with(3)?;
    node.all_have_their_way()?;
    let before = way_out(&node)?;
    ensure!(before.contains("masquerade") || before.contains("snat"), "{before}");

    server.api.plane.stop_server()?;
    node.silence()?;
    node.node.kill_daemon()?;
    node.sweep()?;
    node.node.start_daemon()?;
    node.all_have_their_way()?;
    let after = way_out(&node)?;
    ensure!(after == before, "before:\n{before}\nafter:\n{after}");
    // Nor is anything forgotten once EC2 has been asked in vain.
    wait::holds("EC2's silence", LIMIT, || {
        let said = node.condition("cloud-unreachable")?;
        Ok(said.is_some_and(|why| why.contains("EC2 does not answer Describe")))
    })?;
    node.sweep()?;
    wait::holds("the same way out", LIMIT, || Ok(way_out(&node)? == before))?;
    // An address was free, and still is.
    node.add("pod-4")?;
    node.all_have_their_way()?;

    // What the ENIConfig said last counts until the API server answers.
    node.double.ask("DELETE", "/faults", &Value::Null)?;
    node.add("pod-5")?;
    wait::holds("everything well", LIMIT, || Ok(node.condition("cloud-unreachable")?.is_none()))?;
    server.api.plane.start_server()?;
    server.api.serves()?;
    wait::holds("the API server's word", LIMIT, || Ok(node.condition("node-unknown")?.is_none()))?;
    node.all_have_their_way()?;
    let primary = node.double.interfaces()?;
    let primary = primary.iter().find(|interface| interface["attachment"]["device"] == 0);
    let assigned = primary.and_then(|of| of["ipv4"].as_array()).map_or(0, Vec::len);
    ensure!(assigned == 1, "the primary interface has its own address alone: {primary:#?}");
    node.all_is_well()
}

/// The rules and the translation of packets on the node, without counters.
fn way_out(node: &AwsNode) -> anyhow::Result<String> {
    let mut rules: Vec<String> = node.node.sh("ip rule show")?.lines().map(str::to_owned).collect();
    rules.sort_unstable();
    Ok(format!("{}\n{}", rules.join("\n"), node.node.sh("nft --stateless list ruleset")?))
}

/// Waits until the policy is told something of the node; returns what it is told in all.
fn told(node: &AwsNode, name: &str, value: &str) -> anyhow::Result<Value> {
    wait::until(&format!("{name} = {value}"), LIMIT, || {
        let explained = node.node.daemon.ctl(&["plan", "--explain"]);
        Ok(explained.ok().filter(|explained| explained["attributes"][name] == value))
    })
}

/// The first interface that was created for the node.
fn created(node: &AwsNode) -> anyhow::Result<Option<Value>> {
    let interfaces = node.double.interfaces()?;
    Ok(interfaces.into_iter().find(|interface| interface["attachment"]["device"] == 1))
}

/// Waits until EC2 has assigned so many addresses to that interface, besides its own.
fn warm(node: &AwsNode, count: usize) -> anyhow::Result<()> {
    wait::holds(&format!("{count} warm addresses"), LIMIT, || {
        let created = created(node)?;
        let assigned = created.as_ref().and_then(|of| of["ipv4"].as_array()).map_or(0, Vec::len);
        Ok(assigned == count + 1)
    })
}
