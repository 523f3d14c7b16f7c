//! A delegation as data.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{ContainerId, DelegateName, Generation, InterfaceName, Moment, NetworkName, Owner};

/// What a delegate was asked for on behalf of an owner.
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
    /// When it was asked.
    pub since: Moment,
    /// What it gave, once the ledger has accepted that, and until the network is removed.
    pub given: Option<Given>,
}

/// What a delegate gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The allocation.
    pub generation: Generation,
    /// Its addresses, each of which is a range of its own.
    pub addresses: Vec<IpAddr>,
}
