//! What an AddressPool says about the use of its addresses, on a running node.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use serde_json::{Value, json};
use tenure_cluster::AddressPool;
use tenure_fixtures::node::Attachment;
use tenure_fixtures::node::metrics;
use tenure_fixtures::wait;

use crate::Test;
use crate::faults::has_condition;
use crate::world::{LIMIT, POOL, World};

pub(crate) const TESTS: &[Test] = &[
    ("settings::an_edit_of_a_pool_reaches_the_next_pod_and_changes_no_running_one", edited),
    ("settings::metrics_say_which_blocks_a_node_holds_and_how_it_fares", measured),
    ("settings::a_network_that_the_configuration_does_not_list_is_stated_in_a_condition", unlisted),
    ("settings::a_pool_asks_for_a_longer_cooldown_than_the_node", cooled),
    ("settings::a_block_out_of_the_networks_bounds_goes_back_and_stops_nothing", bounded),
];

/// Edits the pool, and waits until a node says that it is in force.
pub(crate) fn edit(world: &World, node: usize, spec: &Value) -> anyhow::Result<()> {
    edit_of(world, POOL, node, spec)
}

/// The same with another pool.
pub(crate) fn edit_of(world: &World, pool: &str, node: usize, spec: &Value) -> anyhow::Result<()> {
    world.change::<AddressPool>(pool, &json!({ "spec": spec }))?;
    let api: kube::Api<AddressPool> = kube::Api::all(world.client.clone());
    let pool = world.runtime.block_on(tenure_cluster::client::call(api.get(pool)))?;
    let (uid, generation) = (pool.metadata.uid.context("no uid")?, pool.metadata.generation.unwrap_or(0));
    wait::holds("the node to have the edit in force", LIMIT, || {
        let object = world.node_object(&world.nodes[node].name)?;
        let echoes = object.map(|object| object.spec.pools).unwrap_or_default();
        Ok(echoes.iter().any(|echo| echo.uid == uid && echo.generation == generation))
    })
}

fn told(world: &World, node: usize) -> anyhow::Result<Value> {
    world.nodes[node].daemon.ctl(&["cluster"])
}

fn edited(world: &mut World) -> anyhow::Result<()> {
    let before = world.nodes[0].add_result("before")?;
    let spec = json!({
        "gateway": { "blockIndex": 14 },
        "perBlockExclusions": [{ "start": 0, "end": 7 }],
        "routes": [{ "dst": "0.0.0.0/0", "mtu": 1400 }, { "dst": "10.0.0.0/8", "gw": "10.90.0.1" }],
    });
    edit(world, 0, &spec)?;
    let after = world.nodes[0].add_result("after")?;
    let words = after["ips"][0]["address"].as_str().context("no address")?;
    let address: ipnet::Ipv4Net = words.parse()?;
    ensure!(address.prefix_len() == 28, "{words}");
    let place = u32::from(address.addr()) - u32::from(address.network());
    ensure!((8..14).contains(&place), "{words} is excluded");
    let gateway: std::net::Ipv4Addr = (u32::from(address.network()) + 14).into();
    ensure!(after["ips"][0]["gateway"] == gateway.to_string().as_str(), "{after}");
    ensure!(
        after["routes"]
            == json!([{ "dst": "0.0.0.0/0", "mtu": 1400 }, { "dst": "10.0.0.0/8", "gw": "10.90.0.1" }]),
        "{after}"
    );
    let again = world.nodes[0].add_result("before")?;
    ensure!(again == before, "the running pod's result was {before}, and is {again}");
    let shown = told(world, 0)?;
    ensure!(shown["pools"][0]["gateway"] == "place 14 of each block", "{shown}");
    // A gateway for the whole pool: the addresses get the prefix length of its CIDR.
    edit(world, 0, &json!({ "gateway": { "blockIndex": null, "ipv4": "10.90.0.1" }, "routes": [] }))?;
    let flat = world.nodes[0].add_result("flat")?;
    ensure!(flat["ips"][0]["gateway"] == "10.90.0.1" && flat.get("routes").is_none(), "{flat}");
    ensure!(flat["ips"][0]["address"].as_str().is_some_and(|words| words.ends_with("/24")), "{flat}");
    edit(world, 0, &json!({ "gateway": null, "perBlockExclusions": null, "routes": null }))?;
    world.referee()
}

fn measured(world: &mut World) -> anyhow::Result<()> {
    let page = metrics::read(&world.nodes[0].daemon.path("metrics.sock"))?;
    let sample = |name: &str| {
        let line = page.lines().find(|line| line.starts_with(&format!("tenure_cluster_{name} ")));
        let value = line.and_then(|line| line.rsplit(' ').next()).and_then(|value| value.parse::<f64>().ok());
        value.with_context(|| format!("no {name} in\n{page}"))
    };
    let shown = told(world, 0)?;
    let blocks = shown["blocks"].as_array().map_or(0, Vec::len);
    let open = sample("blocks{pool=\"pods\",family=\"IPv4\",state=\"open\"}")?;
    ensure!(open >= 1.0 && blocks >= 1, "{open} of {blocks}");
    ensure!(sample("writes_total")? >= 1.0 && (sample("watched")? - 1.0).abs() < 0.1, "{page}");
    let plan = world.nodes[0].daemon.ctl(&["plan", "--explain"])?;
    ensure!(
        plan["pools"][0]["name"] == "pods.v4" && plan["attributes"]["preallocation"].is_string(),
        "{plan}"
    );
    sample("demand_waits_seconds{pool=\"pods\",family=\"IPv4\"}")?;
    sample("watch_interruptions_total").map(drop)
}

