//! The first moments after a crash: a pod that comes then waits for what the daemon does not know yet.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, wait};

use crate::crashes::{held, hold, let_go};
use crate::node::{AwsNode, LIMIT, config};
use crate::pod;

/// As often does the metadata service leave the daemon's first question unanswered before the stored identity counts.
const UNANSWERED: u32 = 5;

/// One pod comes while there is no daemon, one before the daemon knows on which instance it runs, and one before EC2 has said what the node
/// has. No address is free. Each ADD is called once, and each has an address in the end.
pub(crate) fn first_moments() -> anyhow::Result<()> {
    let exact = config("warm = { addresses = 1 }", "")
        .replace("[aws]", "[aws]\nschedulable = false\nready_addresses = 0");
    let mut node = AwsNode::prepare("t3.small", &exact)?;
    node.node.start_daemon()?;
    for number in 0..2 {
        node.add(&format!("pod-{number}"))?;
    }
    node.node.kill_daemon()?;
    let resets = json!({ "call": "/", "from": 1, "times": UNANSWERED, "kind": "reset" });
    node.double.ask("POST", "/faults", &resets)?;
    hold(&node, "DescribeNetworkInterfaces", "delay_before")?;

    let early = begin(&node, "early")?;
    node.node.launch_daemon()?;
    wait::holds("a daemon that answers", LIMIT, || Ok(node.condition("starting").is_ok()))?;
    let first = begin(&node, "first")?;
    let number = held(&node)?;
    let second = begin(&node, "second")?;
    second.1.rests()?;
    for (sandbox, running) in [&early, &first] {
        running.rests().with_context(|| format!("{} does not wait", sandbox.container))?;
    }
    let_go(&node, number)?;
    for (sandbox, running) in [early, first, second] {
        let name = sandbox.container.clone();
        let outcome = running.finish()?;
        let address = outcome.address().with_context(|| format!("{name}: {outcome}"))?;
        node.pods.insert(name, (sandbox, pod::bare(&address).to_owned()));
    }
    ensure!(node.pods.len() == 5);
    node.all_have_their_way()?;
    node.all_is_well()
}

/// An instance is stopped and started as a larger type, and the metadata service cannot be reached yet when the daemon starts: it begins with the
/// identity from before, and goes on with the present one.
pub(crate) fn another_type() -> anyhow::Result<()> {
    let mut node = AwsNode::start("m5.large", "warm = { interfaces = 0, addresses = 1 }", "")?;
    node.add("pod-0")?;
    let room = |node: &AwsNode| -> anyhow::Result<Value> {
        Ok(node.node.daemon.ctl(&["cloud"])?["limits"]["interfaces"].clone())
    };
    ensure!(room(&node)? == 3, "{}", room(&node)?);
    node.node.kill_daemon()?;
    let instance = node.double.get("/state")?["instances"][0]["id"].clone();
    let instance = instance.as_str().context("an instance")?;
    node.double.ask("PUT", &format!("/instances/{instance}/type"), &json!("m5.4xlarge"))?;
    let resets = json!({ "call": "/", "from": 1, "times": UNANSWERED, "kind": "reset" });
    node.double.ask("POST", "/faults", &resets)?;
    node.node.start_daemon()?;
    wait::holds("the limits of the present type", LIMIT, || Ok(room(&node).is_ok_and(|room| room == 8)))?;
    let log = node.node.daemon.log(" ");
    ensure!(log.contains("using the node's identity from before"), "{log}");
    node.add("pod-1")?;
    node.all_have_their_way()?;
    node.all_is_well()
}

/// An interface's link goes while the daemon is down: nobody leads packets to its pods, and their DELs do not wait for that.
pub(crate) fn lost_link() -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", "warm = { interfaces = 0, addresses = 1 }", "")?;
    for number in 0..4 {
        node.add(&format!("pod-{number}"))?;
    }
    let interfaces = node.double.interfaces()?;
    let secondary = interfaces.iter().find(|interface| interface["attachment"]["device"] == 1);
    let secondary = json!(secondary.context("a second interface")?["ipv4"]).to_string();
    let is_on = |address: &str| secondary.contains(&format!("\"{address}\""));
    let lost = node.pods.iter().find(|(_, (_, address))| is_on(address)).map(|(name, _)| name.clone());
    let lost = lost.with_context(|| format!("a pod on {secondary}"))?;
    node.node.kill_daemon()?;
    node.node.sh("ip link del ens6")?;
    node.node.start_daemon()?;
    let begin = Instant::now();
    node.del(&lost)?;
    let took = begin.elapsed();
    ensure!(took < Duration::from_secs(8), "the DEL took {took:?}");
    Ok(())
}

/// Begins the only ADD of a pod.
fn begin(node: &AwsNode, name: &str) -> anyhow::Result<(Attachment, tenure_e2e::plugin::Running)> {
    let sandbox = node.node.sandbox(name)?;
    let running = node.node.plugin(name)?.start("ADD", &sandbox, pod::conf().to_string().as_bytes())?;
    Ok((sandbox, running))
}
