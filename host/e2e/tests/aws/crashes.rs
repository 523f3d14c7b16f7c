//! A daemon that is killed before and after each call that changes something, and whose answers are lost.

use std::thread;

use anyhow::{Context, anyhow, ensure};
use serde_json::{Value, json};
use tenure_e2e::wait;

use crate::node::{AwsNode, LIMIT, config};

/// So long would a call be held, in milliseconds, if nobody let it go.
const LONG: u64 = 600_000;

/// The settings of the nodes here: each new address is wanted as soon as the one before is used.
const SETTINGS: &str = "warm = { interfaces = 0, addresses = 1 }";

/// The point at which a call is held: it has arrived and is applied later, or it was applied and its answer comes later.
const SIDES: [&str; 2] = ["delay_before", "delay_after"];

/// The calls that make a node grow, in their order.
const GROWTH: [&str; 4] = [
    "AssignPrivateIpAddresses",
    "CreateNetworkInterface",
    "AttachNetworkInterface",
    "ModifyNetworkInterfaceAttribute",
];

/// Holds the next call of an action.
pub(crate) fn hold(node: &AwsNode, call: &str, side: &str) -> anyhow::Result<()> {
    let fault = json!({ "call": call, "from": 1, "times": 1, "kind": side, "delay_ms": LONG });
    node.double.ask("POST", "/faults", &fault).map(drop)
}

/// Waits until the call is held, kills the daemon, lets the call go, and starts the daemon again.
fn kill_at_held(node: &mut AwsNode) -> anyhow::Result<()> {
    let number = held(node)?;
    node.node.kill_daemon()?;
    let_go(node, number)?;
    node.node.start_daemon()
}

/// Waits until a call is held, and returns its number.
pub(crate) fn held(node: &AwsNode) -> anyhow::Result<u64> {
    wait::until("a held call", LIMIT * 2, || Ok(node.double.get("/held")?[0]["number"].as_u64()))
}

/// Lets a call go, and holds no further ones.
pub(crate) fn let_go(node: &AwsNode, number: u64) -> anyhow::Result<()> {
    node.double.ask("DELETE", "/faults", &Value::Null)?;
    node.double.ask("DELETE", &format!("/held/{number}"), &Value::Null)?;
    Ok(())
}

/// Each call of growth, each time on a new node: the pods keep their way, and the next ones come.
pub(crate) fn growing() -> anyhow::Result<()> {
    for (call, side) in GROWTH.iter().flat_map(|call| SIDES.map(|side| (call, side))) {
        grow(call, side).with_context(|| format!("{side} of {call}"))?;
    }
    Ok(())
}

fn grow(call: &str, side: &str) -> anyhow::Result<()> {
    let mut node = AwsNode::prepare("t3.small", &config(SETTINGS, ""))?;
    hold(&node, call, side)?;
    node.node.launch_daemon()?;
    if call != "AssignPrivateIpAddresses" {
        // The primary interface is full with these, and a warm address is wanted.
        for number in 0..3 {
            node.add(&format!("pod-{number}"))?;
        }
    }
    kill_at_held(&mut node)?;
    for number in 3..6 {
        node.add(&format!("pod-{number}"))?;
    }
    node.all_have_their_way()?;
    node.all_is_well()
}

/// The answer to each call of growth is lost, and the next request finds out what became of it.
pub(crate) fn lost_answers() -> anyhow::Result<()> {
    let mut node = AwsNode::prepare("t3.small", &config(SETTINGS, ""))?;
    for call in GROWTH {
        let fault = json!({ "call": call, "from": 1, "times": 1, "kind": "lost_after" });
        node.double.ask("POST", "/faults", &fault)?;
    }
    node.node.start_daemon()?;
    for number in 0..7 {
        node.add(&format!("pod-{number}"))?;
    }
    ensure!(node.double.interfaces()?.len() == 3, "{:?}", node.double.interfaces()?);
    node.all_have_their_way()?;
    node.all_is_well()
}

/// Each call of what is given back, all on one node for each side: the pod that stays keeps its way.
pub(crate) fn shrinking() -> anyhow::Result<()> {
    thread::scope(|scope| {
        let started = SIDES.map(|side| (side, scope.spawn(move || shrink(side))));
        started.into_iter().try_for_each(|(side, shrinking)| {
            shrinking.join().map_err(|_| anyhow!("panicked"))?.context(side)
        })
    })
}

fn shrink(side: &str) -> anyhow::Result<()> {
    let mut node = AwsNode::start("t3.small", SETTINGS, "")?;
    for number in 0..5 {
        node.add(&format!("pod-{number}"))?;
    }
    hold(&node, "UnassignPrivateIpAddresses", side)?;
    for number in 1..5 {
        node.del(&format!("pod-{number}"))?;
    }
    for next in ["DetachNetworkInterface", "DeleteNetworkInterface"] {
        kill_at_held(&mut node)?;
        hold(&node, next, side)?;
    }
    kill_at_held(&mut node)?;
    wait::holds("the end of the second interface", LIMIT, || Ok(node.double.known()? == 1))?;
    node.all_have_their_way()?;
    node.add("pod-9")?;
    node.all_have_their_way()?;
    node.all_is_well()
}
