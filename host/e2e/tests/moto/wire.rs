//! The links of the interfaces that moto has, which has none: each is a veth with the interface's hardware address into a
//! namespace that plays the VPC, which leads each address to its interface.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::account::Interface;
use crate::eni::Node;
use crate::pod::{GATEWAY, VPC};

/// The links that are there.
pub(crate) struct Wire {
    laid: Vec<Interface>,
}

impl Wire {
    /// Makes the VPC.
    pub(crate) fn make(node: &Node) -> anyhow::Result<Self> {
        node.sh(&format!(
            "ip netns add {VPC}; ip -n {VPC} link set lo up; ip -n {VPC} link add vpc0 type bridge
             ip -n {VPC} link set vpc0 up; ip -n {VPC} addr add {GATEWAY}/16 dev vpc0"
        ))?;
        Ok(Self { laid: Vec::new() })
    }

    /// Makes and removes links, so that there are those of these interfaces.
    pub(crate) fn follow(&mut self, node: &Node, interfaces: &[Interface]) -> anyhow::Result<()> {
        if self.laid == interfaces {
            return Ok(());
        }
        let devices = |of: &[Interface]| -> BTreeSet<u32> { of.iter().map(|one| one.device).collect() };
        let (before, now) = (devices(&self.laid), devices(interfaces));
        let mut script = String::new();
        for gone in before.difference(&now) {
            writeln!(script, "ip link del {}", link(*gone))?;
        }
        for new in interfaces.iter().filter(|interface| !before.contains(&interface.device)) {
            plug(&mut script, new)?;
        }
        writeln!(script, "ip -n {VPC} route flush dev vpc0 proto boot")?;
        for Interface { own, others, .. } in interfaces {
            for other in others {
                writeln!(script, "ip -n {VPC} route add {other} via {own} dev vpc0")?;
            }
        }
        node.sh(&script)?;
        self.laid = interfaces.to_vec();
        Ok(())
    }
}

/// Makes an interface's link. The primary one comes configured, as an image of an operating system would have it.
fn plug(script: &mut String, Interface { mac, device, own, .. }: &Interface) -> anyhow::Result<()> {
    let (link, peer) = (link(*device), format!("p{device}"));
    writeln!(script, "ip link add {link} address {mac} type veth peer name {peer} netns {VPC}")?;
    writeln!(script, "ip -n {VPC} link set {peer} master vpc0 up")?;
    writeln!(script, "ip -n {VPC} neigh replace {own} lladdr {mac} dev vpc0 nud permanent")?;
    if *device == 0 {
        writeln!(script, "ip addr add {own}/16 dev {link}; ip link set {link} up")?;
        writeln!(script, "ip route add default via {GATEWAY} dev {link}")?;
    }
    Ok(())
}

fn link(device: u32) -> String {
    format!("ens{}", 5 + device)
}
