//! Debian's reference plugins `bridge` and `ptp` with addresses from tenure: pods can reach each other.

use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::daemon::Shared;
use tenure_e2e::{Attachment, Enclave, Need, Plugin, Suite, traffic};

/// The versions that Debian's plugins support; the acceptance cases cover tenure's 1.1.0.
const VERSIONS: [&str; 6] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"];

/// The address families, and the subnets of each.
const FAMILIES: [(&str, &[&str]); 3] =
    [("v4", &["10.61.0.0/24"]), ("v6", &["fd61::/64"]), ("dual", &["10.61.0.0/24", "fd61::/64"])];

fn main() -> ExitCode {
    let shared = Shared::default();
    let mut suite = Suite::new();
    for plugin in ["bridge", "ptp"] {
        for version in VERSIONS {
            for (family, subnets) in FAMILIES {
                let shared = shared.clone();
                suite = suite.test(format!("{plugin}_{version}_{family}"), Need::NAMESPACES, move || {
                    let network = format!("{plugin}-{version}-{family}");
                    let ipam =
                        json!({ "type": "tenure", "ranges": ranges(subnets), "routes": routes(subnets) });
                    pods_reach_each_other(&shared, plugin, &config(plugin, version, &network, &ipam))
                });
            }
        }
    }
    suite
        .test("a_host_local_configuration_is_served_unchanged", Need::NAMESPACES, {
            let shared = shared.clone();
            move || {
                let ipam = json!({
                    "type": "host-local",
                    "subnet": "10.62.0.0/24",
                    "rangeStart": "10.62.0.20",
                    "rangeEnd": "10.62.0.30",
                    "dataDir": "/run/not-used",
                    "routes": [{ "dst": "0.0.0.0/0" }],
                });
                pods_reach_each_other(&shared, "bridge", &config("bridge", "0.4.0", "as-host-local", &ipam))
            }
        })
        .test("an_add_that_the_plugin_fails_after_ipam_keeps_no_address", Need::NAMESPACES, move || {
            an_add_that_the_plugin_fails(&shared)
        })
        .run()
}

fn ranges(subnets: &[&str]) -> Value {
    subnets.iter().map(|subnet| json!([{ "subnet": subnet }])).collect()
}

/// A default route for each address family.
fn routes(subnets: &[&str]) -> Value {
    let default = |subnet: &&str| if subnet.contains(':') { "::/0" } else { "0.0.0.0/0" };
    subnets.iter().map(|subnet| json!({ "dst": default(subnet) })).collect()
}

fn config(plugin: &str, version: &str, network: &str, ipam: &Value) -> Value {
    // `ptp` ignores `bridge` and `isGateway`.
    json!({
        "cniVersion": version, "name": network, "type": plugin, "bridge": "br0", "isGateway": true, "ipam": ipam
    })
}

/// The reference plugin in an enclave, with tenure in `CNI_PATH` under both of its names.
fn reference_plugin(shared: &Shared, name: &str, enclave: &Enclave) -> anyhow::Result<Plugin> {
    let daemon = shared.get()?;
    let tenure = daemon.plugin_directory(&["tenure", "host-local"])?;
    Ok(Plugin::new(format!("/usr/lib/cni/{name}").as_ref())
        .under(&enclave.command("env"))
        .env("CNI_PATH", tenure.display().to_string())
        .env("TENURE_SOCKET", daemon.socket()))
}

fn pods_reach_each_other(shared: &Shared, name: &str, config: &Value) -> anyhow::Result<()> {
    let daemon = shared.get()?;
    let network = config.get("name").and_then(Value::as_str).context("the network has no name")?;
    let enclave = Enclave::new()?;
    let plugin = reference_plugin(shared, name, &enclave)?;
    let mut pods = Vec::new();
    for pod in ["one", "two"] {
        let attachment = Attachment::in_netns(pod, enclave.add_netns(pod)?);
        let addresses = plugin.call("ADD", &attachment, config)?.addresses()?;
        let expected = config.pointer("/ipam/ranges").and_then(Value::as_array).map_or(1, Vec::len);
        ensure!(addresses.len() == expected, "expected {expected} addresses: {addresses:?}");
        pods.push((attachment, addresses));
    }
    let allocations = daemon.allocations(network)?;
    ensure!(allocations.len() == 2, "expected two allocations: {allocations:?}");
    if let [(one, first), (two, second)] = pods.as_slice() {
        let (one, two) = (enclave.outside(&one.netns), enclave.outside(&two.netns));
        for (from, to, addresses) in [(&one, &two, second), (&two, &one, first)] {
            for address in addresses {
                traffic::greet(from, to, bare(address)?)?;
            }
        }
    }
    for (attachment, _) in &pods {
        plugin.call("DEL", attachment, config)?.silent()?;
        // A runtime may repeat the DEL, also after the namespace is gone.
        enclave.run("ip", &["netns", "delete", &attachment.container])?;
        plugin.call("DEL", attachment, config)?.silent()?;
    }
    let left = daemon.allocations(network)?;
    ensure!(left.is_empty(), "left after DEL: {left:?}");
    Ok(())
}

/// The address of CIDR text.
fn bare(cidr: &str) -> anyhow::Result<IpAddr> {
    let (address, _) = cidr.split_once('/').with_context(|| format!("no prefix in {cidr}"))?;
    Ok(address.parse()?)
}

/// The plugin fails after it got an address, and frees it itself.
fn an_add_that_the_plugin_fails(shared: &Shared) -> anyhow::Result<()> {
    let daemon = shared.get()?;
    let enclave = Enclave::new()?;
    let plugin = reference_plugin(shared, "ptp", &enclave)?;
    let ipam = json!({ "type": "tenure", "ranges": ranges(&["10.63.0.0/24"]) });
    let config = config("ptp", "1.0.0", "fails-after-ipam", &ipam);
    let attachment = Attachment::in_netns("pod", enclave.add_netns("pod")?);
    // The interface that the plugin creates already exists.
    enclave.run("ip", &["-n", "pod", "link", "add", "eth0", "type", "bridge"])?;
    plugin.call("ADD", &attachment, &config)?.error()?;
    let left = daemon.allocations("fails-after-ipam")?;
    ensure!(left.is_empty(), "left after the failed ADD: {left:?}");
    Ok(())
}
