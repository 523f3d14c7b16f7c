//! The main plugin `tenure-eni`: pods whose links the daemon makes, in a node of their own.

#![expect(
    clippy::indexing_slicing,
    reason = "clippy does not recognise a suite without a harness as test code"
)]

#[path = "eni/chaos.rs"]
mod chaos;
#[path = "eni/hostile.rs"]
mod hostile;
#[path = "eni/node.rs"]
#[expect(dead_code, reason = "the suite of the systemd unit uses more of it")]
mod node;
#[path = "eni/unhappy.rs"]
mod unhappy;

use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Need, Suite, traffic, wait};

use self::node::{LIMIT, Node, OWN, config, config_of, with_result};

/// The needs of every test.
const NEEDS: &[Need] = &[Need::Root, Need::IPROUTE, Need::UTIL_LINUX];

/// The needs of a chain with portmap.
const CHAIN: &[Need] = &[
    Need::Root,
    Need::IPROUTE,
    Need::UTIL_LINUX,
    Need::PLUGINS,
    Need::File("/usr/sbin/iptables", "iptables"),
];

/// The needs of a daemon without a capability.
const SETPRIV: &[Need] =
    &[Need::Root, Need::IPROUTE, Need::UTIL_LINUX, Need::File("/usr/bin/setpriv", "util-linux")];

const VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/// The address families, and the subnets of each.
const FAMILIES: [(&str, &[&str]); 3] =
    [("v4", &["10.80.0.0/24"]), ("v6", &["fd80::/64"]), ("dual", &["10.80.0.0/24", "fd80::/64"])];

fn main() -> ExitCode {
    let mut suite = Suite::new();
    for (family, subnets) in FAMILIES {
        suite = suite.test(format!("pods_reach_each_other_and_the_node_{family}"), NEEDS, move || {
            pods_reach_each_other(subnets)
        });
    }
    suite
        .test("each_version_is_answered_as_it_demands", NEEDS, versions)
        .test("check_finds_each_difference", NEEDS, differences)
        .test("what_somebody_takes_away_comes_back", NEEDS, drift)
        .test("a_pod_has_its_way_once_its_add_is_answered", NEEDS, at_once)
        .test("fifty_pods_at_once", NEEDS, fifty)
        .test("portmap_works_after_it", CHAIN, portmap)
        .test("gc_ends_the_links_of_what_is_not_listed", NEEDS, gc)
        .test("a_plain_node_is_not_touched", NEEDS, plain)
        .test("what_is_no_pods_namespace_is_refused", NEEDS, unhappy::namespaces)
        .test("a_strangers_link_stays_and_is_named", NEEDS, unhappy::taken)
        .test("a_new_sandbox_of_a_pod_takes_its_link_over", NEEDS, unhappy::new_sandbox)
        .test("a_restart_leaves_a_living_pods_link_as_the_pod_has_changed_it", NEEDS, unhappy::changed)
        .test("a_range_may_be_labelled_like_those_of_interfaces", NEEDS, unhappy::labelled)
        .test("a_configuration_that_cannot_be_served_is_refused", NEEDS, unhappy::configurations)
        .test("an_address_of_two_networks_is_one_pods", NEEDS, unhappy::two_networks)
        .test("a_link_needs_no_namespace_to_end", NEEDS, unhappy::without_namespace)
        .test("without_the_capability_add_and_status_say_so", SETPRIV, unhappy::forbidden)
        .test("a_pod_that_locks_its_namespace_stops_nobody", NEEDS, hostile::locks)
        .test("a_pod_with_a_hundred_thousand_routes_stops_nobody", NEEDS, hostile::routes)
        .test("a_link_set_down_comes_up_again_and_a_broken_one_is_its_own_pods", NEEDS, hostile::down)
        .test("a_pod_that_shares_the_name_of_anothers_link_takes_nothing", NEEDS, hostile::namesakes)
        .test("a_daemon_killed_at_any_point_leaves_what_the_ledger_says", NEEDS, chaos::killed)
        .test("a_del_while_the_daemon_is_down_ends_the_link_later", NEEDS, chaos::down)
        .test("a_link_that_a_crash_took_is_restored", NEEDS, chaos::restored)
        .test("an_older_copy_of_the_state_takes_no_pods_way", NEEDS, chaos::older_copy)
        .run()
}

/// The addresses of a result, without their prefix lengths.
fn bare(addresses: &[String]) -> anyhow::Result<Vec<IpAddr>> {
    let bare = |cidr: &String| Ok(cidr.split('/').next().context("an address")?.parse()?);
    addresses.iter().map(bare).collect()
}

