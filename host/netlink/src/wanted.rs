//! The kernel's desired state: plain data, derived from the node's description and from nothing else.

mod buckets;
mod interfaces;
mod invalid;
mod pods;
mod rules;
mod sysctls;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::nft::NftTable;
use crate::node::NodeNetwork;
use crate::parts::{InterfaceAddress, KernelRoute, Mac, RoutingRule};

pub use invalid::Invalid;

/// The desired state of the kernel, as far as it is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DesiredState {
    /// The interfaces, which must be up.
    pub links: Vec<WantedLink>,
    /// The addresses of the secondary interfaces.
    pub addresses: BTreeSet<InterfaceAddress>,
    /// The routes in our tables.
    pub routes: BTreeSet<KernelRoute>,
    /// The rules.
    pub rules: BTreeSet<RoutingRule>,
    /// The sysctls, as paths below /proc/sys.
    pub sysctls: BTreeMap<String, String>,
    /// The nftables table; `None` if nothing is translated or marked.
    pub table: Option<NftTable>,
    /// The rules of ipamd that are replaced; `None` replaces none.
    pub adopted: Option<Adopted>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedLink {
    /// The link's name.
    pub name: String,
    /// The link's hardware address.
    pub mac: Mac,
    /// The link's MTU, in bytes.
    pub mtu: u32,
    /// Whether all its addresses are ours: a secondary interface has none but those that are wanted, and its subnet has no route
    /// in the main table.
    pub whole: bool,
}

/// Addresses and prefixes for which ipamd's rules are replaced by ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Pods' addresses, with the links that they are reached by.
    pub pods: BTreeMap<IpAddr, String>,
    /// The addresses and prefixes that secondary interfaces carry.
    pub carried: Vec<IpNet>,
    /// The addresses of secondary interfaces.
    pub interfaces: BTreeSet<IpAddr>,
}

impl DesiredState {
    /// Derives the desired state from a node's description.
    ///
    /// # Errors
    /// When the description contradicts itself, or has no place in the tables.
    pub fn of(node: &NodeNetwork) -> Result<Self, Invalid> {
        invalid::check(node)?;
        let mut wanted = Self::default();
        interfaces::add(node, &mut wanted)?;
        pods::add(node, &mut wanted);
        rules::add(node, &mut wanted)?;
        sysctls::add(node, &mut wanted);
        wanted.table = NftTable::of(node);
        wanted.adopted = node.settings.adopt.then(|| Adopted::of(node));
        Ok(wanted)
    }

    /// The interface of this name.
    pub(crate) fn link(&self, name: &str) -> Option<&WantedLink> {
        self.links.iter().find(|link| link.name == name)
    }
}

impl Adopted {
    fn of(node: &NodeNetwork) -> Self {
        let pods =
            node.pods.iter().flat_map(|pod| pod.addresses.iter().map(|address| (*address, pod.link.clone())));
        let interfaces = node.secondary.iter().flat_map(|interface| &interface.addresses);
        Self {
            pods: pods.collect(),
            carried: node.secondary.iter().flat_map(|interface| interface.carries.clone()).collect(),
            interfaces: interfaces.map(IpNet::addr).collect(),
        }
    }
}
