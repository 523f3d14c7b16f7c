//! A network with addresses of both families, each of a pool of its own.

use std::collections::BTreeSet;
use std::net::IpAddr;

use anyhow::ensure;
use serde_json::json;
use tenure_cluster::AddressPool;
use tenure_fixtures::wait;

use crate::Test;
use crate::node::Node;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[
    ("families::half_a_success_is_rolled_back_and_each_pool_says_why_it_grants_nothing", dual_stack),
    ("families::a_family_that_a_pool_gets_later_reaches_its_running_nodes", added),
];

/// The node's place among the nodes.
const DUAL: usize = 2;

fn dual_stack(world: &mut World) -> anyhow::Result<()> {
    let four = json!({ "ipv4": { "cidrs": ["10.92.0.0/26"], "blockPrefix": 28 }, "cooldownSeconds": 0 });
    // One block, of which six addresses are handed out.
    let six = json!({ "ipv6": { "cidrs": ["fd00:92::/125"], "blockPrefix": 125 }, "cooldownSeconds": 0 });
    for (name, spec) in [("four", four), ("six", six)] {
        world.create(&AddressPool::new(name, serde_json::from_value(spec)?))?;
    }
    let node = Node::prepare_with("dual", &world.kubeconfig, &["four", "six"], "[\"ipv4\", \"ipv6\"]")?;
    world.join(node)?;
    let result =
        wait::until("an address of each family", LIMIT, || Ok(world.nodes[DUAL].add_result("pod-0").ok()))?;
    let addresses: Vec<&str> =
        result["ips"].as_array().into_iter().flatten().filter_map(|ip| ip["address"].as_str()).collect();
    ensure!(
        addresses.len() == 2 && addresses[0].starts_with("10.92.") && addresses[1].starts_with("fd00:92::"),
        "{result}"
    );
    for number in 1..6 {
        world.nodes[DUAL].add_result(&format!("pod-{number}"))?;
    }
    // The pool of IPv6 is exhausted; an IPv4 address would be free.
    let refused = world.nodes[DUAL].call("ADD", "one-too-many")?;
    // At once, and for good: that `four` has no IPv6 addresses, and `six` no IPv4 ones, keeps nobody waiting.
    ensure!(!refused.succeeded && refused.to_string().contains("pool-exhausted"), "{refused}");
    let in_use = world.nodes[DUAL].addresses()?;
    let (ipv4, ipv6): (BTreeSet<IpAddr>, BTreeSet<IpAddr>) = in_use.into_iter().partition(IpAddr::is_ipv4);
    ensure!(ipv4.len() == 6 && ipv6.len() == 6, "half a success was kept: {ipv4:?} and {ipv6:?}");
    wait::holds("the reason of the pool that is exhausted, and none of the other", LIMIT, || {
        let shown = world.nodes[DUAL].daemon.ctl(&["cluster"])?;
        let demands = shown["demands"].as_array().cloned().unwrap_or_default();
        let reason = |pool: &str| {
            demands.iter().find(|of| of["pool"] == pool).map(|of| of["reason"].clone()).unwrap_or_default()
        };
        Ok(reason("six") == "PoolExhausted" && reason("four") == "")
    })?;
    let waiting = world.node_object("dual")?.and_then(|object| object.status).map(|status| status.waiting);
    let waiting = waiting.unwrap_or_default();
    ensure!(waiting.len() == 1 && waiting[0].pool == "six" && waiting[0].family == "IPv6", "{waiting:?}");
    world.nodes[DUAL].del("pod-3")?;
    wait::until("the addresses of the pod that went", LIMIT, || {
        Ok(world.nodes[DUAL].add_result("one-more").ok())
    })?;
    world.nodes[DUAL].del("one-too-many").map(drop)
}

fn added(world: &mut World) -> anyhow::Result<()> {
    const NAME: &str = "grown";
    let four = json!({ "ipv4": { "cidrs": ["10.93.0.0/26"], "blockPrefix": 28 } });
    world.create(&AddressPool::new(NAME, serde_json::from_value(four)?))?;
    let node = Node::prepare_with(NAME, &world.kubeconfig, &[NAME], "[\"ipv4\", \"ipv6\"]")?;
    world.join(node)?;
    let place = world.nodes.len() - 1;
    wait::holds("a sentence about the family that no pool has", LIMIT, || {
        let shown = world.nodes[place].daemon.ctl(&["cluster"])?;
        let words = shown["differences"][0].as_str().unwrap_or_default().to_owned();
        Ok(words.starts_with("network pods has no IPv6 addresses to give"))
    })?;
    let six = json!({ "spec": { "ipv6": { "cidrs": ["fd00:93::/120"], "blockPrefix": 124 } } });
    world.change::<AddressPool>(NAME, &six)?;
    let result =
        wait::until("an address of each family", LIMIT, || Ok(world.nodes[place].add_result("pod-0").ok()))?;
    let addresses = result["ips"].as_array().map_or(0, Vec::len);
    ensure!(addresses == 2, "{result}");
    wait::holds("the sentence to be gone", LIMIT, || {
        let shown = world.nodes[place].daemon.ctl(&["cluster"])?;
        Ok(shown["differences"].as_array().is_some_and(Vec::is_empty))
    })?;
    world.nodes[place].clear()?;
    // The other tests have the nodes before.
    world.nodes.pop();
    Ok(())
}
