//! Failures about one pod, and the errors that its runtime sees.

use anyhow::{Context, ensure};
use serde_json::json;
use tenure_e2e::{Attachment, wait};

use crate::bare;
use crate::node::{LIMIT, Node, config, config_of, with_result};

pub(crate) fn namespaces() -> anyhow::Result<()> {
    let node = Node::start()?;
    node.sh("touch /run/file")?;
    let plugin = node.plugin("web")?;
    for (netns, code, cause) in [
        ("/run/file", 4, "is not a network namespace"),
        ("/run/netns/nobody", 160, "No such file"),
        ("/proc/self/ns/net", 8, "should not be the same"),
    ] {
        let error = plugin.call("ADD", &Attachment::in_netns("web", netns), &config())?.error_code(code)?;
        ensure!(format!("{error:?}").contains(cause), "{netns}: {error:?}");
    }
    // The daemon does not rely on the plugin.
    let own = "/proc/1/ns/net";
    let forced = plugin.clone().env("CNI_NETNS_OVERRIDE", "1");
    let error = forced.call("ADD", &Attachment::in_netns("web", own), &config())?.error_code(8)?;
    ensure!(format!("{error:?}").contains("the node's own network namespace"), "{error:?}");
    wait::holds("no allocation", LIMIT, || Ok(node.daemon.allocations("pods")?.is_empty()))?;
    // The attempt that follows succeeds.
    plugin.call("ADD", &node.sandbox("web")?, &config())?.result()?;
    node.is_settled("pods")
}

pub(crate) fn taken() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (sandbox, plugin) = (node.sandbox("web")?, node.plugin("web")?);
    let result = plugin.call("ADD", &sandbox, &config())?.result()?;
    let host = result.pointer("/interfaces/0/name").and_then(|name| name.as_str()).context("a link")?;
    plugin.call("DEL", &sandbox, &config())?.silent()?;
    node.sh(&format!("ip link add {host} type bridge"))?;
    let error = plugin.call("ADD", &sandbox, &config())?.error_code(162)?;
    ensure!(format!("{error:?}").contains(host), "{error:?}");
    wait::holds("no allocation", LIMIT, || Ok(node.daemon.allocations("pods")?.is_empty()))?;
    plugin.call("DEL", &sandbox, &config())?.silent()?;
    node.sh(&format!("ip link show {host} type bridge && ip link del {host}"))?;
    plugin.call("ADD", &sandbox, &config())?.result()?;
    // So does an interface of the pod that somebody else has made.
    let other = node.sandbox("other")?;
    node.sh("ip -n other link add eth0 type bridge")?;
    let error = node.plugin("other")?.call("ADD", &other, &config())?.error_code(160)?;
    ensure!(format!("{error:?}").contains("make link"), "{error:?}");
    node.is_settled("pods")
}

/// The sandbox of a pod was replaced, and the DEL of the old one comes late.
pub(crate) fn new_sandbox() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (old, new, plugin) = (node.sandbox("old")?, node.sandbox("new")?, node.plugin("web-0")?);
    let before = plugin.call("ADD", &old, &config())?.result()?;
    let after = plugin.call("ADD", &new, &config())?.result()?;
    ensure!(before.pointer("/interfaces/0/name") == after.pointer("/interfaces/0/name"), "{before} {after}");
    let check = |sandbox, result| plugin.call("CHECK", sandbox, &with_result(&config(), result));
    check(&old, &before)?.error_code(163)?;
    check(&new, &after)?.silent()?;
    plugin.call("DEL", &old, &config())?.silent()?;
    check(&new, &after)?.silent()?;
    node.is_settled("pods")
}

