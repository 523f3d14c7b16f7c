//! The real Multus, which reads pods and their networks from a real API server, and calls Debian's `bridge` with addresses from tenure.

#[path = "multus/cluster.rs"]
mod cluster;
#[path = "multus/node.rs"]
mod node;

use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::json;
use tenure_e2e::{Need, Suite};

use node::MultusNode;

fn main() -> ExitCode {
    Suite::new()
        .test(
            "a_pod_has_three_networks_one_of_them_twice_and_gives_all_addresses_back",
            Need::NAMESPACES,
            several,
        )
        .test(
            "two_addresses_of_one_family_are_refused_in_words_and_nothing_stays",
            Need::NAMESPACES,
            conflict,
        )
        .run()
}

/// Between ADD and DEL, one definition changes and one goes: the DEL is Multus' own, from what it remembers.
fn several() -> anyhow::Result<()> {
    let node = MultusNode::start()?;
    let networks = json!([
        { "name": "blue" },
        { "name": "blue", "interface": "again", "cni-args": { "ips": ["10.71.0.77"] } },
        { "name": "red", "ips": ["10.72.0.9", "fd72::9"] },
    ]);
    let pod = node.create("several", &networks)?;
    let added = pod.call("ADD")?;
    let address = added.address().with_context(|| added.to_string())?;
    ensure!(address.starts_with("10.70.0."), "the default network's address is the result: {address}");
    ensure!(node.interfaces("default")? == ["eth0"]);
    ensure!(node.interfaces("blue")? == ["again", "net1"], "{:?}", node.interfaces("blue"));
    ensure!(node.interfaces("red")? == ["net3"], "{:?}", node.interfaces("red"));
    let status = node.cluster.status("several").context("status")?;
    for expected in ["10.70.0.", "10.71.0.77", "10.72.0.9", "fd72::9"] {
        ensure!(status.contains(expected), "{expected} is not in {status}");
    }
    pod.call("CHECK")?.silent()?;
    node.cluster.define("blue", &node::network("blue", &["10.99.0.0/24"]))?;
    node.cluster.delete_definition("red")?;
    pod.call("DEL")?.silent()?;
    node.has_none()
}

fn conflict() -> anyhow::Result<()> {
    let node = MultusNode::start()?;
    let pod = node.create("conflict", &json!([{ "name": "blue", "ips": ["10.71.0.5", "10.71.0.6"] }]))?;
    let error = pod.call("ADD")?.error()?;
    let words = "10.71.0.5 and 10.71.0.6 are both requested";
    ensure!(error.msg.contains(words), "{error:?}");
    node.has_none()?;
    // As a runtime does after an ADD that failed.
    pod.call("DEL")?.silent()?;
    node.has_none()
}
