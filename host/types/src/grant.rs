//! Requests, the proposals that policies make for them, and the resulting grants.

use std::net::IpAddr;
use std::sync::Arc;

use crate::{AssignedAddress, Attributes, Generation, Moment, NetworkName, Owner, PoolName, Sandbox};

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
    /// Whether the network's last plan found that its supply is as large as it can be.
    pub supply_full: bool,
    /// The facts from outside of the node that the host has added.
    pub context: RequestContext,
    /// The start of the caller's request.
    pub requested_at: Moment,
}

/// Facts about a request from outside of the node, as far as the host has looked them up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestContext {
    /// The pools that the addresses may come from, the preferred ones first; `None`: all pools of the network that are not kept for names.
    pub pools: Option<Arc<[PoolName]>>,
    /// Labels and annotations of the pod and of its namespace, by the names that policies know them by, such as `pod.label.app`. A policy
    /// sees those that it was granted.
    pub metadata: Arc<[(Box<str>, Box<str>)]>,
}

impl Request {
    /// Whether the request may have an address of a pool.
    #[must_use]
    pub fn admits_pool(&self, pool: &PoolName) -> bool {
        self.context.pools.as_ref().is_none_or(|pools| pools.contains(pool))
    }

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

/// The addresses granted to an owner; durable before anyone sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The allocation's number.
    pub generation: Generation,
    /// The addresses, in the order of the network's pools.
    pub addresses: Vec<AssignedAddress>,
    /// The link that the host has made for them, if it makes one.
    pub link: Option<Connected>,
}

/// An attachment's link, as its runtime learns of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// The host's end.
    pub host: LinkEnd,
    /// The end in the sandbox.
    pub inside: LinkEnd,
    /// The MTU of both ends, in bytes.
    pub mtu: u32,
    /// The network namespace of the end in the sandbox.
    pub netns: Box<str>,
    /// The gateways in the sandbox, one for each address family: everything is sent there.
    pub gateways: Vec<IpAddr>,
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEnd {
    /// The end's name.
    pub name: String,
    /// The end's hardware address, as `02:00:5e:00:53:01`.
    pub mac: String,
}
