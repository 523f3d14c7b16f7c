//! Rules: one for all pods' addresses, one for each prefix that a secondary interface carries, and the primary's.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{DesiredState, Invalid, buckets, interfaces};
use crate::node::{CloudInterface, NodeNetwork};
use crate::numbers::{EXTERNAL, FROM_INTERFACE, MAIN, MARKED, POD_TABLE, TO_PODS};
use crate::parts::{IpFamily, RoutingRule};

pub(super) fn add(node: &NodeNetwork, wanted: &mut DesiredState) -> Result<(), Invalid> {
    let rules = &mut wanted.rules;
    if node.has_v4() {
        rules.insert(RoutingRule::new(IpFamily::V4, TO_PODS, POD_TABLE));
    }
    if node.has_v6() {
        rules.insert(RoutingRule::new(IpFamily::V6, TO_PODS, POD_TABLE));
    }
    if node.marks() {
        rules.insert(RoutingRule::new(IpFamily::V4, MARKED, MAIN).mark(node.settings.mark));
    }
    for net in IpNet::aggregate(&node.settings.external) {
        rules.insert(RoutingRule::new(IpFamily::of(net), EXTERNAL, MAIN).to(net));
    }
    let mut carried = Vec::new();
    for interface in &node.secondary {
        let table = interfaces::table(interface)?;
        // Neighbouring addresses make one rule: the fewer rules, the cheaper each packet.
        carried.extend(IpNet::aggregate(&interface.carries).into_iter().map(|net| (net, table)));
        for net in &interface.addresses {
            let host = IpNet::from(net.addr());
            rules.insert(RoutingRule::new(IpFamily::of(host), FROM_INTERFACE, table).from(host));
        }
    }
    for family in [IpFamily::V4, IpFamily::V6] {
        let nets = carried.iter().filter(|(net, _)| IpFamily::of(*net) == family).copied().collect();
        rules.extend(buckets::rules(family, nets));
    }
    Ok(())
}

impl NodeNetwork {
    /// Whether pods with IPv4 addresses are there or may come: a node with interfaces has the rule before its first pod.
    fn has_v4(&self) -> bool {
        self.primary.is_some() || self.pods.iter().flat_map(|pod| &pod.addresses).any(IpAddr::is_ipv4)
    }

    /// Whether anything on the node has an IPv6 address that is ours to route.
    pub(crate) fn has_v6(&self) -> bool {
        self.interfaces().any(CloudInterface::has_v6)
            || self.pods.iter().flat_map(|pod| &pod.addresses).any(IpAddr::is_ipv6)
    }

    /// Whether flows are marked.
    pub(crate) fn marks(&self) -> bool {
        self.primary.is_some() && (self.settings.node_ports || self.settings.snat.is_some())
    }
}
