//! The ledger's errors: refused proposals and conflicting facts.

use std::net::IpAddr;

use tenure_types::{Generation, NetworkName, Owner, PoolName, RangeName};

/// Why a proposal is refused. The book is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The network has no pools, so nothing can be assigned.
    #[error("the network has no pools")]
    NoPools,
    /// The proposal has no address.
    #[error("it has no address")]
    NoAddress,
    /// An address is from a pool that does not exist.
    #[error("it names pool number {0}, but the network has {1} pools")]
    NoSuchPool(usize, usize),
    /// Every grant needs an address from the pool, but the proposal has none.
    #[error("it has no address from pool {0}, which every grant needs")]
    PoolMissing(PoolName),
    /// The proposal has more than one address from the pool.
    #[error("it has more than one address from pool {0}")]
    PoolTwice(PoolName),
    /// The address is of a pool that the request may have none of.
    #[error("{0} is of pool {1}, which was not offered to this request")]
    NotOffered(IpAddr, PoolName),
    /// The address is outside the ranges of its pool.
    #[error("{0} is outside pool {1}")]
    Outside(IpAddr, String),
    /// The address is in a draining range, which hands out nothing.
    #[error("{0} is in range {1}, which is draining")]
    Draining(IpAddr, RangeName),
    /// The address is the network address, the broadcast address or the gateway.
    #[error("{0} is {1}")]
    Reserved(IpAddr, &'static str),
    /// The range assigns prefixes, which only an agent's claim can have.
    #[error("{0}/{1} is a prefix, and only an agent's claim can have one")]
    PrefixForPod(IpAddr, u8),
    /// The address has an owner.
    #[error("{0} is held by {1}")]
    Held(IpAddr, Owner),
    /// The address was freed recently, and either cooling is strict or other addresses are free.
    #[error("{0} is still cooling down")]
    Cooling(IpAddr),
    /// The address is in quarantine.
    #[error("{0} is in quarantine")]
    Quarantined(IpAddr),
    /// The owner already has addresses.
    #[error("{0} already owns addresses, by allocation {1}")]
    OwnerHolds(Owner, Generation),
    /// The proposal leaves out an address that the caller requires.
    #[error("{0} was requested but not proposed")]
    RequestIgnored(IpAddr),
    /// A tag has a name that is reserved for the host.
    #[error("tag name {0} is reserved for the host")]
    HostsName(String),
}

impl Violation {
    /// The stable name of the rule that the proposal breaks, for counting.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NoPools => "no-pools",
            Self::NoAddress => "no-address",
            Self::NoSuchPool(..) => "no-such-pool",
            Self::PoolMissing(_) => "pool-missing",
            Self::PoolTwice(_) => "pool-twice",
            Self::NotOffered(..) => "not-offered",
            Self::Outside(..) => "outside",
            Self::Draining(..) => "draining",
            Self::Reserved(..) => "reserved",
            Self::PrefixForPod(..) => "prefix-for-pod",
            Self::Held(..) => "held",
            Self::Cooling(_) => "cooling",
            Self::Quarantined(_) => "quarantined",
            Self::OwnerHolds(..) => "owner-holds",
            Self::RequestIgnored(_) => "request-ignored",
            Self::HostsName(_) => "hosts-name",
        }
    }
}

/// A fact that contradicts the book, so it does not belong to the book's history. The book is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// An outline has more addresses than a book.
    #[error("{0} or more addresses")]
    TooMany(u128),
    /// The fact is about another network.
    #[error("a fact about network {0} in the book of network {1}")]
    Network(NetworkName, NetworkName),
    /// The fact is about an unknown network.
    #[error("a fact about network {0}, which is not defined")]
    NoNetwork(NetworkName),
    /// The network has no such pool.
    #[error("pool {0} is not defined")]
    Pool(PoolName),
    /// An added range exists already or overlaps another, or a changed range does not exist.
    #[error("range {1} of pool {0} is a duplicate, overlaps another range, or does not exist")]
    Range(PoolName, RangeName),
    /// The network is removed while an allocation holds addresses.
    #[error("the network is removed, but allocation {0} is still live")]
    Held(Generation),
    /// The generation was used before.
    #[error("allocation {0} has a generation that was used before")]
    Generation(Generation),
    /// The address has an owner.
    #[error("{0} is assigned twice, by allocations {1} and {2}")]
    Address(IpAddr, Generation, Generation),
    /// The owner already has an allocation.
    #[error("{0} already has an allocation and gets a second one, {1}")]
    Owner(Owner, Generation),
    /// The allocation that ended or was renewed is not in the book.
    #[error("allocation {0} ended or was renewed, but is not in the book")]
    Unknown(Generation),
}
