//! The ways of packets: to the VPC, to the outside through the node's address, and in through a node port.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};

use super::double::{DoubleInterface, VPC};
use super::instance::{GATEWAY, Instance, OUTSIDE, PORT, socket};
use crate::command;
use crate::demo::tell::Teller;
use crate::demo::traffic;

/// The node port.
const NODE_PORT: u16 = 30080;

/// Act three: packets go where they should, with the addresses that they should have.
///
/// # Errors
/// When one does not.
pub(super) fn show(instance: &Instance<'_>, tell: Teller) -> Result<()> {
    tell.act("3. Traffic");
    instance.all_have_their_way()?;
    let count = instance.pods.len();
    tell.good(&format!("{count} pods reach the VPC with their own addresses, and are reached from there"));
    let interfaces = instance.double.interfaces()?;
    let primary = interfaces.first().and_then(DoubleInterface::own).context("no primary interface")?;
    outside(instance, &primary)?;
    tell.good(&format!(
        "{OUTSIDE}, outside of the VPC, sees all of them as {primary}, the node's address (SNAT)"
    ));
    node_port(instance, &primary, tell)
}

/// Each pod is seen outside with the node's address.
fn outside(instance: &Instance<'_>, primary: &str) -> Result<()> {
    let (vpc, outside, primary) =
        (instance.enclave.named_network(VPC), socket(OUTSIDE)?, socket(primary)?.ip());
    for pod in &instance.pods {
        let seen = traffic::ask(&instance.enclave.named_network(&pod.name), outside, &vpc, outside)
            .with_context(|| format!("from {} to the outside", pod.name))?;
        ensure!(seen == primary, "{} is seen outside as {seen}, not {primary}", pod.name);
    }
    Ok(())
}

/// A connection to the node's port reaches a pod of another interface, and its answers leave by the one it came by.
fn node_port(instance: &Instance<'_>, primary: &str, tell: Teller) -> Result<()> {
    let pod = instance.pods.last().context("no pods")?;
    let interface = instance.interface_of(pod)?;
    ensure!(interface.device > 0, "{} is on the primary interface", pod.name);
    let rules = Forwarding::to(instance, pod.bare())?;
    let dial = SocketAddr::new(socket(primary)?.ip(), NODE_PORT);
    let (vpc, network) = (instance.enclave.named_network(VPC), instance.enclave.named_network(&pod.name));
    let seen = traffic::ask(&vpc, dial, &network, socket(pod.bare())?)?;
    ensure!(seen == socket(GATEWAY)?.ip(), "{} sees {seen} instead of who has asked", pod.name);
    let (by_primary, by_others) = (rules.packets("primary")?, rules.packets("others")?);
    ensure!(
        by_primary > 0 && by_others == 0,
        "{by_primary} packets of the answer left by the primary interface, and {by_others} by others"
    );
    tell.good(&format!(
        "node port {dial} leads to {}, on {}; its answer leaves by ens5, as the question came",
        pod.name,
        interface.link()
    ));
    rules.remove()
}

/// A node port as kube-proxy sets it up, with a counter for each return path.
struct Forwarding<'a>(&'a Instance<'a>);

impl<'a> Forwarding<'a> {
    fn to(instance: &'a Instance<'a>, pod: &str) -> Result<Self> {
        let table = format!(
            r#"table ip demo {{
                counter primary {{ }}
                counter others {{ }}
                chain services {{
                    type nat hook prerouting priority dstnat;
                    iifname "ens5" tcp dport {NODE_PORT} dnat to {pod}:{PORT}
                }}
                chain answers {{
                    type filter hook forward priority filter;
                    ip saddr {pod} tcp sport {PORT} oifname "ens5" counter name "primary"
                    ip saddr {pod} tcp sport {PORT} oifname != "ens5" counter name "others"
                }}
            }}"#
        );
        command::output(instance.enclave.command("nft").arg(table))?;
        Ok(Self(instance))
    }

    /// How many packets of answers were counted.
    fn packets(&self, counter: &str) -> Result<u64> {
        let list = ["list", "counter", "ip", "demo", counter];
        let text = command::output(self.0.enclave.command("nft").args(list))?;
        let mut words = text.split_whitespace().skip_while(|word| *word != "packets").skip(1);
        let packets = words.next().with_context(|| format!("no packets in {text}"))?;
        packets.parse().with_context(|| format!("no number in {text}"))
    }

    fn remove(self) -> Result<()> {
        command::output(self.0.enclave.command("nft").args(["delete", "table", "ip", "demo"])).map(|_| ())
    }
}
