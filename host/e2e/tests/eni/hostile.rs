//! A pod that does what it can to the node's work on its link, or whose link is broken: it harms nobody else.

use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context, ensure};
use rustix::fs::{FlockOperation, flock};
use tenure_e2e::{Attachment, traffic, wait};

use crate::bare;
use crate::node::{LIMIT, Node, config, with_result};

/// How many routes a pod makes: nearly as many as are looked at.
const ROUTES: u32 = 190_000;

/// By how much the daemon may grow when it looks at them, in KiB. What is under way between the kernel and the daemon takes 30 MiB;
/// keeping them all takes far more.
const GROWTH: u64 = 48 << 10;

/// Two names of pods in the namespace `default` whose digests agree in the digits that a link's name has: `eni50807f0fc43`.
const NAMESAKES: [&str; 2] = ["p-71178", "p-6276944"];

/// Everybody else is served, by the runtime's measure: an ADD and a DEL are answered.
fn others_are_served(node: &Node, name: &str) -> anyhow::Result<()> {
    let (sandbox, plugin) = (node.sandbox(name)?, node.plugin(name)?);
    let added = plugin.call("ADD", &sandbox, &config())?;
    for address in bare(&added.addresses()?)? {
        traffic::greet(&node.own(), &node.pod(&sandbox), address)?;
    }
    plugin.call("DEL", &sandbox, &config())?.silent()
}

/// Has a pod's process take the lock of its own namespace, which every process there can open. It lasts as long as the file.
fn lock(node: &Node, sandbox: &Attachment) -> anyhow::Result<File> {
    traffic::inside(&node.pod(sandbox), || {
        let namespace = File::open("/proc/thread-self/ns/net")?;
        flock(&namespace, FlockOperation::LockExclusive)?;
        Ok(namespace)
    })
}

pub(crate) fn locks() -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let names = ["web", "gone", "other"];
    let mut pods = Vec::new();
    for name in names {
        let (sandbox, plugin) = (node.sandbox(name)?, node.plugin(name)?);
        let result = plugin.call("ADD", &sandbox, &config())?.result()?;
        pods.push((sandbox, plugin, result));
    }
    let [(web, of_web, result), (gone, of_gone, _), (other, of_other, _)] = pods.as_slice() else {
        unreachable!("three pods")
    };
    let _held = [lock(&node, web)?, lock(&node, gone)?];
    node.kill_daemon()?;
    // Its DEL waits in the spool, and its link has to be looked at first.
    of_gone.call("DEL", gone, &config())?.silent()?;
    node.start_daemon()?;
    wait::holds("the spooled DEL", LIMIT, || Ok(node.daemon.allocations("pods")?.len() == 2))?;
    of_other.call("DEL", other, &config())?.silent()?;
    others_are_served(&node, "next")?;
    // The one that holds the lock is served itself, too: its sandbox's link is repaired, ended, and made once more.
    of_web.call("CHECK", web, &with_result(&config(), result))?.silent()?;
    let host = node.links()?.pop().context("a link")?;
    node.sh(&format!("ip link del {host}"))?;
    of_web.call("ADD", web, &config())?.result()?;
    of_web.call("DEL", web, &config())?.silent()?;
    of_web.call("ADD", web, &config())?.result()?;
    of_gone.call("ADD", gone, &config())?.result()?;
    node.is_settled("pods")
}

