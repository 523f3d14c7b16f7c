//! Rules: one for all pods' addresses, one for each prefix that a secondary interface carries, and the primary's.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Invalid, Wanted, buckets, interfaces};
use crate::node::{Interface, Node};
use crate::numbers::{EXTERNAL, FROM_INTERFACE, MAIN, MARKED, POD_TABLE, TO_PODS};
use crate::parts::{Family, Rule};

pub(super) fn add(node: &Node, wanted: &mut Wanted) -> Result<(), Invalid> {
    let rules = &mut wanted.rules;
    if node.has_v4() {
        rules.insert(Rule::new(Family::V4, TO_PODS, POD_TABLE));
    }
    if node.has_v6() {
        rules.insert(Rule::new(Family::V6, TO_PODS, POD_TABLE));
    }
    if node.marks() {
        rules.insert(Rule::new(Family::V4, MARKED, MAIN).mark(node.settings.mark));
    }
    for net in IpNet::aggregate(&node.settings.external) {
        rules.insert(Rule::new(Family::of(net), EXTERNAL, MAIN).to(net));
    }
    let mut carried = Vec::new();
    for interface in &node.secondary {
        let table = interfaces::table(interface)?;
        // Neighbouring addresses make one rule: the fewer rules, the cheaper each packet.
        carried.extend(IpNet::aggregate(&interface.carries).into_iter().map(|net| (net, table)));
        for net in &interface.addresses {
            let host = IpNet::from(net.addr());
            rules.insert(Rule::new(Family::of(host), FROM_INTERFACE, table).from(host));
        }
    }
    for family in [Family::V4, Family::V6] {
        let nets = carried.iter().filter(|(net, _)| Family::of(*net) == family).copied().collect();
        rules.extend(buckets::rules(family, nets));
    }
    Ok(())
}

impl Node {
    /// Whether pods with IPv4 addresses are there or may come: a node with interfaces has the rule before its first pod.
    fn has_v4(&self) -> bool {
        self.primary.is_some() || self.pods.iter().flat_map(|pod| &pod.addresses).any(IpAddr::is_ipv4)
    }

    /// Whether anything on the node has an IPv6 address that is ours to route.
    pub(crate) fn has_v6(&self) -> bool {
        self.interfaces().any(Interface::has_v6)
            || self.pods.iter().flat_map(|pod| &pod.addresses).any(IpAddr::is_ipv6)
    }

    /// Whether flows are marked.
    pub(crate) fn marks(&self) -> bool {
        self.primary.is_some() && (self.settings.node_ports || self.settings.snat.is_some())
    }
}
