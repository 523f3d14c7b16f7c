//! `cargo xtask demo --cluster`: a real API server, the operator, and three nodes that lease blocks of one pool.
//!
//! The nodes are daemons on this machine, each with a name, a machine's identity and folders of its own. Every act ends with an error if a guarantee is
//! broken: above all, that no two nodes use one address.

mod node;
mod plane;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use self::node::ClusterNode;
use self::plane::{DemoBlock, DemoPlane, KUBECONFIG};
use super::enclave::Enclave;
use super::tell::Teller;
use super::wait;
use crate::workspace::Workspace;

/// The pool: four blocks of sixteen addresses.
const POOL: &str = "apiVersion: ipam.tenure.dev/v1alpha1\nkind: AddressPool\nmetadata: {name: pods}\nspec: {ipv4: {cidrs: [10.90.0.0/26], blockPrefix: 28}}\n";

/// The folder of the kinds' definitions.
const DEFINITIONS: &str = "deploy/kubernetes/definitions";

/// Runs the demonstration in five acts. `programs` is the folder of etcd and kube-apiserver.
///
/// # Errors
/// When a guarantee is broken.
pub(super) fn show(enclave: &Enclave, workspace: &Workspace, programs: PathBuf, tell: Teller) -> Result<()> {
    let binaries = &workspace.demo_binaries();
    let mut plane = DemoPlane::start(enclave, programs)?;
    let mut nodes = Vec::new();
    for name in ["red", "green", "blue"] {
        nodes.push(ClusterNode::prepare(enclave, binaries, name)?);
    }
    let shown = acts(&mut plane, &mut nodes, workspace, tell);
    shown.with_context(|| {
        let logs: Vec<String> = nodes
            .iter()
            .map(|node| format!("the end of the log of {}:\n{}", node.name, node.log()))
            .collect();
        format!("the end of the operator's log:\n{}\n{}", plane.log("tenure-operator"), logs.join("\n"))
    })
}

fn acts(
    plane: &mut DemoPlane<'_>,
    nodes: &mut [ClusterNode<'_>],
    workspace: &Workspace,
    tell: Teller,
) -> Result<()> {
    join(plane, nodes, workspace, tell)?;
    grow(plane, nodes, tell)?;
    outage(plane, nodes, tell)?;
    die(plane, nodes, tell)?;
    come_back(plane, nodes, tell)
}

/// Act one: the nodes join, and each gets a block.
fn join(
    plane: &DemoPlane<'_>,
    nodes: &mut [ClusterNode<'_>],
    workspace: &Workspace,
    tell: Teller,
) -> Result<()> {
    tell.act("1. A pool of four blocks, an operator and three nodes");
    for entry in fs::read_dir(workspace.root.join(DEFINITIONS))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let at = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}.ipam.tenure.dev");
        plane.apply(&at, &fs::read_to_string(&path)?)?;
    }
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: tenure-system}\n";
    plane.apply("/api/v1/namespaces/tenure-system", namespace)?;
    wait::holds("the kinds to be served", || {
        Ok(plane.apply("/apis/ipam.tenure.dev/v1alpha1/addresspools/pods", POOL).is_ok())
    })?;
    start_operator(plane, &workspace.demo_binaries())?;
    tell.line("a real API server and etcd are running, tenure-operator, and the AddressPool 10.90.0.0/26");
    for node in &mut *nodes {
        plane.create("/api/v1/nodes", &node.object()?)?;
        node.start()?;
    }
    wait::holds("each node to have a block", || {
        let blocks = plane.blocks()?;
        Ok(nodes.iter().all(|node| blocks.iter().any(|block| block.node == node.name)))
    })?;
    told(plane, tell)?;
    for node in nodes {
        wait::holds("the nodes to accept their blocks", || Ok(node.add().is_ok()))?;
        tell.good(&format!("a pod on {} has {}", node.name, node.addresses()?.concat()));
    }
    Ok(())
}

fn start_operator(plane: &DemoPlane<'_>, binaries: &Path) -> Result<()> {
    let arguments = ["--identity", "demo", "--kubeconfig", KUBECONFIG].map(str::to_owned);
    // It ends with the enclave.
    plane.run_in(binaries, "tenure-operator", &arguments).map(drop)
}

/// Act two: more pods than one block carries.
fn grow(plane: &DemoPlane<'_>, nodes: &mut [ClusterNode<'_>], tell: Teller) -> Result<()> {
    tell.act("2. Sixteen pods on red: more than its block carries");
    let (red, _) = nodes.split_first_mut().context("no nodes")?;
    for _ in 0..15 {
        wait::holds("an address", || Ok(red.add().is_ok()))?;
    }
    wait::holds("a second block", || Ok(of(&plane.blocks()?, "red").len() == 2))?;
    tell.shown("tenurectl cluster   (on red)", &red.table(&["cluster"])?);
    told(plane, tell)?;
    referee(plane, nodes, tell)
}

/// Act three: without the API server, pods come and go.
fn outage(plane: &mut DemoPlane<'_>, nodes: &mut [ClusterNode<'_>], tell: Teller) -> Result<()> {
    tell.act("3. The API server goes away");
    plane.stop_server()?;
    tell.turn("kill -KILL kube-apiserver");
    for node in &mut *nodes {
        let address = node.add()?;
        node.delete()?;
        let again = node.add()?;
        tell.good(&format!("on {}, a pod came with {address} and went; the next has {again}", node.name));
    }
    plane.start_server()?;
    tell.turn("kube-apiserver is back");
    wait::holds("the blocks", || Ok(plane.blocks().is_ok_and(|blocks| blocks.len() == 4)))?;
    told(plane, tell)?;
    referee(plane, nodes, tell)
}

