//! A pod on a node with AWS interfaces: what a runtime calls for it, and its way to the VPC and back.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Outcome, traffic};

use crate::eni::Node;

/// The network namespace that plays the VPC.
pub(crate) const VPC: &str = "vpc";

/// The gateway of the instance's subnet, which answers in the VPC.
pub(crate) const GATEWAY: &str = "10.60.0.1";

/// The configuration that a runtime passes: the daemon has the network's.
pub(crate) fn conf() -> Value {
    json!({
        "cniVersion": "1.1.0", "name": "pods", "type": "tenure-eni", "ipam": { "type": "tenure" }
    })
}

/// Calls ADD once.
pub(crate) fn add(node: &Node, name: &str, sandbox: &Attachment) -> anyhow::Result<Outcome> {
    node.plugin(name)?.call("ADD", sandbox, &conf())
}

/// Calls DEL.
pub(crate) fn del(node: &Node, name: &str, sandbox: &Attachment) -> anyhow::Result<()> {
    node.plugin(name)?.call("DEL", sandbox, &conf())?.silent()
}

/// The pod reaches the VPC, and is reached from there.
pub(crate) fn has_its_way(
    node: &Node,
    name: &str,
    sandbox: &Attachment,
    address: &str,
) -> anyhow::Result<()> {
    let (pod, vpc) = (node.pod(sandbox), vpc(node));
    traffic::greet(&pod, &vpc, GATEWAY.parse()?).with_context(|| format!("from {name} to the VPC"))?;
    traffic::greet(&vpc, &pod, address.parse()?).with_context(|| format!("from the VPC to {name}"))
}

/// The path of the VPC's network namespace for the test.
pub(crate) fn vpc(node: &Node) -> PathBuf {
    node.enclave.outside(&format!("/run/netns/{VPC}"))
}

/// An address without its prefix length.
pub(crate) fn bare(address: &str) -> &str {
    address.split('/').next().unwrap_or(address)
}
