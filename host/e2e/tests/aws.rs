//! A node on AWS: the built daemon with the AWS SDK, a double of EC2 and its metadata service, and traffic through real links.

#![expect(
    clippy::indexing_slicing,
    reason = "clippy does not recognise a suite without a harness as test code"
)]

#[path = "aws/api_server.rs"]
mod api_server;
#[path = "aws/cluster.rs"]
mod cluster;
#[path = "aws/crashes.rs"]
mod crashes;
#[path = "aws/double.rs"]
mod double;
#[path = "eni/node.rs"]
#[expect(dead_code, reason = "the suite of the main plugin uses more of it")]
mod eni;
#[path = "aws/following.rs"]
mod following;
#[path = "aws/moving.rs"]
mod moving;
#[path = "aws/node.rs"]
mod node;
#[path = "aws/outage.rs"]
mod outage;
#[path = "aws/pod.rs"]
mod pod;
#[path = "aws/restarting.rs"]
mod restarting;

use std::process::ExitCode;
use std::thread;

use anyhow::ensure;
use serde_json::Value;
use tenure_e2e::{Need, Suite, wait};

use self::node::{AwsNode, LIMIT};

/// The needs of every test.
const NEEDS: &[Need] = &[Need::Root, Need::IPROUTE, Need::UTIL_LINUX];

fn main() -> ExitCode {
    Suite::new()
        .test("pods_come_and_interfaces_grow", NEEDS, growth)
        .test("prefixes_serve_many_pods_with_few_calls", NEEDS, prefixes)
        .test("an_interface_without_pods_is_given_back", NEEDS, shrinking)
        .test("a_node_is_ready_once_it_has_addresses", NEEDS, readiness)
        .test("a_label_brings_its_targets_with_a_reload", NEEDS, labels)
        .test("what_the_node_is_reaches_the_plan_with_a_reload", NEEDS, node_state)
        .test("what_the_api_server_says_of_the_node_is_followed", NEEDS, cluster::followed)
        .test("a_network_has_the_cooldown_that_its_settings_ask_for", NEEDS, cooldown)
        .test("a_daemon_killed_at_each_call_of_growth_goes_on", NEEDS, crashes::growing)
        .test("what_became_of_a_call_whose_answer_is_lost_is_found_out", NEEDS, crashes::lost_answers)
        .test("a_daemon_killed_at_each_call_of_shrinking_goes_on", NEEDS, crashes::shrinking)
        .test("a_pod_that_comes_in_the_first_moments_after_a_crash_waits", NEEDS, restarting::first_moments)
        .test("a_del_does_not_wait_for_the_link_of_an_interface", NEEDS, restarting::lost_link)
        .test("a_node_of_another_type_has_its_limits", NEEDS, restarting::another_type)
        .test("a_node_restarts_while_ec2_and_the_metadata_are_silent", NEEDS, outage::silent)
        .test("a_custom_network_restarts_while_everybody_is_silent", NEEDS, cluster::silent)
        .test("the_outage_of_an_unreachable_runtime_detaches_nothing", NEEDS, outage::unreachable_runtime)
        .test("a_node_moves_over_from_ipamd", NEEDS, moving::from_ipamd)
        .test("what_is_imported_before_ec2_has_answered_is_imported_again", NEEDS, moving::too_early)
        .test("a_node_moves_back_to_ipamd", &[NEEDS, &[Need::GO]].concat(), moving::to_ipamd)
        .test("a_lost_state_takes_nothing_from_pods", NEEDS, outage::lost_state)
        .test("what_is_denied_is_named", NEEDS, outage::denied)
        .test("an_address_that_ec2_took_from_a_pod_is_found_with_the_pod", NEEDS, outage::taken_address)
        .test("a_node_serves_what_is_attached_by_the_metadata_alone", NEEDS, following::metadata_alone)
        .test("ranges_and_groups_are_followed", NEEDS, following::ranges_and_groups)
        .test("a_silent_metadata_service_is_said", NEEDS, following::silent_metadata)
        .run()
}

