//! The unit without a drop-in: the daemon serves the IPAM plugin.

use std::fs;

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Outcome, request, wait};

use crate::eni::{LIMIT, Node};
use crate::machine::{Unit, boot, config, shipped};

const SUBNET: &str = "10.83.0.0/24";

fn call(node: &Node, verb: &str, pod: &str) -> anyhow::Result<Outcome> {
    Unit(node).ipam()?.call(verb, &Attachment::of(pod), &config(SUBNET))
}

/// From the first start, without any directory, to a stop.
pub(crate) fn serves() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.is("inactive dead success")?;
    unit.start()?;
    unit.is("active running success")?;
    let modes = node.sh("stat -c %a /run/tenure /var/lib/tenure /etc/tenure | paste -sd ' '")?;
    ensure!(modes == "750 700 755", "{modes}");
    // What the unit takes away is gone.
    let status = node.sh(&format!("cat /proc/{}/status", unit.property("MainPID")?))?;
    for line in ["CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        ensure!(status.contains(line), "{line:?} is not in {status}");
    }
    let address = call(&node, "ADD", "pod")?.address()?;
    ensure!(address.starts_with("10.83.0."), "{address}");
    call(&node, "STATUS", "pod")?.silent()?;
    // The example that is shipped, which has metrics on loopback.
    unit.configure(&fs::read_to_string(shipped("tenured.toml"))?)?;
    unit.restart()?;
    let own = node.own();
    let metrics = wait::until("metrics", LIMIT, || {
        Ok(request::ask(&own, "127.0.0.1:9477", "GET /metrics", &[], "").ok())
    })?;
    ensure!(metrics.status == 200 && metrics.body.contains("tenure_"), "{metrics:?}");
    ensure!(call(&node, "ADD", "pod")?.address()? == address, "the pod has another address than {address}");
    call(&node, "DEL", "pod")?.silent()?;
    ensure!(node.daemon.allocations("pods")?.is_empty(), "the DEL left something");
    unit.systemctl(&["stop", "tenured"])?;
    unit.is("inactive dead success")?;
    ensure!(unit.property("ExecMainStatus")? == "0", "{}", unit.property("ExecMainStatus")?);
    // Where the plugin spools DELs while there is no daemon.
    call(&node, "DEL", "pod")?.silent()
}

/// The names of the daemon's networks.
fn networks(node: &Node) -> anyhow::Result<Vec<Value>> {
    Ok(node.daemon.networks()?.iter().map(|network| network["name"].clone()).collect())
}

pub(crate) fn reloads() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    let defined = |name: &str| format!("[networks.{name}.ipam]\nranges = [[{{ subnet = \"{SUBNET}\" }}]]\n");
    unit.configure(&defined("first"))?;
    unit.start()?;
    ensure!(networks(&node)? == [json!("first")], "{:?}", networks(&node)?);
    let second = defined("first") + &defined("second").replace("10.83", "10.84");
    unit.configure(&second)?;
    unit.systemctl(&["reload", "tenured"])?;
    ensure!(networks(&node)? == [json!("first"), json!("second")], "{:?}", networks(&node)?);
    let pid = unit.property("MainPID")?;
    unit.configure(&format!("{second}[limits]\nin_flihgt = 3\n"))?;
    ensure!(unit.systemctl(&["reload", "tenured"]).is_err(), "a broken file was accepted");
    unit.is("active running success")?;
    ensure!(unit.journal()?.contains("in_flihgt"), "the journal does not say why");
    ensure!(networks(&node)?.len() == 2 && unit.property("MainPID")? == pid, "something changed");
    unit.configure(&second)?;
    unit.systemctl(&["reload", "tenured"])?;
    unit.is("active running success")
}

pub(crate) fn restarts() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.start()?;
    let address = call(&node, "ADD", "pod")?.address()?;
    let before = node.daemon.allocations("pods")?;
    unit.crash()?;
    ensure!(node.daemon.allocations("pods")? == before, "{:?}", node.daemon.allocations("pods")?);
    ensure!(call(&node, "ADD", "pod")?.address()? == address, "the pod has another address than {address}");
    call(&node, "DEL", "pod")?.silent()
}

pub(crate) fn gives_up() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.configure("[limits]\nin_flihgt = 3\n")?;
    ensure!(unit.systemctl(&["start", "tenured"]).is_err(), "it started with a broken file");
    // Between two tries, it would be activating.
    unit.is("failed failed exit-code")?;
    let (status, restarts) = (unit.property("ExecMainStatus")?, unit.property("NRestarts")?);
    ensure!(status == "2" && restarts == "0", "exit status {status} after {restarts} restarts");
    ensure!(unit.journal()?.contains("in_flihgt"), "the journal does not say why");
    unit.configure("")?;
    unit.start()
}
