//! Calls of delegates: IPAM binaries of others, which tenure runs for pods and agents alike.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::cni::Success;
use crate::{ContainerId, InterfaceName, NetworkName, PodIdentity};

/// The attribute of a network, and of the first address of each of its allocations, that names the network's delegate.
pub const DELEGATED: &str = "cni.delegate";

/// The attachment that a delegate is called for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateCall {
    /// The network, which is also the name of the configuration that the delegate gets.
    pub network: NetworkName,
    /// The `ipam` object that the delegate gets, as JSON text; its `type` is set to the binary's name.
    pub ipam: Box<str>,
    /// `CNI_CONTAINERID`.
    pub container: ContainerId,
    /// `CNI_IFNAME`.
    pub interface: InterfaceName,
    /// `CNI_NETNS`; empty stands for the delegate's configured one.
    pub netns: Box<str>,
    /// The pod, for `CNI_ARGS`.
    pub pod: Option<PodIdentity>,
    /// The addresses to ask for, as `args.cni.ips`.
    pub requested: Vec<IpAddr>,
}

/// A call of a delegate other than ADD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegateVerb {
    /// Free what the attachment has.
    Del,
    /// Check that the attachment has what the delegate gave it.
    Check {
        /// The result that the delegate gave.
        given: Success,
    },
    /// Free what all other attachments of the network have.
    Gc {
        /// The attachments to keep.
        valid: BTreeSet<(ContainerId, InterfaceName)>,
    },
    /// Tell whether an ADD could be served.
    Status,
}
