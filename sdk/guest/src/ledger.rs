//! The ledger as a policy sees it: the network at hand, as of this request.

use std::net::IpAddr;

use crate::Pool;
use crate::bindings::tenure::ipam::ledger as host;
pub use crate::bindings::tenure::ipam::ledger::{Direction, Usage};

/// What an address is right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// May be proposed.
    Free,
    /// Owned by somebody.
    Held,
    /// Freed a moment ago: may be proposed where the network's cooling is preferred.
    Cooling,
    /// Inside a range, but never handed out.
    Reserved,
    /// In no range of this network, or something that this policy does not know.
    Outside,
}

/// The network's pools with their indexes.
pub fn pools() -> impl Iterator<Item = (u32, Pool)> {
    (0..).zip(host::pools().into_iter().map(Pool::from))
}

/// The index of the pool that an address lies in.
#[must_use]
pub fn pool_of(address: IpAddr) -> Option<u32> {
    host::pool_of(&address.to_string())
}

/// What an address is right now.
#[must_use]
pub fn standing_of(address: IpAddr) -> Standing {
    match host::standing_of(&address.to_string()) {
        host::Standing::Free => Standing::Free,
        host::Standing::Held => Standing::Held,
        host::Standing::Cooling => Standing::Cooling,
        host::Standing::Reserved => Standing::Reserved,
        host::Standing::Outside | host::Standing::Other(_) => Standing::Outside,
    }
}

/// Up to `limit` free addresses of a pool, starting behind `after` and going around once.
#[must_use]
pub fn free(pool: u32, after: Option<IpAddr>, direction: Direction, limit: u32) -> Vec<IpAddr> {
    let after = after.map(|address| address.to_string());
    parsed(&host::free(pool, after.as_deref(), direction, limit))
}

/// Up to `limit` cooling addresses of a pool, least recently freed first.
#[must_use]
pub fn cooling(pool: u32, limit: u32) -> Vec<IpAddr> {
    parsed(&host::cooling(pool, limit))
}

/// The address of a pool that was handed out last.
#[must_use]
pub fn last(pool: u32) -> Option<IpAddr> {
    host::last(pool)?.parse().ok()
}

/// How much of a pool is in use.
#[must_use]
pub fn usage_of(pool: u32) -> Usage {
    host::usage_of(pool)
}

/// The host writes addresses that parse.
fn parsed(addresses: &[String]) -> Vec<IpAddr> {
    addresses.iter().filter_map(|address| address.parse().ok()).collect()
}