fn pods_reach_each_other(subnets: &[&str]) -> anyhow::Result<()> {
    let node = Node::start()?;
    let config = config_of("1.1.0", subnets);
    let mut pods = Vec::new();
    for name in ["one", "two"] {
        let sandbox = node.sandbox(name)?;
        let added = node.plugin(name)?.call("ADD", &sandbox, &config)?;
        let addresses = bare(&added.addresses()?)?;
        ensure!(addresses.len() == subnets.len(), "{added}");
        pods.push((sandbox, addresses, added.result()?));
    }
    let [(one, of_one, _), (two, of_two, _)] = pods.as_slice() else { unreachable!("two pods") };
    let own = node.own();
    for address in of_two {
        traffic::greet(&node.pod(one), &node.pod(two), *address).context("from pod to pod")?;
        traffic::greet(&own, &node.pod(two), *address).context("from the node to a pod")?;
    }
    for address in of_one {
        let own_address =
            OWN.iter().find(|own| own.contains(':') == address.is_ipv6()).context("a family")?;
        traffic::greet(&node.pod(one), &own, own_address.parse()?).context("from a pod to the node")?;
    }
    for (sandbox, _, result) in &pods {
        let plugin = node.plugin(&sandbox.container)?;
        plugin.call("CHECK", sandbox, &with_result(&config, result))?.silent()?;
        plugin.call("DEL", sandbox, &config)?.silent()?;
        plugin.call("DEL", sandbox, &config)?.silent()?;
    }
    ensure!(node.links()?.is_empty(), "left: {:?}", node.links()?);
    node.is_settled("pods")
}

fn versions() -> anyhow::Result<()> {
    let node = Node::start()?;
    for (number, version) in VERSIONS.into_iter().enumerate() {
        let name = format!("pod-{number}");
        let config = config_of(version, &["10.80.0.0/24", "fd80::/64"]);
        let (sandbox, plugin) = (node.sandbox(&name)?, node.plugin(&name)?);
        let result = plugin.call("ADD", &sandbox, &config)?.result()?;
        let text = |path: &str| result.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        ensure!(text("/cniVersion") == version, "{result}");
        if version < "0.3.0" {
            ensure!(text("/ip4/ip").ends_with("/32") && text("/ip6/ip").ends_with("/128"), "{result}");
            ensure!(text("/ip4/routes/0/gw") == "169.254.1.1", "{result}");
            ensure!(result.get("interfaces").is_none(), "{result}");
        } else {
            let [host, inside] = ["/interfaces/0", "/interfaces/1"].map(|path| result.pointer(path));
            let (host, inside) = (host.context("a host end")?, inside.context("a pod's end")?);
            ensure!(host.get("sandbox").is_none() && node.links()?.contains(&text("/interfaces/0/name")));
            ensure!(inside["name"] == "eth0" && inside["sandbox"] == *sandbox.netns, "{result}");
            for (end, namespace) in [(host, None), (inside, Some(&name))] {
                let name = end["name"].as_str().context("a name")?;
                let within = namespace.map_or_else(String::new, |name| format!("ip netns exec {name} "));
                let shown = node.sh(&format!("{within}ip link show {name}"))?;
                ensure!(shown.contains(end["mac"].as_str().context("an address")?), "{shown}: {result}");
                ensure!(end.get("mtu").is_some() == (version == "1.1.0"), "{result}");
            }
            for (at, length) in [(0, "/32"), (1, "/128")] {
                ensure!(text(&format!("/ips/{at}/address")).ends_with(length), "{result}");
                ensure!(result.pointer(&format!("/ips/{at}/interface")) == Some(&json!(1)), "{result}");
            }
            ensure!(text("/routes/0/gw") == "169.254.1.1" && text("/routes/1/gw") == "fe80::1", "{result}");
        }
        // The same answer again.
        ensure!(plugin.call("ADD", &sandbox, &config)?.result()? == result, "another answer than {result}");
        plugin.call("DEL", &sandbox, &config)?.silent()?;
    }
    Ok(())
}

