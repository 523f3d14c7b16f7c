//! What a node wants of the kernel: plain data, derived from its description and from nothing else.

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

use crate::nft::Table;
use crate::node::Node;
use crate::parts::{Address, Mac, Route, Rule};

pub use invalid::Invalid;

/// The state that the kernel shall be in, as far as it is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The interfaces, which shall be up.
    pub links: Vec<WantedLink>,
    /// The addresses of the secondary interfaces.
    pub addresses: BTreeSet<Address>,
    /// The routes in our tables.
    pub routes: BTreeSet<Route>,
    /// The rules.
    pub rules: BTreeSet<Rule>,
    /// The sysctls, as paths below /proc/sys.
    pub sysctls: BTreeMap<String, String>,
    /// The nftables table; `None` if nothing is translated or marked.
    pub table: Option<Table>,
    /// Whose rules of ipamd's are replaced; `None`: nobody's.
    pub adopted: Option<Adopted>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedLink {
    /// Its name.
    pub name: String,
    /// Its hardware address.
    pub mac: Mac,
    /// Its MTU, in bytes.
    pub mtu: u32,
    /// Whether all its addresses are ours: a secondary interface has none but those that are wanted, and its subnet has no route
    /// in the main table.
    pub whole: bool,
}

/// What ipamd has rules for that ours replace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Pods' addresses, with the links that they are reached by.
    pub pods: BTreeMap<IpAddr, String>,
    /// What the secondary interfaces carry.
    pub carried: Vec<IpNet>,
    /// The addresses of secondary interfaces.
    pub interfaces: BTreeSet<IpAddr>,
}

impl Wanted {
    /// What a node wants.
    ///
    /// # Errors
    /// When the description contradicts itself, or has no place in the tables.
    pub fn of(node: &Node) -> Result<Self, Invalid> {
        invalid::check(node)?;
        let mut wanted = Self::default();
        interfaces::add(node, &mut wanted)?;
        pods::add(node, &mut wanted);
        rules::add(node, &mut wanted)?;
        sysctls::add(node, &mut wanted);
        wanted.table = Table::of(node);
        wanted.adopted = node.settings.adopt.then(|| Adopted::of(node));
        Ok(wanted)
    }

    /// The interface of this name.
    pub(crate) fn link(&self, name: &str) -> Option<&WantedLink> {
        self.links.iter().find(|link| link.name == name)
    }
}

impl Adopted {
    fn of(node: &Node) -> Self {
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
