//! The unit with `tenure-eni.conf`: the daemon makes the links of pods.

use std::fs;
use std::net::IpAddr;

use anyhow::{Context, ensure};
use tenure_e2e::{Attachment, traffic, wait};

use crate::eni::{LIMIT, Node, config, with_result};
use crate::machine::{Unit, boot, shipped};

const DROP_IN: &str = "tenure-eni.conf";

/// Adds a pod, and returns what CHECK is called with, and its addresses.
fn add(node: &Node, sandbox: &Attachment) -> anyhow::Result<(serde_json::Value, Vec<IpAddr>)> {
    let added = node.plugin(&sandbox.container)?.call("ADD", sandbox, &config())?;
    let bare = |cidr: &String| Ok(cidr.split('/').next().context("an address")?.parse()?);
    let addresses = added.addresses()?.iter().map(bare).collect::<anyhow::Result<_>>()?;
    Ok((with_result(&config(), &added.result()?), addresses))
}

/// The pods' network namespaces are made, and mounted, after the daemon has started.
pub(crate) fn made() -> anyhow::Result<()> {
    let node = boot(&[DROP_IN])?;
    let unit = Unit(&node);
    unit.start()?;
    let (one, two) = (node.sandbox("one")?, node.sandbox("two")?);
    node.plugin("one")?.call("STATUS", &one, &config())?.silent()?;
    let (of_one, _) = add(&node, &one)?;
    let (of_two, addresses) = add(&node, &two)?;
    for address in &addresses {
        traffic::greet(&node.pod(&one), &node.pod(&two), *address).context("from pod to pod")?;
        traffic::greet(&node.own(), &node.pod(&two), *address).context("from the node to a pod")?;
    }
    // What somebody takes away comes back.
    node.sh("ip route flush table 9000")?;
    node.is_settled("pods")?;
    // A daemon that starts again resumes with them.
    unit.crash()?;
    for (sandbox, check) in [(&one, of_one), (&two, of_two)] {
        node.plugin(&sandbox.container)?.call("CHECK", sandbox, &check)?.silent()?;
        node.plugin(&sandbox.container)?.call("DEL", sandbox, &config())?.silent()?;
    }
    ensure!(node.links()?.is_empty(), "left: {:?}", node.links()?);
    unit.systemctl(&["stop", "tenured"])?;
    unit.is("inactive dead success")
}

/// The unit alone grants no link, and what refuses one names the drop-in.
pub(crate) fn forbidden() -> anyhow::Result<()> {
    let node = boot(&[])?;
    let unit = Unit(&node);
    unit.start()?;
    let sandbox = node.sandbox("web")?;
    let error = node.plugin("web")?.call("STATUS", &sandbox, &config())?.error_code(50)?;
    ensure!(format!("{error:?}").contains("link-forbidden"), "{error:?}");
    let error = node.plugin("web")?.call("ADD", &sandbox, &config())?.error_code(161)?;
    ensure!(format!("{error:?}").contains(DROP_IN), "{error:?}");
    wait::holds("no allocation", LIMIT, || Ok(node.daemon.allocations("pods")?.is_empty()))?;
    // It helps.
    unit.install(DROP_IN)?;
    unit.restart()?;
    add(&node, &sandbox).map(drop)
}

/// Some runtimes name a sandbox by a process. The drop-in has the line that this needs.
pub(crate) fn by_process() -> anyhow::Result<()> {
    let node = boot(&[DROP_IN])?;
    let unit = Unit(&node);
    unit.start()?;
    let pid = node.sh("unshare --net sh -c 'echo up; exec sleep 600' </dev/null >/run/up 2>&1 & echo $!")?;
    wait::holds("a sandbox", LIMIT, || Ok(node.sh("cat /run/up")? == "up"))?;
    let sandbox = Attachment::in_netns("web", format!("/proc/{pid}/ns/net"));
    let error = node.plugin("web")?.call("ADD", &sandbox, &config())?.error_code(161)?;
    ensure!(error.msg.contains("CAP_SYS_PTRACE"), "{error:?}");
    let shipped = fs::read_to_string(shipped(DROP_IN))?;
    let line = shipped
        .lines()
        .find_map(|line| line.strip_prefix('#').filter(|line| line.ends_with("=CAP_SYS_PTRACE")));
    unit.add(line.context("a line to uncomment")?)?;
    unit.restart()?;
    let (_, addresses) = add(&node, &sandbox)?;
    for address in addresses {
        traffic::greet(&node.own(), &node.pod(&sandbox), address)?;
    }
    node.plugin("web")?.call("DEL", &sandbox, &config())?.silent()
}