fn differences() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (sandbox, plugin) = (node.sandbox("web")?, node.plugin("web")?);
    let added = plugin.call("ADD", &sandbox, &config())?;
    let (result, addresses) = (added.result()?, bare(&added.addresses()?)?);
    let check = with_result(&config(), &result);
    plugin.call("CHECK", &sandbox, &check)?.silent()?;
    let host = node.links()?.pop().context("a link")?;
    let [four, six] = [0, 1].map(|at| addresses.get(at).map(ToString::to_string).unwrap_or_default());
    for (tampering, found) in [
        (format!("ip -n web addr del {four}/32 dev eth0"), "eth0 lacks address"),
        (format!("ip -n web addr del {six}/128 dev eth0"), "eth0 lacks address"),
        ("ip -n web addr add 10.9.9.9/32 dev eth0".to_owned(), "eth0 has address 10.9.9.9"),
        ("ip -n web route del default".to_owned(), "the pod lacks the route 0.0.0.0/0"),
        ("ip -n web -6 route del default".to_owned(), "the pod lacks the route ::/0"),
        ("ip -n web neigh del 169.254.1.1 dev eth0".to_owned(), "no permanent neighbour entry"),
        ("ip -n web link set eth0 mtu 1500".to_owned(), "eth0 has MTU 1500 instead of 9001"),
        (format!("ip link set {host} mtu 1500"), "has MTU 1500 instead of 9001"),
        (format!("ip link set {host} down"), "is down"),
        (format!("ip link del {host}"), "there is no link"),
    ] {
        node.sh(&tampering)?;
        let error = plugin.call("CHECK", &sandbox, &check)?.error_code(163)?;
        ensure!(format!("{error:?}").contains(found), "{tampering}: {error:?}");
        // A repeated ADD gives the same answer, and repairs the link.
        ensure!(plugin.call("ADD", &sandbox, &config())?.result()? == result, "{tampering}");
        plugin.call("CHECK", &sandbox, &check)?.silent().with_context(|| tampering)?;
    }
    // The address is now said to be another, and the interface to be elsewhere.
    for (path, other) in [("/ips/0/address", "10.80.0.99/32"), ("/interfaces/1/sandbox", "/run/netns/other")]
    {
        let mut result = result.clone();
        *result.pointer_mut(path).context("the result has it")? = json!(other);
        let error = plugin.call("CHECK", &sandbox, &with_result(&config(), &result))?.error_code(163)?;
        ensure!(format!("{error:?}").contains("prevResult of"), "{error:?}");
    }
    plugin.call("CHECK", &sandbox, &config())?.error_code(7)?;
    Ok(())
}

fn drift() -> anyhow::Result<()> {
    let node = Node::start()?;
    let sandbox = node.sandbox("web")?;
    let added = node.plugin("web")?.call("ADD", &sandbox, &config())?;
    let addresses = bare(&added.addresses()?)?;
    for (tampering, shown, what) in [
        ("ip route flush table 9000", "ip route show table 9000", "eni"),
        ("ip -6 route flush table 9000", "ip -6 route show table 9000", "eni"),
        ("ip rule del pref 512", "ip rule show pref 512", "lookup 9000"),
        ("ip -6 rule del pref 512", "ip -6 rule show pref 512", "lookup 9000"),
    ] {
        node.sh(tampering)?;
        wait::holds(tampering, LIMIT, || Ok(node.sh(shown)?.contains(what)))?;
    }
    for address in addresses {
        traffic::greet(&node.own(), &node.pod(&sandbox), address)?;
    }
    let log = node.daemon.log("repaired what somebody changed");
    ensure!(log.contains("table 9000") && log.contains("rule 512"), "{log}");
    Ok(())
}

/// Packets are routed to a pod when its ADD is answered, and not a moment later: nothing is waited for here.
fn at_once() -> anyhow::Result<()> {
    let node = Node::start()?;
    for number in 0..10 {
        let name = format!("pod-{number}");
        let sandbox = node.sandbox(&name)?;
        node.plugin(&name)?.call("ADD", &sandbox, &config())?.result()?;
        let (links, of_v4, of_v6) = (node.links()?, node.routes("-4")?, node.routes("-6")?);
        ensure!(links.len() == number + 1, "{links:?}");
        ensure!(of_v4 == links && of_v6 == links, "links {links:?}, routes {of_v4:?} and {of_v6:?}");
    }
    Ok(())
}

