//! The kernel's settings on which the way of a pod's packets depends.

use super::networks::ConfigurationFiles;
use super::node::NodePaths;
use crate::report::NodeCheck;

/// Values of `rp_filter`: strict, and the one that the datapath sets.
const STRICT: u32 = 1;
const LOOSE: u32 = 2;

/// Checks that packets are forwarded to pods at all.
pub(super) fn forwarding(node: &NodePaths) -> NodeCheck {
    const NAME: &str = "ip-forward";
    match number(node, "net/ipv4/ip_forward") {
        None => NodeCheck::skipped(NAME, "net.ipv4.ip_forward cannot be read"),
        Some(0) => NodeCheck::warning(
            NAME,
            "net.ipv4.ip_forward is 0: no packet reaches a pod from outside, unless the main plugin sets it",
            "`sysctl -w net.ipv4.ip_forward=1`, and in /etc/sysctl.d",
        ),
        Some(_) => NodeCheck::fine(NAME, "net.ipv4.ip_forward is 1"),
    }
}

/// Checks that answers that leave by another interface than the question came by are not dropped: pods on cloud interfaces have such.
pub(super) fn reverse_path(node: &NodePaths, files: &ConfigurationFiles) -> NodeCheck {
    const NAME: &str = "rp-filter";
    if !files.using_tenure(true).any(|(_, file)| file.makes_links()) {
        return NodeCheck::skipped(NAME, "no network has links that the daemon makes");
    }
    let Some(primary) = primary(node) else {
        return NodeCheck::skipped(NAME, "there is no default route");
    };
    let of = |name: &str| number(node, &format!("net/ipv4/conf/{name}/rp_filter"));
    // The kernel takes the higher of the two.
    let Some(value) = of("all").max(of(&primary)) else {
        return NodeCheck::skipped(NAME, "rp_filter cannot be read");
    };
    if value == STRICT {
        return NodeCheck::warning(
            NAME,
            format!("rp_filter of {primary} is strict: answers for pods on other interfaces are dropped"),
            format!(
                "tenured sets it on a node with cloud interfaces; otherwise `sysctl -w net.ipv4.conf.{primary}.rp_filter={LOOSE}`"
            ),
        );
    }
    NodeCheck::fine(NAME, format!("{value} for {primary}"))
}

/// Checks that a node that forwards IPv6 keeps a default route that it has from router advertisements.
pub(super) fn router_advertisements(node: &NodePaths) -> NodeCheck {
    const NAME: &str = "accept-ra";
    let forwards = number(node, "net/ipv6/conf/all/forwarding");
    // An IPv6 route that has run out is not there any more; the interface of the IPv4 route may have had it.
    let primary = primary_ipv6(node).or_else(|| primary(node));
    let Some((primary, Some(_))) = primary.map(|primary| (primary, forwards.filter(|on| *on > 0))) else {
        return NodeCheck::skipped(NAME, "the node does not forward IPv6, or has no default route");
    };
    match number(node, &format!("net/ipv6/conf/{primary}/accept_ra")) {
        Some(1) => NodeCheck::warning(
            NAME,
            format!("accept_ra of {primary} is 1: a node that forwards ignores router advertisements"),
            format!("if its IPv6 route comes from them, `sysctl -w net.ipv6.conf.{primary}.accept_ra=2`"),
        ),
        Some(value) => NodeCheck::fine(NAME, format!("{value} for {primary}")),
        None => NodeCheck::skipped(NAME, "accept_ra cannot be read"),
    }
}

fn number(node: &NodePaths, key: &str) -> Option<u32> {
    node.text(&format!("/proc/sys/{key}"))?.trim().parse().ok()
}

/// The interface of the IPv4 default route.
fn primary(node: &NodePaths) -> Option<String> {
    let routes = node.text("/proc/net/route")?;
    let mut rows = routes.lines().skip(1).map(|line| line.split_whitespace());
    rows.find_map(|mut fields| {
        let (interface, destination) = (fields.next()?, fields.next()?);
        (destination == "00000000").then(|| interface.to_owned())
    })
}

/// The interface of the IPv6 default route. The kernel's own, by which it refuses what no other route has, leads to `lo`.
fn primary_ipv6(node: &NodePaths) -> Option<String> {
    let routes = node.text("/proc/net/ipv6_route")?;
    routes.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let (destination, length, interface) = (fields.next()?, fields.next()?, fields.next_back()?);
        let is_default = length == "00" && destination.bytes().all(|digit| digit == b'0');
        (is_default && interface != "lo").then(|| interface.to_owned())
    })
}
