//! Recognises objects that are ours, and those of ipamd that become ours; everything else is never touched.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::numbers::{
    BUCKETS, BUCKETS_END, EMPTY_TABLE, EXTERNAL, FROM_INTERFACE, FROM_PODS, MAIN, MARKED, NO_BUCKET,
    OWN_TABLES, POD_TABLE, PROTOCOL, TO_PODS,
};
use crate::parts::{InterfaceAddress, KernelRoute, RoutingRule};
use crate::wanted::DesiredState;

/// Whether a rule is one that only we make: our protocol, one of our priorities, and the shape that it has there.
pub(crate) fn is_rule(rule: &RoutingRule) -> bool {
    let plain = rule.protocol == PROTOCOL && !rule.special;
    if let Some(target) = rule.goto {
        let from_pods = rule.priority == FROM_PODS && rule.from.is_some() && BUCKETS.contains(&target);
        let way_out = BUCKETS.contains(&rule.priority) || rule.priority == NO_BUCKET;
        let out = way_out && rule.from.is_none() && target == BUCKETS_END;
        return plain && rule.to.is_none() && rule.mark.is_none() && (from_pods || out);
    }
    plain
        && match (rule.priority, rule.from, rule.to, rule.mark) {
            (TO_PODS, None, None, None) => rule.table == POD_TABLE,
            (MARKED, None, None, Some(_)) | (EXTERNAL, None, Some(_), None) => rule.table == MAIN,
            (BUCKETS_END, None, None, None) => rule.table == EMPTY_TABLE,
            (priority, Some(_), None, None) => {
                let from = [FROM_PODS, FROM_INTERFACE].contains(&priority) || BUCKETS.contains(&priority);
                from && OWN_TABLES.contains(&rule.table)
            }
            _ => false,
        }
}

/// Whether a rule is one that ipamd made for something that our own rules now serve.
pub(crate) fn is_adopted(rule: &RoutingRule, wanted: &DesiredState) -> bool {
    let Some(adopted) = &wanted.adopted else { return false };
    let theirs = rule.protocol != PROTOCOL && !rule.special && rule.goto.is_none();
    theirs
        && match (rule.priority, rule.from.and_then(single), rule.to, rule.mark) {
            (TO_PODS, None, Some(to), None) if rule.from.is_none() && rule.table == MAIN => {
                single(to).is_some_and(|address| adopted.pods.contains_key(&address))
            }
            (MARKED, None, None, Some(_)) | (EXTERNAL, None, Some(_), None)
                if rule.from.is_none() && rule.table == MAIN =>
            {
                wanted.rules.contains(&RoutingRule { protocol: PROTOCOL, ..rule.clone() })
            }
            // Only what a rule of ours sends the same way. What no interface is known to carry keeps its rule.
            (FROM_PODS, Some(from), None, None) if is_interfaces(rule.table) => {
                adopted.pods.contains_key(&from) && adopted.carried.iter().any(|net| net.contains(&from))
            }
            (FROM_INTERFACE, Some(from), None, None) if is_interfaces(rule.table) => {
                adopted.interfaces.contains(&from)
            }
            _ => false,
        }
}

/// Whether a table can be one that ipamd made for an interface: neither the kernel's nor ours.
fn is_interfaces(table: u32) -> bool {
    !(253..=255).contains(&table) && table != 0 && !OWN_TABLES.contains(&table)
}

/// The address of a network that has only one.
fn single(net: IpNet) -> Option<IpAddr> {
    (net.prefix_len() == net.max_prefix_len()).then(|| net.addr())
}

/// Whether a route is ours: all in our tables, and the main table's route to the subnet of a secondary interface, which the kernel
/// makes with an address and which would send to that interface what belongs to the primary.
pub(crate) fn is_route(route: &KernelRoute, wanted: &DesiredState) -> bool {
    OWN_TABLES.contains(&route.table)
        || route.table == MAIN
            && route.protocol == PROTOCOL
            && route.via.is_none()
            && is_whole(&route.device, wanted)
            && wanted.addresses.iter().any(|own| own.device == route.device && subnet(own) == Some(route.to))
}

fn subnet(address: &InterfaceAddress) -> Option<IpNet> {
    IpNet::new(address.address, address.length).ok().map(|net| net.trunc())
}

/// Whether an address is ours: all of a secondary interface.
pub(crate) fn is_address(address: &InterfaceAddress, wanted: &DesiredState) -> bool {
    is_whole(&address.device, wanted)
}

fn is_whole(device: &str, wanted: &DesiredState) -> bool {
    wanted.link(device).is_some_and(|link| link.whole)
}