pub(crate) fn routes() -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let (web, plugin) = (node.sandbox("web")?, node.plugin("web")?);
    let result = plugin.call("ADD", &web, &config())?.result()?;
    let mut ip = node.enclave.command("ip");
    let mut ip = ip.args(["-n", "web", "-batch", "-"]).stdin(Stdio::piped()).spawn()?;
    let lines = (0..ROUTES).map(|at| {
        let [_, a, b, c] = at.to_be_bytes();
        format!("route add 20.{a}.{b}.{c}/32 dev eth0\n")
    });
    ip.stdin.take().context("its input")?.write_all(lines.collect::<String>().as_bytes())?;
    ensure!(ip.wait()?.success(), "the pod has its routes");
    let before = node.peak_rss()?;
    plugin.call("CHECK", &web, &with_result(&config(), &result))?.silent()?;
    let grown = node.peak_rss()? - before;
    ensure!(grown < GROWTH, "the daemon has grown by {grown} KiB");
    node.kill_daemon()?;
    node.start_daemon()?;
    others_are_served(&node, "next")?;
    plugin.call("CHECK", &web, &with_result(&config(), &result))?.silent()?;
    plugin.call("DEL", &web, &config())?.silent()?;
    node.is_settled("pods")
}

pub(crate) fn down() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (web, other) = (node.sandbox("web")?, node.sandbox("other")?);
    let added = node.plugin("web")?.call("ADD", &web, &config())?;
    let host = node.links()?.pop().context("a link")?;
    node.plugin("other")?.call("ADD", &other, &config())?.result()?;
    for next in ["next-1", "next-2", "next-3"] {
        node.sh(&format!("ip link set {host} down"))?;
        others_are_served(&node, next)?;
    }
    wait::holds("the link to come up", LIMIT, || {
        Ok(node.sh(&format!("ip link show {host}"))?.contains(",UP"))
    })?;
    node.is_settled("pods")?;
    // A failure that lasts: routes of IPv6 to this link are refused.
    let sysctl = |value: u8| node.sh(&format!("echo {value} > /proc/sys/net/ipv6/conf/{host}/disable_ipv6"));
    sysctl(1)?;
    others_are_served(&node, "next-4")?;
    let refused = node.plugin("web")?.call("ADD", &web, &config())?.error_code(160)?;
    ensure!(format!("{refused:?}").contains(&host), "{refused:?}");
    let status = node.plugin("other")?.call("STATUS", &other, &config())?;
    status.silent()?;
    // What is removed of others goes, too.
    node.plugin("other")?.call("DEL", &other, &config())?.silent()?;
    wait::holds("the way of the pod that ended to go", LIMIT, || {
        Ok(node.routes("-4")? == node.links()? && node.links()? == [host.clone()])
    })?;
    sysctl(0)?;
    wait::holds("the pod's way", LIMIT, || Ok(node.routes("-6")? == [host.clone()]))?;
    for address in bare(&added.addresses()?)?.into_iter().filter(std::net::IpAddr::is_ipv4) {
        traffic::greet(&node.own(), &node.pod(&web), address)?;
    }
    Ok(())
}

pub(crate) fn namesakes() -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let [first, second] = NAMESAKES;
    let (one, two) = (node.sandbox("one")?, node.sandbox("two")?);
    let added = node.plugin(first)?.call("ADD", &one, &config())?;
    let result = added.result()?;
    ensure!(node.links()? == ["eni50807f0fc43"], "{:?}", node.links()?);
    let keeps = |node: &Node| {
        node.plugin(first)?.call("CHECK", &one, &with_result(&config(), &result))?.silent()?;
        for address in bare(&added.addresses()?)? {
            traffic::greet(&node.own(), &node.pod(&one), address)?;
        }
        anyhow::Ok(())
    };
    let thief = node.plugin(second)?;
    let error = thief.call("ADD", &two, &config())?.error_code(164)?;
    ensure!(format!("{error:?}").contains("another name"), "{error:?}");
    keeps(&node).context("after the other's ADD")?;
    thief.call("DEL", &two, &config())?.silent()?;
    node.kill_daemon()?;
    node.start_daemon()?;
    keeps(&node).context("after a crash")?;
    // Once the first is gone, the name is free.
    node.plugin(first)?.call("DEL", &one, &config())?.silent()?;
    thief.call("ADD", &two, &config())?.result()?;
    node.is_settled("pods")
}
