//! Requests, the proposals that policies make for them, and the resulting grants.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::{Attributes, Generation, Moment, NetworkName, Owner, PoolName, Range, RangeName, Sandbox};

/// A request for addresses, in a normalised form that does not depend on the caller or the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The network.
    pub network: NetworkName,
    /// The future owner of the addresses.
    pub owner: Owner,
    /// Addresses that the caller requires, in its order.
    pub requested: Vec<IpAddr>,
    /// The sandbox of an attachment; empty for any other owner.
    pub sandbox: Sandbox,
    /// When the caller's request began.
    pub requested_at: Moment,
}

impl Request {
    /// The owner's lasting name; see [`Allocation::lasting_name`](crate::Allocation::lasting_name).
    #[must_use]
    pub fn lasting_name(&self) -> Option<String> {
        crate::allocation::lasting_name(&self.owner, self.sandbox.pod.as_ref())
    }
}

/// One address from one pool, as a policy proposes it.
///
/// The host adds the prefix length and the gateway from the range, so a policy cannot get them wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The pool's index in its network.
    pub pool: usize,
    /// The address.
    pub address: IpAddr,
    /// The policy's attributes, for the consumer of the grant.
    pub attributes: Attributes,
}

/// A policy's proposal: at most one address from each pool, and exactly one from each pool that every grant needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proposal {
    /// The addresses.
    pub assignments: Vec<Assignment>,
    /// Tags by which the allocation is counted, in addition to its pod's namespace and its owner.
    pub tags: Attributes,
}

impl Proposal {
    /// A proposal of addresses without attributes, each with its pool's index.
    pub fn of(addresses: impl IntoIterator<Item = (usize, IpAddr)>) -> Self {
        let plain = |(pool, address)| Assignment { pool, address, attributes: Attributes::default() };
        Self { assignments: addresses.into_iter().map(plain).collect(), tags: Attributes::default() }
    }
}

/// The origin of an address in a network: the properties that all addresses of its range had when it was handed out.
///
/// Programs that configure the kernel or a cloud read the attributes here, even after the range has changed or gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Source {
    /// The pool; `None` for an address outside all pools.
    pub pool: Option<PoolName>,
    /// The range.
    pub range: Option<RangeName>,
    /// The gateway of the range.
    pub gateway: Option<IpAddr>,
    /// The pool's attributes.
    pub pool_attributes: Attributes,
    /// The range's attributes.
    pub range_attributes: Attributes,
}

impl Source {
    /// The source of the addresses of a pool's range.
    #[must_use]
    pub fn of(pool: &crate::Pool, range: &Range) -> Self {
        Self {
            pool: Some(pool.name.clone()),
            range: Some(range.name().clone()),
            gateway: range.gateway(),
            pool_attributes: pool.attributes.clone(),
            range_attributes: range.attributes().clone(),
        }
    }
}

/// An address with everything that its owner needs to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedAddress {
    /// The address and its prefix length.
    pub address: IpNet,
    /// Its source, shared by the addresses of a range.
    pub source: Arc<Source>,
    /// The policy's attributes.
    pub attributes: Attributes,
}

impl AssignedAddress {
    /// An address outside all ranges.
    #[must_use]
    pub fn plain(address: IpNet, gateway: Option<IpAddr>) -> Self {
        let source = Arc::new(Source { gateway, ..Source::default() });
        Self { address, source, attributes: Attributes::default() }
    }

    /// The address alone.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        self.address.addr()
    }

    /// The gateway of its range.
    #[must_use]
    pub fn gateway(&self) -> Option<IpAddr> {
        self.source.gateway
    }
}

/// The addresses granted to an owner; durable before anyone sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The allocation's number.
    pub generation: Generation,
    /// The addresses, in the order of the network's pools.
    pub addresses: Vec<AssignedAddress>,
}
