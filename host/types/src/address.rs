//! Assigned addresses, and where in their network they come from.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::{Attributes, Pool, PoolName, Range, RangeName, agreed, range};

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
    pub fn of(pool: &Pool, range: &Range) -> Self {
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
    /// The address and its prefix length; or the whole prefix, if its range [assigns](Self::is_prefix) prefixes.
    pub address: IpNet,
    /// The address's source, shared by the addresses of a range.
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

    /// Whether the owner has the whole prefix, of which [`ip`](Self::ip) is the first address.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        self.source.range_attributes.get(agreed::ASSIGNS) == Some(agreed::PREFIXES)
    }

    /// The first and the last address that the owner has.
    #[must_use]
    pub fn span(&self) -> (IpAddr, IpAddr) {
        if self.is_prefix() { range::span(self.address) } else { (self.ip(), self.ip()) }
    }

    /// The gateway of its range.
    #[must_use]
    pub fn gateway(&self) -> Option<IpAddr> {
        self.source.gateway
    }
}
