//! Calls as Multus makes them: a pod with several interfaces, addresses that its annotation requests, and definitions that are gone by the DEL.

use std::net::IpAddr;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_fixtures::node::Attachment;
use tenure_fixtures::node::plugin::Outcome;

use crate::Test;
use crate::node::Node;
use crate::world::World;

pub(crate) const TESTS: &[Test] = &[
    ("multus::a_pod_may_have_one_network_twice", twice),
    ("multus::an_address_may_be_requested_in_each_of_three_ways", requested),
    ("multus::two_addresses_of_one_family_are_refused_with_both", conflict),
    ("multus::a_del_needs_nothing_of_a_definition_but_its_name", changed),
];

/// The arguments that a runtime sends for a pod.
const POD: &str = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=many;K8S_POD_INFRA_CONTAINER_ID=many;K8S_POD_UID=1-2";

/// The configuration of a NetworkAttachmentDefinition, with further keys.
fn definition(more: &Value) -> Value {
    let mut config = json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": { "type": "tenure" } });
    config.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    config
}

fn call(node: &Node, verb: &str, interface: &str, arguments: &str, more: &Value) -> anyhow::Result<Outcome> {
    let attachment = Attachment { interface: interface.to_owned(), ..Attachment::of("many") };
    node.daemon.shim()?.env("CNI_ARGS", arguments).call(verb, &attachment, &definition(more))
}

fn add(node: &Node, interface: &str, more: &Value) -> anyhow::Result<IpAddr> {
    let address = call(node, "ADD", interface, POD, more)?.address()?;
    Ok(address.split_once('/').context("no prefix length")?.0.parse()?)
}

fn del(node: &Node, interface: &str) -> anyhow::Result<()> {
    call(node, "DEL", interface, POD, &json!({}))?.silent()
}

/// An address that is free now, and the one after it.
fn two_free(node: &Node) -> anyhow::Result<[IpAddr; 2]> {
    let addresses = [add(node, "probe1", &json!({}))?, add(node, "probe2", &json!({}))?];
    del(node, "probe1")?;
    del(node, "probe2")?;
    // Freed addresses cool for a second.
    tenure_fixtures::wait::holds("the addresses to be free", crate::world::LIMIT, || {
        let taken = call(node, "ADD", "probe3", POD, &ips(&addresses))?;
        Ok(taken.error()?.msg.contains("are both requested"))
    })?;
    Ok(addresses)
}

fn ips(addresses: &[IpAddr]) -> Value {
    json!({ "runtimeConfig": { "ips": addresses } })
}

fn twice(world: &mut World) -> anyhow::Result<()> {
    let node = &world.nodes[0];
    let (first, second) = (add(node, "net1", &json!({}))?, add(node, "net2", &json!({}))?);
    ensure!(
        first != second && add(node, "net1", &json!({}))? == first,
        "a repeated ADD has the same address"
    );
    let rows = node.daemon.allocations("pods")?;
    let mut interfaces: Vec<&str> = rows.iter().filter_map(|row| row["interface"].as_str()).collect();
    interfaces.sort_unstable();
    ensure!(interfaces == ["net1", "net2"], "{rows:?}");
    del(node, "net1")?;
    ensure!(node.addresses()? == [second]);
    del(node, "net2")
}

fn requested(world: &mut World) -> anyhow::Result<()> {
    let node = &world.nodes[0];
    let [address, _] = two_free(node)?;
    let with_ip = format!("{POD};IP={address}");
    let ways = [
        (POD, ips(&[address])),
        (POD, json!({ "args": { "cni": { "ips": [format!("{address}/28")] } } })),
        (with_ip.as_str(), json!({})),
        // Multus may send it in more than one way.
        (with_ip.as_str(), ips(&[address])),
    ];
    for (arguments, more) in ways {
        tenure_fixtures::wait::holds("the requested address", crate::world::LIMIT, || {
            let outcome = call(node, "ADD", "net1", arguments, &more)?;
            if outcome.succeeded {
                ensure!(outcome.address()?.starts_with(&format!("{address}/")), "{outcome}");
            } else {
                ensure!(outcome.error_code(102)?.msg.contains("cooling down"), "{outcome}");
            }
            Ok(outcome.succeeded)
        })?;
        del(node, "net1")?;
    }
    let elsewhere = call(node, "ADD", "net1", POD, &ips(&["192.0.2.7".parse()?]))?.error_code(102)?;
    ensure!(elsewhere.msg.contains("192.0.2.7 is in no block of this node"), "{elsewhere:?}");
    Ok(())
}

fn conflict(world: &mut World) -> anyhow::Result<()> {
    let node = &world.nodes[0];
    let [one, other] = two_free(node)?;
    let refused = call(node, "ADD", "net1", &format!("{POD};IP={one}"), &ips(&[other]))?.error_code(102)?;
    let words =
        format!("{one} and {other} are both requested, by CNI_ARGS, args.cni.ips or runtimeConfig.ips");
    ensure!(refused.msg.contains(&words), "{refused:?}");
    ensure!(node.addresses()?.is_empty());
    Ok(())
}

fn changed(world: &mut World) -> anyhow::Result<()> {
    let node = &world.nodes[0];
    for more in [
        json!({ "ipam": { "type": "tenure", "policy": "gone", "pools": ["gone"] } }),
        json!({ "ipam": { "type": "tenure", "pools": 7, "routes": "none" } }),
        json!({ "ipam": null }),
        json!({ "args": 7, "runtimeConfig": 7 }),
    ] {
        add(node, "net1", &json!({}))?;
        call(node, "DEL", "net1", POD, &more)?.silent()?;
        ensure!(node.addresses()?.is_empty(), "after a DEL with {more}");
        // A runtime may repeat it.
        call(node, "DEL", "net1", POD, &more)?.silent()?;
    }
    Ok(())
}