/// The daemon is exchanged while pods live, of which one has lost its link and another has changed it.
pub(crate) fn changed() -> anyhow::Result<()> {
    const PODS: &str = "ip -n web -o addr show dev eth0; ip -n web route show default";
    let mut node = Node::start()?;
    node.plugin("web")?.call("ADD", &node.sandbox("web")?, &config())?.result()?;
    let result = node.plugin("other")?.call("ADD", &node.sandbox("other")?, &config())?.result()?;
    let host = result.pointer("/interfaces/0/name").and_then(|name| name.as_str()).context("a link")?;
    node.sh("ip -n web addr add 10.9.9.9/32 dev eth0; ip -n web link set eth0 mtu 1400
             ip -n web link add tun0 type veth peer name tun1; ip -n web link set tun0 up; ip -n web route replace default dev tun0")?;
    let before = node.sh(PODS)?;
    node.kill_daemon()?;
    node.sh(&format!("ip link del {host}"))?;
    node.start_daemon()?;
    let has_link = || Ok(node.sh("ip -n other route show default; true")?.contains("dev eth0"));
    wait::holds("the link that was lost", LIMIT, has_link)?;
    let after = node.sh(PODS)?;
    ensure!(
        after == before && after.contains("10.9.9.9") && after.contains("dev tun0"),
        "{before}, then {after}"
    );
    node.is_settled("pods")
}

/// A label of ranges that also names interfaces of AWS.
pub(crate) fn labelled() -> anyhow::Result<()> {
    let node = Node::start()?;
    let mut config = config();
    config["name"] = json!("labelled");
    config["ipam"]["ranges"] =
        json!([[{ "subnet": "10.83.0.0/24", "rangeAttributes": { "interface": "eth1" } }]]);
    node.plugin("web")?.call("ADD", &node.sandbox("web")?, &config)?.result()?;
    node.is_settled("labelled")
}

pub(crate) fn configurations() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (sandbox, plugin) = (node.sandbox("web")?, node.plugin("web")?);
    for (pointer, value, code, cause) in [
        ("/mtu", json!(100), 7, "mtu: expected a number of bytes from 1280 to 65535, not 100"),
        ("/mtu", json!("many"), 7, "mtu: expected"),
        ("/cniVersion", json!("9.0.0"), 1, "incompatible CNI versions"),
        ("/ipam/routes", json!([{ "dst": "10.0.0.0/8" }]), 7, "tenure-eni makes the default route only"),
        ("/ipam/routes", json!([{ "dst": "0.0.0.0/0", "gw": "10.80.0.1" }]), 7, "default route only"),
    ] {
        let mut config = config();
        config["ipam"]["routes"] = json!([{ "dst": "0.0.0.0/0" }]);
        *config.pointer_mut(pointer).context("the key")? = value;
        let error = plugin.call("ADD", &sandbox, &config)?.error_code(code)?;
        ensure!(format!("{error:?}").contains(cause), "{pointer}: {error:?}");
    }
    // Two addresses of a family have no form before 0.3.0.
    let two = config_of("0.2.0", &["10.80.0.0/24", "10.82.0.0/24"]);
    plugin.call("ADD", &sandbox, &two)?.error_code(1)?;
    ensure!(node.links()?.is_empty() && node.daemon.allocations("pods")?.is_empty());
    // As ipamd's configuration has it.
    let mut text = config();
    text["mtu"] = json!("9001");
    plugin.call("ADD", &sandbox, &text)?.result()?;
    ensure!(node.sh("ip -n web link show eth0")?.contains("mtu 9001"));
    Ok(())
}

pub(crate) fn two_networks() -> anyhow::Result<()> {
    let node = Node::start()?;
    let mut other = config();
    other["name"] = json!("others");
    let (one, two) = (node.sandbox("one")?, node.sandbox("two")?);
    let first = node.plugin("one")?.call("ADD", &one, &config())?;
    let error = node.plugin("two")?.call("ADD", &two, &other)?.error_code(160)?;
    ensure!(format!("{error:?}").contains("is already the address of the pod at"), "{error:?}");
    wait::holds("no allocation", LIMIT, || Ok(node.daemon.allocations("others")?.is_empty()))?;
    node.is_settled("pods")?;
    for address in bare(&first.addresses()?)? {
        tenure_e2e::traffic::greet(&node.own(), &node.pod(&one), address)?;
    }
    Ok(())
}

pub(crate) fn without_namespace() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (sandbox, plugin) = (node.sandbox("web")?, node.plugin("web")?);
    plugin.call("ADD", &sandbox, &config())?.result()?;
    let nowhere = Attachment::in_netns("web", "");
    plugin.call("DEL", &nowhere, &config())?.silent()?;
    ensure!(node.links()?.is_empty(), "{:?}", node.links()?);
    // With its namespace, the link goes by itself; the DEL comes afterwards.
    plugin.call("ADD", &sandbox, &config())?.result()?;
    node.sh("ip netns del web")?;
    wait::holds("the link to go", LIMIT, || Ok(node.links()?.is_empty()))?;
    plugin.call("DEL", &nowhere, &config())?.silent()?;
    node.is_settled("pods")
}

pub(crate) fn forbidden() -> anyhow::Result<()> {
    let node = Node::start_under(vec!["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"])?;
    let (sandbox, plugin) = (node.sandbox("web")?, node.plugin("web")?);
    let error = plugin.call("STATUS", &sandbox, &config())?.error_code(50)?;
    ensure!(format!("{error:?}").contains("link-forbidden: tenured lacks CAP_NET_ADMIN"), "{error:?}");
    let error = plugin.call("ADD", &sandbox, &config())?.error_code(161)?;
    ensure!(format!("{error:?}").contains("tenure-eni.conf"), "{error:?}");
    wait::holds("no allocation", LIMIT, || Ok(node.daemon.allocations("pods")?.is_empty()))
}