/// A t3.small has three interfaces with three pods each.
fn growth() -> anyhow::Result<()> {
    let settings = "podMtu = 8900\nvethPrefix = \"pod\"\nwarm = { interfaces = 0, addresses = 1 }";
    let mut node = AwsNode::start("t3.small", settings, "")?;
    for number in 0..9 {
        node.add(&format!("pod-{number}"))?;
        if number % 4 == 0 {
            node.all_have_their_way()?;
        }
    }
    node.all_have_their_way()?;
    node.all_is_well()?;
    ensure!(node.double.interfaces()?.len() == 3, "{:?}", node.double.interfaces()?);
    let links = node.node.sh("ip -o link show type veth")?;
    let of_pods = links.lines().filter(|link| link.contains(": pod") && link.contains("mtu 8900"));
    ensure!(of_pods.count() == 9, "{links}");
    // One more does not fit, and its caller is told at once.
    let sandbox = node.node.sandbox("one-too-many")?;
    wait::holds("the full node's refusal", LIMIT, || {
        let refused = node.try_add("one-too-many", &sandbox)?;
        Ok(refused.to_string().contains("pool-exhausted"))
    })?;
    let gone: Vec<String> = node.pods.keys().cloned().collect();
    for pod in gone {
        node.del(&pod)?;
    }
    ensure!(node.node.links()?.iter().all(|link| link.starts_with("ens")), "left: {:?}", node.node.links()?);
    node.all_is_well()
}

fn prefixes() -> anyhow::Result<()> {
    let node = AwsNode::start("m5.large", "prefixes = true\nwarm = { prefixes = 1 }", "")?;
    let names: Vec<String> = (0..40).map(|number| format!("pod-{number}")).collect();
    let added: Vec<anyhow::Result<()>> = thread::scope(|scope| {
        let add = |name: &String| {
            let sandbox = node.node.sandbox(name)?;
            wait::holds(&format!("pod {name}"), LIMIT, || Ok(node.try_add(name, &sandbox)?.address().is_ok()))
        };
        let started: Vec<_> = names.iter().map(|name| scope.spawn(move || add(name))).collect();
        started.into_iter().map(|adding| adding.join().map_err(|_| anyhow::anyhow!("panicked"))?).collect()
    });
    added.into_iter().collect::<anyhow::Result<()>>()?;
    let held = node.node.daemon.allocations("pods")?;
    let pods: Vec<String> = held.iter().filter_map(address_of).collect();
    ensure!(pods.len() == 40, "{held:?}");
    node.double.all_is_well(&pods)?;
    let calls = node.double.calls("AssignPrivateIpAddresses")?;
    ensure!(calls <= 4, "{calls} calls for 40 pods");
    Ok(())
}

/// The first address of an allocation.
fn address_of(allocation: &Value) -> Option<String> {
    let address = allocation["addresses"][0].as_str()?;
    Some(address.split('/').next()?.to_owned())
}

fn shrinking() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", "warm = { interfaces = 0, addresses = 1 }", "")?;
    for number in 0..5 {
        node.add(&format!("pod-{number}"))?;
    }
    ensure!(node.double.interfaces()?.len() == 2);
    for number in 1..5 {
        node.del(&format!("pod-{number}"))?;
    }
    // No interface goes within its first minute.
    wait::holds("the second interface's end", LIMIT * 6, || Ok(node.double.known()? == 1))?;
    node.all_have_their_way()?;
    node.all_is_well()
}

/// Without an answer of EC2, a new node has no address, and says so; it has some as soon as EC2 answers.
fn readiness() -> anyhow::Result<()> {
    let config = node::config("warm = { interfaces = 0, addresses = 1 }", "");
    let mut node = AwsNode::prepare("t3.small", &config)?;
    let failing = serde_json::json!({ "call": "*", "kind": "code", "code": "InternalError", "message": "not now", "status": 500 });
    node.double.ask("POST", "/faults", &failing)?;
    node.node.launch_daemon()?;
    wait::holds("a daemon without addresses", LIMIT, || {
        Ok(node.condition("supply-missing").ok().flatten().is_some_and(|why| why.contains("has 0 of the 1")))
    })?;
    let output = node.node.daemon.ctl_output(&["status"])?;
    let status: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(status["state"] == "not-ready", "{status:#}");
    wait::holds("what is wrong", LIMIT, || Ok(node.condition("cloud-unreachable")?.is_some()))?;
    node.double.ask("DELETE", "/faults", &Value::Null)?;
    let output = node.node.daemon.ctl_output(&["status", "--wait", "60"])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    node.add("pod-0")?;
    node.all_have_their_way()?;
    ensure!(node.condition("supply-missing")?.is_none());
    // A describe that failed is repeated within seconds, and said until it succeeds.
    wait::holds("an end of the trouble", LIMIT, || Ok(node.condition("cloud-unreachable")?.is_none()))?;
    node.all_is_well()
}

