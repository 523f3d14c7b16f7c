//! The names that the host, its wings and policies have agreed on; `wit/README.md` lists those of plans.
//!
//! A policy that is a component cannot depend on this crate, so it has the names that it needs itself.

/// The pool of IPv4 addresses, of a policy whose ranges the host supplies.
pub const IPV4: &str = "ipv4";
/// The pool of IPv6 addresses.
pub const IPV6: &str = "ipv6";

/// The starts of the names that only the host sets. A policy may set [`ASSIGNS`] alone of them, on pools and ranges.
pub const RESERVED: [&str; 9] =
    ["owner.", "pod.", "policy.", "supply.", "time.", "node.", "network.", "runtime-config.", "tenure."];

/// Definitions and ranges: a longer cooldown than the node's, in seconds.
pub const COOLDOWN_SECONDS: &str = "cooldownSeconds";
/// The value of that attribute of a range whose addresses do not cool down at all.
pub const NO_COOLDOWN: &str = "none";

/// Effects, ranges and objects: a network interface.
pub const INTERFACE: &str = "interface";
/// Effects and ranges: a leased block.
pub const BLOCK: &str = "block";
/// Objects: an unused range. Effects: the range that they release.
pub const RANGE: &str = "range";
/// Ranges: the device number of their interface; `0` is the primary one.
pub const DEVICE: &str = "device";
/// Objects: a subnet. Effects and interfaces: the subnet's id.
pub const SUBNET: &str = "subnet";
/// Objects: a pool whose addresses are kept for names, such as the claims of a cluster, and handed to nobody else. It is not exhausted when none is free.
pub const KEPT_POOL: &str = "kept-pool";
/// Objects: a label of the node, with its [`VALUE`].
pub const LABEL: &str = "label";
/// Labels: the value.
pub const VALUE: &str = "value";

/// Ranges: what one assignment of them is; a single address unless it is [`PREFIXES`].
pub const ASSIGNS: &str = "tenure.assigns";

/// Effects: how many addresses or prefixes an interface gets.
pub const COUNT: &str = "count";
/// Effects: how many addresses a new interface has.
pub const ADDRESSES: &str = "addresses";
/// Effects: how many prefixes a new interface has. Ranges: they [assign](ASSIGNS) whole prefixes.
pub const PREFIXES: &str = "prefixes";

/// The state that a planner is given: the interfaces that still fit on the node.
pub const INTERFACES_FREE: &str = "interfaces.free";
/// State: the prefixes or addresses of IPv4 that fit on a new interface.
pub const INTERFACES_SLOTS: &str = "interfaces.slots";
/// State: the prefixes of IPv6 that fit on a new interface.
pub const INTERFACES_IPV6_SLOTS: &str = "interfaces.ipv6.slots";
/// State: the most pods of the node.
pub const MOST_PODS: &str = "pods.max";
/// State: whether interfaces can have prefixes.
pub const PREFIXES_SUPPORTED: &str = "prefixes.supported";
/// State: whether the node takes new pods.
pub const SCHEDULABLE: &str = "schedulable";
/// State: whether the node is ending, so that nothing grows.
pub const TERMINATING: &str = "terminating";
/// State: the instance's type.
pub const INSTANCE_TYPE: &str = "instance.type";
/// State: the time in UTC, as RFC 3339 has it.
pub const TIME: &str = "time.utc";

/// Whether a policy must not set a name.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    name != ASSIGNS && RESERVED.iter().any(|start| name.starts_with(start))
}

/// Whether a pool whose ranges the host supplies has addresses of IPv4, and not of IPv6, by its name: [`IPV4`] and [`IPV6`], and of a cluster
/// `NAME.v4` and `NAME.v6`. `None` if the name does not tell.
#[must_use]
pub fn is_pool_of_ipv4(name: &str) -> Option<bool> {
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    match ending {
        IPV4 | "v4" => Some(true),
        IPV6 | "v6" => Some(false),
        _ => None,
    }
}

/// The pool of a family.
#[must_use]
pub fn pool_of_family(is_ipv4: bool) -> &'static str {
    if is_ipv4 { IPV4 } else { IPV6 }
}
