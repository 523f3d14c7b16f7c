//! A client certificate that is replaced while the daemon runs, as the kubelet does it.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tenure_cluster::AddressPool;
use tenure_fixtures::control_plane::CLIENTS;
use tenure_fixtures::wait;

use crate::Test;
use crate::faults::has_condition;
use crate::node::Node;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] =
    &[("credentials::a_certificate_that_was_replaced_is_used_without_a_restart", replaced)];

fn replaced(world: &mut World) -> anyhow::Result<()> {
    let spec = json!({ "ipv4": { "cidrs": ["10.119.0.0/27"], "blockPrefix": 28 }, "cooldownSeconds": 0 });
    world.create(&AddressPool::new("replaced", serde_json::from_value(spec)?))?;
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for (name, text) in ["first.pem", "second.pem"].into_iter().zip(CLIENTS) {
        fs::write(at(name), text)?;
    }
    symlink("first.pem", at("current.pem"))?;
    let kubeconfig = world.plane.kubeconfig_of_holder(&at("current.pem"))?;
    world.join(Node::prepare_with("replacing", &kubeconfig, &["replaced"], "[\"ipv4\"]")?)?;
    let held = world.nodes.last().context("no node")?.daemon.ctl(&["cluster"])?;
    ensure!(held["blocks"].as_array().is_some_and(|blocks| blocks.len() == 1), "{held}");
    // From here on the certificate is as one that has expired.
    world.plane.trust(CLIENTS[1])?;
    let node = world.nodes.last_mut().context("no node")?;
    for number in 0..12 {
        node.add(&format!("pod-{number}"))?;
    }
    wait::holds("the refusal of the certificate", LIMIT, || has_condition(node, "cluster-unreachable"))?;
    symlink("second.pem", at("next.pem"))?;
    fs::rename(at("next.pem"), at("current.pem"))?;
    wait::holds("the end of the refusal", LIMIT, || Ok(!has_condition(node, "cluster-unreachable")?))?;
    for number in 12..20 {
        let pod = format!("pod-{number}");
        wait::until("an address of another block", LIMIT, || Ok(node.add(&pod).ok()))?;
    }
    world.referee()
}