/// The node's cooldown is a second here.
fn cooldown() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", "env = { IP_COOLDOWN_PERIOD = \"600\" }", "")?;
    let address = node.add("pod")?;
    node.del("pod")?;
    let found = node.node.daemon.ctl(&["allocation", &address])?;
    let left = found["states"][0]["cooling_for_ms"].as_u64();
    ensure!(left.is_some_and(|left| left > 500_000), "{found:#}");
    ensure!(node.add("next")? != address);
    node.all_is_well()
}

/// A node that pods are not scheduled to keeps nothing warm, and one that is about to end requests nothing.
fn node_state() -> anyhow::Result<()> {
    let config = node::config("warm = { addresses = 2 }", "");
    let cordoned = config.replace("[aws]", "[aws]\nschedulable = false\nready_addresses = 0");
    let mut node = AwsNode::prepare("t3.small", &cordoned)?;
    node.node.start_daemon()?;
    let told = |node: &AwsNode, name: &str, value: &str| {
        wait::holds("what the policy learns of the node", LIMIT, || {
            let explained = node.node.daemon.ctl(&["plan", "--explain"]);
            Ok(explained.is_ok_and(|explained| explained["attributes"][name] == value))
        })
    };
    told(&node, "schedulable", "false")?;
    node.add("pod-0")?;
    let assigned = |node: &AwsNode| {
        let interfaces = node.double.interfaces()?;
        // One is the interface's own.
        anyhow::Ok(interfaces[0]["ipv4"].as_array().map_or(0, Vec::len).saturating_sub(1))
    };
    ensure!(assigned(&node)? == 1, "only what the pod needs");
    let in_use = cordoned.replace("schedulable = false", "terminating = true\nmax_pods = 4");
    node.node.daemon.configure(&in_use)?;
    let reloaded = node.node.daemon.ctl(&["reload"])?;
    let live = serde_json::json!(["aws.max_pods", "aws.schedulable", "aws.terminating"]);
    ensure!(reloaded["applied"] == live, "{reloaded:#}");
    told(&node, "terminating", "true")?;
    told(&node, "pods.max", "4")?;
    ensure!(assigned(&node)? == 1, "nothing is requested for a node that is about to end");
    node.node.daemon.configure(&in_use.replace("terminating = true", ""))?;
    node.node.daemon.ctl(&["reload"])?;
    wait::holds("warm addresses", LIMIT, || Ok(assigned(&node)? == 3))?;
    node.all_is_well()
}

/// A label that the configuration has only since a reload is told to the policy, with the type that the metadata service names.
fn labels() -> anyhow::Result<()> {
    let config = node::config(
        "warm = { addresses = 1 }
         [[networks.pods.ipam.targets]]
         instanceTypes = [\"t3.*\"]
         labels = { pool = \"batch\" }
         warm = { addresses = 3 }",
        "",
    );
    let mut node = AwsNode::prepare("t3.small", &config)?;
    node.node.start_daemon()?;
    let assigned = |node: &AwsNode| {
        let interfaces = node.double.interfaces()?;
        // One is the interface's own.
        anyhow::Ok(interfaces[0]["ipv4"].as_array().map_or(0, Vec::len).saturating_sub(1))
    };
    wait::holds("one warm address", LIMIT, || Ok(assigned(&node)? == 1))?;
    let labelled = config.replace("[aws]", "[aws]\nlabels = { pool = \"batch\" }");
    node.node.daemon.configure(&labelled)?;
    let reloaded = node.node.daemon.ctl(&["reload"])?;
    ensure!(reloaded["applied"] == serde_json::json!(["aws.labels"]), "{reloaded:#}");
    wait::holds("the targets of the label", LIMIT, || Ok(assigned(&node)? == 3))?;
    let explained = node.node.daemon.ctl(&["plan", "--explain"])?;
    let label = serde_json::json!({ "kind": "label", "name": "pool", "attributes": { "value": "batch" } });
    ensure!(explained["objects"].as_array().is_some_and(|objects| objects.contains(&label)), "{explained:#}");
    ensure!(explained["attributes"]["instance.type"] == "t3.small", "{explained:#}");
    let words = "targets: entry 1 (instance type t3.*, label pool=batch)";
    ensure!(explained["lines"].to_string().contains(words), "{explained:#}");
    node.add("pod-0")?;
    node.all_is_well()
}