fn unlisted(world: &mut World) -> anyhow::Result<()> {
    let ipam = json!({ "type": "tenure", "policy": "cluster-range", "pools": ["elsewhere"] });
    let config = json!({ "cniVersion": "1.1.0", "name": "stray", "ipam": ipam });
    let node = &world.nodes[0];
    let outcome = node.daemon.shim()?.call("ADD", &Attachment::of("stray"), &config)?;
    ensure!(!outcome.succeeded, "{outcome}");
    wait::holds("a condition", LIMIT, || has_condition(node, "pools-differ"))?;
    let shown = told(world, 0)?;
    let words = shown["differences"][0].as_str().unwrap_or_default();
    ensure!(words.contains("network stray takes its addresses from blocks"), "{shown}");
    let api: kube::Api<Event> = kube::Api::namespaced(world.client.clone(), "default");
    wait::holds("an event under the NodeIPAM", LIMIT, || {
        let events =
            world.runtime.block_on(tenure_cluster::client::call(api.list(&ListParams::default())))?;
        let is_it = |event: &Event| {
            let regarding = event.regarding.as_ref().and_then(|of| of.name.as_deref());
            event.reason.as_deref() == Some("PoolsDiffer") && regarding == Some(&*world.nodes[0].name)
        };
        Ok(events.items.iter().filter(|event| is_it(event)).count() == 1)
    })
}

/// The difference that says that a block could not be used, if there is one.
fn given_back(world: &World) -> anyhow::Result<Option<String>> {
    let shown = told(world, 0)?;
    let mut words = shown["differences"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(words.find(|words| words.contains("a block of AddressPool pods was given back")).map(str::to_owned))
}

fn bounded(world: &mut World) -> anyhow::Result<()> {
    let (name, table) = (world.nodes[0].name.clone(), "[networks.pods]\n");
    let own: Vec<String> = world
        .blocks()?
        .into_iter()
        .filter(|(_, holder)| *holder == name)
        .map(|(cidr, _)| cidr.to_string())
        .collect();
    let bounds = format!("{table}within = {}\n", json!(own));
    world.nodes[0].daemon.kill()?;
    world.nodes[0].reconfigure(table, &bounds)?;
    world.nodes[0].daemon.start_again()?;
    // With one free address left, the node asks for another block, of which it may use nothing.
    let shown = told(world, 0)?;
    let blocks = shown["blocks"].as_array().cloned().unwrap_or_default();
    let free: u64 = blocks.iter().filter_map(|block| block["free"].as_u64()).sum();
    let pods: Vec<String> = (1..free).map(|number| format!("inside-{number}")).collect();
    world.nodes[0].add_at_once(&pods)?;
    let words = wait::until("words about a block that was given back", LIMIT, || given_back(world))?;
    ensure!(words.contains("networks.pods.within allows only"), "{words}");
    ensure!(!has_condition(&world.nodes[0], "cluster-unreachable")?, "the agent has stopped");
    // Pods wait, and each block of the pool would be as useless: the node asks for no more than it has.
    wait::holds("the node to ask for no further block", LIMIT, || {
        let object = world.node_object(&name)?.context("no object")?;
        let blocks = world.blocks()?.into_values().filter(|holder| *holder == name).count();
        Ok(object.spec.demand.iter().all(|demand| usize::try_from(demand.want) == Ok(own.len()))
            && blocks == own.len())
    })?;
    // What else the node has to do goes on.
    edit(world, 0, &json!({ "cooldownSeconds": 1 }))?;
    edit(world, 0, &json!({ "cooldownSeconds": 0 }))?;
    world.nodes[0].daemon.kill()?;
    world.nodes[0].reconfigure(&bounds, table)?;
    world.nodes[0].daemon.start_again()?;
    wait::until("an address of the next block", LIMIT, || Ok(world.nodes[0].add("outside").ok()))?;
    wait::holds("no such words any more", LIMIT, || Ok(given_back(world)?.is_none()))?;
    world.ready()
}

fn cooled(world: &mut World) -> anyhow::Result<()> {
    let cooling = |world: &World| -> anyhow::Result<u64> {
        let shown = told(world, 0)?;
        let blocks = shown["blocks"].as_array().cloned().unwrap_or_default();
        Ok(blocks.iter().filter_map(|block| block["cooling"].as_u64()).sum())
    };
    wait::holds("addresses that have cooled down", LIMIT, || Ok(cooling(world)? == 0))?;
    edit(world, 0, &json!({ "cooldownSeconds": 86_400 }))?;
    world.nodes[0].add("long")?;
    world.nodes[0].del("long")?;
    edit(world, 0, &json!({ "cooldownSeconds": 0 }))?;
    world.nodes[0].add("short")?;
    world.nodes[0].del("short")?;
    // The one that was freed later cools down within the node's second; a later edit does not shorten the other's.
    wait::holds("the later address to have cooled down, and the earlier one not", LIMIT, || {
        Ok(cooling(world)? == 1)
    })
}
