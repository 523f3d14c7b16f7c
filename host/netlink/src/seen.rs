//! The kernel's state at the time of an observation.

use std::collections::BTreeMap;

use crate::nft::Shape;
use crate::parts::{InterfaceAddress, KernelLink, KernelRoute, RoutingRule};

/// The part of the kernel's state that a plan is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedState {
    /// All links of the namespace.
    pub links: Vec<KernelLink>,
    /// The global addresses of all links.
    pub addresses: Vec<InterfaceAddress>,
    /// The routes of our tables and of the main one.
    pub routes: Vec<KernelRoute>,
    /// All rules of both families, in the order in which they are asked.
    pub rules: Vec<RoutingRule>,
    /// The present values of the sysctls that are wanted; one that does not exist is not here.
    pub sysctls: BTreeMap<String, String>,
    /// Our nftables table, if it exists.
    pub table: Option<Shape>,
}

impl ObservedState {
    /// The link of this name.
    #[must_use]
    pub fn link(&self, name: &str) -> Option<&KernelLink> {
        self.links.iter().find(|link| link.name == name)
    }
}
