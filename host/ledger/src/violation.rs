//! Why the ledger says no.

use std::net::IpAddr;

use tenure_types::{Generation, NetworkName, Owner};

/// Why a proposal is not allowed. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The proposal does not have exactly one address for each pool.
    #[error(
        "{proposed} addresses proposed for {pools} pools, with pool {pool} named {times} times instead of once"
    )]
    NotOneForEachPool {
        /// How many addresses were proposed.
        proposed: usize,
        /// How many pools there are.
        pools: usize,
        /// A pool that is named too often or not at all.
        pool: usize,
        /// How often it is named.
        times: usize,
    },
    /// The network has no pools, so nothing can be given.
    #[error("the network has no pools")]
    NoPools,
    /// The address is in no range of its pool.
    #[error("{0} is outside pool {1}")]
    Outside(IpAddr, usize),
    /// The address is the network address, the broadcast address or the gateway.
    #[error("{0} is {1}")]
    Reserved(IpAddr, &'static str),
    /// The address has an owner.
    #[error("{0} is held by {1}")]
    Held(IpAddr, Owner),
    /// The address was freed a moment ago, and either cooling is strict or other addresses are free.
    #[error("{0} is still cooling")]
    Cooling(IpAddr),
    /// The owner has addresses already.
    #[error("{0} owns addresses already, by allocation {1}")]
    OwnerHolds(Owner, Generation),
    /// The caller insists on an address that the proposal leaves out.
    #[error("{0} was asked for and not proposed")]
    RequestIgnored(IpAddr),
}

/// A record that contradicts the book: its history is not this book's. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The record is about another network.
    #[error("a record of network {0} in the book of network {1}")]
    Network(NetworkName, NetworkName),
    /// The generation was given out before.
    #[error("allocation {0} comes after its number was used")]
    Generation(Generation),
    /// The address has an owner.
    #[error("{0} is given out twice, by allocations {1} and {2}")]
    Address(IpAddr, Generation, Generation),
    /// The owner has an allocation.
    #[error("{0} is given a second allocation {1}")]
    Owner(Owner, Generation),
    /// The allocation that ended is not known.
    #[error("allocation {0} ends, but is not in the book")]
    Unknown(Generation),
}