/// Act four: a node dies. Its blocks stay its own until somebody says that it is dead.
fn die(plane: &DemoPlane<'_>, nodes: &mut [ClusterNode<'_>], tell: Teller) -> Result<()> {
    tell.act("4. Green dies, and blue needs its addresses");
    let [_, green, blue] = nodes else { anyhow::bail!("not three nodes") };
    let before = of(&plane.blocks()?, "green");
    green.kill()?;
    tell.turn("green loses power");
    let mut added = 0;
    while blue.add().is_ok() {
        added += 1;
        ensure!(added < 64, "blue got more addresses than its block has");
    }
    ensure!(of(&plane.blocks()?, "green") == before, "green's block was taken from it without proof");
    tell.good(&format!(
        "blue's block is full after {added} more pods; green's silence alone takes nothing from green"
    ));
    let uid = plane.change("/api/v1/nodes/green", &json!({}))?;
    let uid =
        uid.pointer("/metadata/uid").and_then(|uid| uid.as_str()).context("a Node without uid")?.to_owned();
    let fenced = json!({ "metadata": { "annotations": { "ipam.tenure.dev/fenced": uid } } });
    plane.change("/api/v1/nodes/green", &fenced)?;
    tell.turn("kubectl annotate node green ipam.tenure.dev/fenced=UID");
    wait::holds("green's block to go to blue", || Ok(of(&plane.blocks()?, "blue").len() == 2))?;
    told(plane, tell)?;
    wait::holds("an address on blue", || Ok(blue.add().is_ok()))?;
    tell.good("blue continues with the block that was green's");
    Ok(())
}

/// Act five: a node that returns has what it had.
fn come_back(plane: &DemoPlane<'_>, nodes: &mut [ClusterNode<'_>], tell: Teller) -> Result<()> {
    tell.act("5. Red dies and returns");
    let (red, others) = nodes.split_first_mut().context("no nodes")?;
    let (addresses, blocks) = (red.addresses()?, of(&plane.blocks()?, "red"));
    red.kill()?;
    tell.turn("kill -KILL tenured   (on red)");
    red.start()?;
    wait::holds("red to serve", || Ok(red.table(&["status", "--wait", "5"]).is_ok()))?;
    let after = red.addresses()?;
    ensure!(after == addresses, "before: {addresses:?}\nafter: {after:?}");
    ensure!(of(&plane.blocks()?, "red") == blocks, "red has other blocks");
    tell.good(&format!("red has the same {} addresses of the same {} blocks", after.len(), blocks.len()));
    let others: Vec<&ClusterNode<'_>> = others.iter().filter(|node| node.name != "green").collect();
    let seen = unique(plane, others.into_iter().chain([&*red]))?;
    tell.good(&format!("{seen} addresses are in use, each on one node, and each of that node's blocks"));
    Ok(())
}

/// Prints the blocks.
fn told(plane: &DemoPlane<'_>, tell: Teller) -> Result<()> {
    let row = |block: &DemoBlock| {
        let phase = if block.phase.is_empty() { "Leased" } else { &block.phase };
        format!("{:<16}{:<8}{phase}", block.cidr, block.node)
    };
    let rows: Vec<String> = plane.blocks()?.iter().map(row).collect();
    tell.shown("kubectl get ipblocks", &format!("{:<16}{:<8}PHASE\n{}", "CIDR", "NODE", rows.join("\n")));
    Ok(())
}

/// The blocks of a node.
fn of(blocks: &[DemoBlock], node: &str) -> Vec<String> {
    blocks.iter().filter(|block| block.node == node).map(|block| block.cidr.clone()).collect()
}

fn referee(plane: &DemoPlane<'_>, nodes: &[ClusterNode<'_>], tell: Teller) -> Result<()> {
    let seen = unique(plane, nodes)?;
    tell.good(&format!("{seen} addresses are in use, each on one node, and each of that node's blocks"));
    Ok(())
}

/// Checks that no address is in use on two nodes, and each is of a block of its node; returns how many there are.
fn unique<'a, 'b: 'a>(
    plane: &DemoPlane<'_>,
    nodes: impl IntoIterator<Item = &'a ClusterNode<'b>>,
) -> Result<usize> {
    let blocks = plane.blocks()?;
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for node in nodes {
        for address in node.addresses()? {
            let bare = address.split('/').next().unwrap_or_default();
            let last = bare.rsplit('.').next().and_then(|byte| byte.parse::<u8>().ok());
            let last = last.with_context(|| format!("{address} is not an IPv4 address"))?;
            let block = format!("10.90.0.{}/28", last & 0xf0);
            let own = of(&blocks, node.name).contains(&block);
            ensure!(own, "{address} of {} is of block {block}, which is not leased to it", node.name);
            let other = seen.insert(bare.to_owned(), node.name);
            ensure!(other.is_none(), "{address} is in use on {} and on {other:?}", node.name);
        }
    }
    Ok(seen.len())
}