fn fifty() -> anyhow::Result<()> {
    let node = Node::start()?;
    let names: Vec<String> = (0..50).map(|number| format!("pod-{number}")).collect();
    let sandboxes = names.iter().map(|name| node.sandbox(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let begin = |verb: &str| -> anyhow::Result<Vec<_>> {
        let input = config().to_string();
        let start =
            |sandbox: &Attachment| node.plugin(&sandbox.container)?.start(verb, sandbox, input.as_bytes());
        let running = sandboxes.iter().map(start).collect::<anyhow::Result<Vec<_>>>()?;
        running.into_iter().map(tenure_e2e::plugin::Running::finish).collect()
    };
    for (sandbox, added) in sandboxes.iter().zip(begin("ADD")?) {
        // No wait: an ADD is answered once the pod has its way.
        for address in bare(&added.addresses()?)? {
            ensure!(node.sh(&format!("ip route get {address}"))?.contains("dev eni"), "{address}");
        }
        let config = with_result(&config(), &added.result()?);
        node.plugin(&sandbox.container)?.call("CHECK", sandbox, &config)?.silent()?;
    }
    ensure!(node.links()?.len() == 50, "{:?}", node.links()?);
    node.is_settled("pods")?;
    for deleted in begin("DEL")? {
        deleted.silent()?;
    }
    ensure!(node.links()?.is_empty(), "left: {:?}", node.links()?);
    Ok(())
}

/// A host port, by the reference plugin that follows in the chain.
fn portmap() -> anyhow::Result<()> {
    let node = Node::start()?;
    let config = config_of("1.0.0", &["10.80.0.0/24"]);
    let (sandbox, other) = (node.sandbox("web")?, node.sandbox("client")?);
    let result = node.plugin("web")?.call("ADD", &sandbox, &config)?.result()?;
    node.plugin("client")?.call("ADD", &other, &config)?.result()?;
    let chained = json!({
        "cniVersion": "1.0.0", "name": "pods", "type": "portmap", "snat": true, "prevResult": result,
        "runtimeConfig": { "portMappings": [{ "hostPort": 8080, "containerPort": 80, "protocol": "tcp" }] }
    });
    let portmap = node.any_plugin("/usr/lib/cni/portmap".as_ref());
    let passed_on = portmap.call("ADD", &sandbox, &chained)?.result()?;
    ensure!(
        passed_on["interfaces"] == result["interfaces"] && passed_on["ips"] == result["ips"],
        "{passed_on}"
    );
    let listener =
        traffic::inside(&node.pod(&sandbox), || Ok(std::net::TcpListener::bind(("0.0.0.0", 80))?))?;
    let answer = std::thread::spawn(move || listener.accept().map(drop));
    traffic::inside(&node.pod(&other), || {
        std::net::TcpStream::connect_timeout(&"10.79.0.1:8080".parse()?, LIMIT)?;
        Ok(())
    })
    .context("by the host port")?;
    answer.join().map_err(|_| anyhow::anyhow!("the listener panicked"))??;
    node.plugin("web")?.call("CHECK", &sandbox, &with_result(&config, &passed_on))?.silent()?;
    portmap.call("DEL", &sandbox, &chained)?.silent()?;
    node.plugin("web")?.call("DEL", &sandbox, &config)?.silent()
}

fn gc() -> anyhow::Result<()> {
    let node = Node::start()?;
    let (kept, gone) = (node.sandbox("kept")?, node.sandbox("gone")?);
    node.plugin("kept")?.call("ADD", &kept, &config())?.result()?;
    let links = node.links()?;
    node.plugin("gone")?.call("ADD", &gone, &config())?.result()?;
    let mut listed = config();
    listed["cni.dev/valid-attachments"] = json!([{ "containerID": "kept", "ifname": "eth0" }]);
    node.plugin("kept")?.call("GC", &kept, &listed)?.silent()?;
    node.is_settled("pods")?;
    ensure!(node.links()? == links, "{:?}", node.links()?);
    node.plugin("kept")?.call("STATUS", &kept, &config())?.silent()
}

/// A node without such pods has no rule and no table, even if others have addresses.
fn plain() -> anyhow::Result<()> {
    let node = Node::start()?;
    let ipam = node.any_plugin(&node.daemon.plugin_directory(&["tenure", "tenure-eni"])?.join("tenure"));
    let config = json!({ "cniVersion": "1.1.0", "name": "other", "ipam": { "type": "tenure", "subnet": "10.81.0.0/24" } });
    let pod = node.sandbox("pod")?;
    ipam.call("ADD", &pod, &config)?.address()?;
    ensure!(node.sh("ip rule; ip -6 rule")?.lines().count() == 5, "{}", node.sh("ip rule; ip -6 rule")?);
    ensure!(node.links()?.is_empty());
    // The same attachment cannot have a link in addition.
    let mut main = config.clone();
    main["type"] = json!("tenure-eni");
    let error = node.plugin("pod")?.call("ADD", &pod, &main)?.error_code(163)?;
    ensure!(format!("{error:?}").contains("without a link"), "{error:?}");
    Ok(())
}
