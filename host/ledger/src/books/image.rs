//! A book as data, for snapshots.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Allocation, Generation, Moment, Network, PoolName, Range};

use super::quarantine::{QuarantineMark, QuarantineSubject};

/// A range of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supplied {
    /// The pool.
    pub pool: PoolName,
    /// The range.
    pub range: Range,
    /// Whether it is draining, so that it hands out nothing.
    pub draining: bool,
}

/// The last address handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAddress {
    /// The pool.
    pub pool: PoolName,
    /// The name and value of the attribute that selects the ranges; `None` for the whole pool.
    pub label: Option<(Box<str>, Box<str>)>,
    /// The address.
    pub address: IpAddr,
}

/// The last addresses of an owner that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembrance {
    /// The owner's lasting name, which outlives its allocations.
    pub name: Arc<str>,
    /// Time of the release.
    pub at: Moment,
    /// The addresses and their pools.
    pub addresses: Box<[(PoolName, IpAddr)]>,
}

/// One network's whole state, as of a place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The place in the log: facts up to and including it are in this image.
    pub through: u64,
    /// The network itself.
    pub network: Arc<Network>,
    /// Whether an import of it has begun and not ended.
    pub importing: bool,
    /// Ranges, in the order in which the pools use them.
    pub ranges: Vec<Supplied>,
    /// The generation that the next allocation gets.
    pub next_generation: Generation,
    /// The last addresses handed out.
    pub last: Vec<LastAddress>,
    /// The cooling addresses with the time of their release, least recently freed first.
    pub cooling: Vec<(IpAddr, Moment)>,
    /// For how many seconds they cool at least, each with the number of addresses in a row; empty if for as long as the network
    /// asks now.
    pub cooldowns: Vec<(u32, usize)>,
    /// The live allocations, by generation.
    pub allocations: Vec<Arc<Allocation>>,
    /// Claims of other IPAMs that were taken over and have ended, by address.
    pub settled: Vec<(IpAddr, Arc<str>)>,
    /// The last addresses of owners that are gone, the longest gone first.
    pub remembered: Vec<Remembrance>,
    /// The marks of quarantine, addresses first.
    pub quarantined: Vec<(QuarantineSubject, QuarantineMark)>,
}
