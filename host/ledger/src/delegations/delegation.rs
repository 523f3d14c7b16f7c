//! A delegation as data.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{ContainerId, DelegateName, Generation, InterfaceName, Moment, NetworkName, Owner};

/// A request to a delegate on behalf of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The network.
    pub network: NetworkName,
    /// The owner.
    pub owner: Owner,
    /// The delegate.
    pub delegate: DelegateName,
    /// The container id that the delegate knows the owner by.
    pub container: ContainerId,
    /// The interface that it was told.
    pub interface: InterfaceName,
    /// The network namespace that it was told; empty for the configured one.
    pub netns: Box<str>,
    /// The `ipam` object that it was asked with, which is also the one to take back with. Most owners of a network share it.
    pub ipam: Arc<str>,
    /// Time of the request.
    pub since: Moment,
    /// The delegate's answer, once the ledger has accepted it, and until the network is removed.
    pub given: Option<Given>,
}

/// A delegate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The allocation.
    pub generation: Generation,
    /// Addresses from the delegate, each of which is a range of its own.
    pub addresses: Vec<IpAddr>,
}
