//! One change of the kernel's state.

use std::collections::BTreeSet;
use std::fmt;

use ipnet::IpNet;

use crate::nft::NftTable;
use crate::numbers::POD_TABLE;
use crate::parts::{InterfaceAddress, KernelRoute, RoutingRule};

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Write a sysctl.
    WriteSysctl {
        /// The sysctl's path below /proc/sys.
        key: String,
        /// The value.
        value: String,
    },
    /// Set a link up, with this MTU.
    SetLink {
        /// The link's name.
        name: String,
        /// The link's MTU, in bytes.
        mtu: u32,
    },
    /// Set the host's end of a pod's link up.
    RaiseLink {
        /// The link's name.
        name: String,
    },
    /// Add an address to a link.
    AddAddress(InterfaceAddress),
    /// Set a route, replacing one for the same destinations in the same table.
    SetRoute(KernelRoute),
    /// Replace our nftables table.
    ReplaceTable(NftTable),
    /// Add a rule.
    AddRule(RoutingRule),
    /// Remove a rule.
    RemoveRule(RoutingRule),
    /// Remove a route.
    RemoveRoute(KernelRoute),
    /// Remove our nftables table.
    RemoveTable,
    /// Remove an address from a link.
    RemoveAddress(InterfaceAddress),
}

impl Operation {
    /// The kind of object that the operation changes, as the label of a counter.
    #[must_use]
    pub fn subject(&self) -> &'static str {
        match self {
            Self::WriteSysctl { .. } => "sysctl",
            Self::SetLink { .. } | Self::RaiseLink { .. } => "link",
            Self::AddAddress(_) | Self::RemoveAddress(_) => "address",
            Self::SetRoute(_) | Self::RemoveRoute(_) => "route",
            Self::ReplaceTable(_) | Self::RemoveTable => "nftables",
            Self::AddRule(_) | Self::RemoveRule(_) => "rule",
        }
    }

    /// Whether it takes something away.
    #[must_use]
    pub fn removes(&self) -> bool {
        matches!(
            self,
            Self::RemoveRule(_) | Self::RemoveRoute(_) | Self::RemoveTable | Self::RemoveAddress(_)
        )
    }

    /// The host's end of the pod that it concerns alone: if it fails, no other pod is worse off.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        match self {
            Self::RaiseLink { name } => Some(name),
            Self::SetRoute(route) | Self::RemoveRoute(route) if route.table == POD_TABLE => {
                Some(&route.device)
            }
            _ => None,
        }
    }

    /// Whether it takes away a rule or route of exactly one of these destinations or sources.
    pub(crate) fn takes_from(&self, nets: &BTreeSet<IpNet>) -> bool {
        match self {
            Self::RemoveRule(rule) => rule.to.iter().chain(&rule.from).any(|net| nets.contains(net)),
            Self::RemoveRoute(route) => nets.contains(&route.to),
            _ => false,
        }
    }

    /// Whether it concerns one of these links or sysctls.
    pub(crate) fn concerns(&self, names: &[String]) -> bool {
        let name = match self {
            Self::WriteSysctl { key, .. } => key,
            Self::SetLink { name, .. } | Self::RaiseLink { name } => name,
            Self::AddAddress(address) | Self::RemoveAddress(address) => &address.device,
            Self::SetRoute(route) | Self::RemoveRoute(route) => &route.device,
            Self::ReplaceTable(_) | Self::AddRule(_) | Self::RemoveRule(_) | Self::RemoveTable => {
                return false;
            }
        };
        names.contains(name)
    }

    /// The order of removals: what leads to something goes before it.
    pub(super) fn leads(&self) -> u8 {
        match self {
            Self::RemoveRule(_) => 0,
            Self::RemoveTable => 1,
            Self::RemoveRoute(_) => 2,
            _ => 3,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WriteSysctl { key, value } => write!(f, "write {value} to /proc/sys/{key}"),
            Self::SetLink { name, mtu } => write!(f, "set link {name} up with MTU {mtu}"),
            Self::RaiseLink { name } => write!(f, "set link {name} up"),
            Self::AddAddress(address) => write!(f, "add {address}"),
            Self::SetRoute(route) => write!(f, "set {route}"),
            Self::ReplaceTable(_) => write!(f, "replace the nftables table"),
            Self::AddRule(rule) => write!(f, "add {rule}"),
            Self::RemoveRule(rule) => write!(f, "remove {rule}"),
            Self::RemoveRoute(route) => write!(f, "remove {route}"),
            Self::RemoveTable => write!(f, "remove the nftables table"),
            Self::RemoveAddress(address) => write!(f, "remove {address}"),
        }
    }
}
