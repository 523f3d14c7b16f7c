//! Why the ledger says no.

use std::net::IpAddr;

use tenure_types::{Generation, NetworkName, Owner, PoolName, RangeName};

/// Why a proposal is not allowed. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The network has no pools, so nothing can be given.
    #[error("the network has no pools")]
    NoPools,
    /// The proposal has no address.
    #[error("it has no address")]
    NoAddress,
    /// An address is of a pool that is not there.
    #[error("it names pool number {0}, and the network has {1} pools")]
    NoSuchPool(usize, usize),
    /// Every grant needs an address of the pool, and there is none.
    #[error("it has no address of pool {0}, which every grant needs")]
    PoolMissing(PoolName),
    /// More than one address is of the pool.
    #[error("it has more than one address of pool {0}")]
    PoolTwice(PoolName),
    /// The address is in no range of its pool.
    #[error("{0} is outside pool {1}")]
    Outside(IpAddr, String),
    /// The address is in a range that hands nothing more out.
    #[error("{0} is in range {1}, which is draining")]
    Draining(IpAddr, RangeName),
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
    /// A tag has a name that the host counts by itself.
    #[error("tag {0} has a name that is the host's own")]
    HostsName(String),
}

/// A fact that contradicts the book: its history is not this book's. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The fact is about another network.
    #[error("a fact of network {0} in the book of network {1}")]
    Network(NetworkName, NetworkName),
    /// The fact is about a network that is not known.
    #[error("a fact of network {0}, which is not defined")]
    NoNetwork(NetworkName),
    /// The pool is not the network's.
    #[error("pool {0} is not defined")]
    Pool(PoolName),
    /// A range is added that is there, or overlaps one that is; or one changes that is not there.
    #[error("range {1} of pool {0} is there twice, overlaps another, or is not there")]
    Range(PoolName, RangeName),
    /// The network goes while an allocation holds addresses.
    #[error("the network is removed while allocation {0} lives")]
    Held(Generation),
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
