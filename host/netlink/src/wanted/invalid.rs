//! Descriptions that cannot be carried out.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::node::{CloudInterface, NodeNetwork};

/// The longest name of a link, in bytes (IFNAMSIZ without its zero).
const LONGEST_NAME: usize = 15;

/// Why a description cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A name that no link has, or that could not be written into a rule.
    #[error("{0:?} is not a name of a link: use 1 to 15 letters, digits, '-', '_', '.', ':' or '@'")]
    Name(String),
    /// Two things have the same name or address.
    #[error("{0} is described twice")]
    Twice(String),
    /// A mark without a bit marks nothing.
    #[error("the mark has no bit; use one that nothing else on the node uses, such as 0x80")]
    NoMark,
    /// A secondary interface without an address of its own has no gateway.
    #[error("interface {0} has no address of its own")]
    NoAddress(String),
    /// The translated address has to come from somewhere.
    #[error("the primary interface {0} has no IPv4 address to translate pods' addresses to")]
    NoPrimaryAddress(String),
    /// The interface has no place in the tables.
    #[error("interface {name} (card {card}, device {device}) has no table in 9000..=9999")]
    NoTable {
        /// The interface.
        name: String,
        /// The interface's card.
        card: u32,
        /// The interface's device index.
        device: u32,
    },
    /// A prefix or address is on two interfaces.
    #[error("{0} and {1} overlap, but are on different interfaces")]
    Overlap(IpNet, IpNet),
}

/// Checks what the type of a description does not rule out.
pub(super) fn check(node: &NodeNetwork) -> Result<(), Invalid> {
    let links =
        node.interfaces().map(|interface| &interface.name).chain(node.pods.iter().map(|pod| &pod.link));
    let mut names = BTreeSet::new();
    for name in links {
        if !is_name(name) {
            return Err(Invalid::Name(name.clone()));
        }
        if !names.insert(name) {
            return Err(Invalid::Twice(name.clone()));
        }
    }
    if !is_name(&node.settings.link_prefix) {
        return Err(Invalid::Name(node.settings.link_prefix.clone()));
    }
    if node.marks() && node.settings.mark == 0 {
        return Err(Invalid::NoMark);
    }
    if let Some(primary) = node.primary.as_ref().filter(|_| node.settings.snat.is_some())
        && !primary.addresses.iter().any(|net| net.addr().is_ipv4())
    {
        return Err(Invalid::NoPrimaryAddress(primary.name.clone()));
    }
    if let Some(bare) = node.secondary.iter().find(|interface| interface.addresses.is_empty()) {
        return Err(Invalid::NoAddress(bare.name.clone()));
    }
    let own = node.interfaces().flat_map(|interface| interface.addresses.iter().map(IpNet::addr));
    let pods = node.pods.iter().flat_map(|pod| pod.addresses.iter().copied());
    let mut addresses: BTreeSet<IpAddr> = BTreeSet::new();
    for address in own.chain(pods) {
        if !addresses.insert(address) {
            return Err(Invalid::Twice(address.to_string()));
        }
    }
    overlaps(&node.interfaces().collect::<Vec<_>>())
}

/// Finds a prefix that two interfaces claim.
fn overlaps(interfaces: &[&CloudInterface]) -> Result<(), Invalid> {
    let mut nets: Vec<(IpNet, usize)> = Vec::new();
    for (at, interface) in interfaces.iter().enumerate() {
        nets.extend(interface.carries.iter().map(|net| (net.trunc(), at)));
    }
    // By start, then widest first: what overlaps an earlier one overlaps the last one that reached furthest.
    nets.sort_by_key(|(net, _)| (net.network(), net.prefix_len()));
    let mut widest: Option<(IpNet, usize)> = None;
    for (net, at) in nets {
        match widest {
            Some((outer, owner)) if outer.contains(&net) => {
                if owner != at {
                    return Err(Invalid::Overlap(outer, net));
                }
            }
            _ => widest = Some((net, at)),
        }
    }
    Ok(())
}

/// Whether a link can have this name, and nft's language needs no quoting for it.
fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !matches!(name, "." | "..")
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:@".contains(&byte))
}
