//! What is asked for, what a policy proposes and what an owner gets.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::{Attributes, Generation, Moment, NetworkName, Owner, PoolName, Range, RangeName, Sandbox};

/// A request for addresses, normalised: the same for every caller and policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The network.
    pub network: NetworkName,
    /// Who will own them.
    pub owner: Owner,
    /// Addresses the caller insists on, in its order.
    pub requested: Vec<IpAddr>,
    /// What an attachment runs in; nothing for any other owner.
    pub sandbox: Sandbox,
    /// When the caller's request began.
    pub requested_at: Moment,
}

impl Request {
    /// What its owner is called from one life to the next, as [`Allocation::lasting_name`](crate::Allocation::lasting_name) has it.
    #[must_use]
    pub fn lasting_name(&self) -> Option<String> {
        crate::allocation::lasting_name(&self.owner, self.sandbox.pod.as_ref())
    }
}

/// One address of one pool, as a policy proposes it.
///
/// Prefix length and gateway are the host's to add from the range, so a policy cannot lie about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The pool's index in its network.
    pub pool: usize,
    /// The address.
    pub address: IpAddr,
    /// What the policy says of it, for whoever uses the grant.
    pub attributes: Attributes,
}

/// What a policy proposes: at most one address from a pool, and one from each pool that every grant needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proposal {
    /// The addresses.
    pub assignments: Vec<Assignment>,
    /// What the allocation is counted by, beside its pod's namespace and its owner.
    pub tags: Attributes,
}

impl Proposal {
    /// A proposal of plain addresses, each with the index of its pool.
    pub fn of(addresses: impl IntoIterator<Item = (usize, IpAddr)>) -> Self {
        let plain = |(pool, address)| Assignment { pool, address, attributes: Attributes::default() };
        Self { assignments: addresses.into_iter().map(plain).collect(), tags: Attributes::default() }
    }
}

/// Where an address was handed out from: what it had in common with every other address of its range at that time.
///
/// Whoever programs the kernel or a cloud reads the attributes here, also after the range has changed or gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Source {
    /// The pool; `None` for an address that was in none.
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
    /// Where an address of this range of this pool is from.
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

/// An address with all that its owner needs to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedAddress {
    /// The address and the prefix length it is used with.
    pub address: IpNet,
    /// Where it is from; addresses of one range share one.
    pub source: Arc<Source>,
    /// What the policy said of it.
    pub attributes: Attributes,
}

impl AssignedAddress {
    /// An address of no range.
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

/// What an owner got, durable by the time anyone sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which allocation it is.
    pub generation: Generation,
    /// The addresses, in the order of the network's pools.
    pub addresses: Vec<AssignedAddress>,
}
