//! The daemon is killed at any point: no link stays without its pod, and no pod without its way.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, ensure};
use tenure_e2e::plugin::Running;
use tenure_e2e::random::{Random, seeds};
use tenure_e2e::{Attachment, folder, traffic, wait};

use crate::bare;
use crate::node::{LIMIT, Node, config, with_result};

/// How often the daemon is killed, and how many pods there are.
const ROUNDS: usize = 12;
const PODS: usize = 8;

/// A moment that the seed chooses.
fn moment(random: &mut Random) {
    let (_sender, never) = channel::<()>();
    let _ = never.recv_timeout(Duration::from_micros(random.below(60_000)));
}

pub(crate) fn killed() -> anyhow::Result<()> {
    seeds("eni")?.try_for_each(killed_by)
}

fn killed_by(seed: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    let mut node = Node::start()?;
    let mut sandboxes = BTreeMap::new();
    for number in 0..PODS {
        let name = format!("pod-{number}");
        sandboxes.insert(name.clone(), (node.sandbox(&name)?, false));
    }
    for round in 0..ROUNDS {
        let mut running: Vec<(String, bool, Running)> = Vec::new();
        for (name, (sandbox, lives)) in &sandboxes {
            if random.below(3) > 0 {
                let verb = if *lives { "DEL" } else { "ADD" };
                let call = node.plugin(name)?.start(verb, sandbox, config().to_string().as_bytes())?;
                running.push((name.clone(), *lives, call));
            }
        }
        moment(&mut random);
        node.kill_daemon()?;
        let mut again = Vec::new();
        for (name, lived, call) in running {
            let outcome = call.finish()?;
            let (sandbox, lives) = sandboxes.get_mut(&name).context("a pod")?;
            match (lived, outcome.succeeded) {
                (false, true) => *lives = true,
                (true, true) => *lives = false,
                // A runtime ends what it could not begin, and repeats a DEL until it succeeds.
                (_, false) => {
                    *lives = false;
                    again.push((name.clone(), sandbox.clone()));
                }
            }
        }
        node.start_daemon()?;
        for (name, sandbox) in again {
            node.plugin(&name)?.call("DEL", &sandbox, &config())?.silent()?;
        }
        let lives = sandboxes.values().filter(|(_, lives)| *lives).count();
        wait::holds("the spooled DELs", LIMIT, || Ok(node.daemon.allocations("pods")?.len() == lives))
            .with_context(|| format!("round {round}"))?;
        node.is_settled("pods").with_context(|| format!("round {round}"))?;
        for (name, (sandbox, _)) in sandboxes.iter().filter(|(_, (_, lives))| *lives) {
            has_its_way(&node, name, sandbox).with_context(|| format!("round {round}: {name}"))?;
        }
    }
    Ok(())
}

/// A repeated ADD tells the pod's result; CHECK and a packet from the node show that it holds.
fn has_its_way(node: &Node, name: &str, sandbox: &Attachment) -> anyhow::Result<()> {
    let plugin = node.plugin(name)?;
    let allocations = node.daemon.allocations("pods")?;
    let own = allocations.iter().find(|allocation| allocation["container_id"] == *name);
    let address = own.and_then(|own| own["addresses"][0].as_str()).context("an address")?.to_owned();
    for address in bare(&[address])? {
        traffic::greet(&node.own(), &node.pod(sandbox), address)?;
    }
    let result = plugin.call("ADD", sandbox, &config())?.result()?;
    plugin.call("CHECK", sandbox, &with_result(&config(), &result))?.silent()
}

pub(crate) fn down() -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let (one, two) = (node.sandbox("one")?, node.sandbox("two")?);
    node.plugin("one")?.call("ADD", &one, &config())?.result()?;
    node.plugin("two")?.call("ADD", &two, &config())?.result()?;
    node.kill_daemon()?;
    node.plugin("one")?.call("ADD", &one, &config())?.error_code(11)?;
    node.plugin("one")?.call("DEL", &one, &config())?.silent()?;
    node.plugin("one")?.call("DEL", &one, &config())?.silent()?;
    ensure!(node.links()?.len() == 2, "the link ends with its namespace, or with the daemon's replay");
    node.start_daemon()?;
    wait::holds("the link to go", LIMIT, || Ok(node.links()?.len() == 1))?;
    node.is_settled("pods")?;
    has_its_way(&node, "two", &two)
}

pub(crate) fn restored() -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let sandbox = node.sandbox("web")?;
    let added = node.plugin("web")?.call("ADD", &sandbox, &config())?;
    let host = node.links()?.pop().context("a link")?;
    let mac = node.sh(&format!("ip -o link show {host} | sed 's,.*link/ether \\([0-9a-f:]*\\).*,\\1,'"))?;
    // As if the kill had come before the link, before its alias, or before its contents; and of a pod that the ledger does not have.
    for left in [
        format!("ip link del {host}"),
        format!("ip link del {host}; ip link add {host} address {mac} type veth peer name eth0 netns web"),
        format!("ip link set {host} alias ''; ip -n web addr flush dev eth0; ip rule del pref 512"),
        "ip link add eni00000000000 type veth peer name x; ip link set eni00000000000 alias 'tenure pods/77'"
            .to_owned(),
    ] {
        node.kill_daemon()?;
        node.sh(&left)?;
        node.start_daemon()?;
        let check = with_result(&config(), &added.result()?);
        wait::holds(&left, LIMIT, || {
            let checked = node.plugin("web")?.call("CHECK", &sandbox, &check)?;
            Ok(checked.succeeded && node.links()? == [host.clone()])
        })?;
        node.is_settled("pods")?;
        has_its_way(&node, "web", &sandbox)?;
    }
    Ok(())
}

/// Pods that the copy does not know have links and routes, which are not left over.
pub(crate) fn older_copy() -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let (one, two) = (node.sandbox("one")?, node.sandbox("two")?);
    node.plugin("one")?.call("ADD", &one, &config())?.result()?;
    node.kill_daemon()?;
    let state = node.daemon.state_directory();
    let (older, right) = (node.daemon.path("older"), node.daemon.path("right"));
    folder::copy(&state, &older)?;
    node.start_daemon()?;
    node.plugin("two")?.call("ADD", &two, &config())?.result()?;
    node.is_settled("pods")?;
    node.kill_daemon()?;
    fs::rename(&state, &right)?;
    fs::rename(&older, &state)?;
    node.launch_daemon()?;
    wait::holds("the loss to be seen", LIMIT, || {
        let status = node.daemon.ctl_output(&["status"])?;
        Ok(String::from_utf8_lossy(&status.stdout).contains("state-lost"))
    })?;
    // The keeper acts at once, and looks for links a while later.
    for _ in 0..20 {
        ensure!(node.links()?.len() == 2 && node.routes("-4")? == node.links()?, "{:?}", node.routes("-4"));
        thread::sleep(Duration::from_millis(200));
    }
    node.kill_daemon()?;
    fs::remove_dir_all(&state)?;
    fs::rename(&right, &state)?;
    node.start_daemon()?;
    node.is_settled("pods")?;
    has_its_way(&node, "two", &two)
}
