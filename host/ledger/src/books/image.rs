//! A book as data: what a snapshot keeps and a book is restored from.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Allocation, Generation, Moment, Network, PoolName, Range};

/// A range as its pool has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supplied {
    /// The pool.
    pub pool: PoolName,
    /// The range.
    pub range: Range,
    /// Whether it hands nothing more out.
    pub draining: bool,
}

/// The address that was handed out last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAddress {
    /// The pool.
    pub pool: PoolName,
    /// The attribute of the ranges that are meant, and its value; `None` for the whole pool.
    pub label: Option<(Box<str>, Box<str>)>,
    /// The address.
    pub address: IpAddr,
}

/// What an owner that is gone had last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembrance {
    /// What the owner is called from one life to the next.
    pub name: Arc<str>,
    /// When it gave them back.
    pub at: Moment,
    /// Its addresses and their pools.
    pub addresses: Box<[(PoolName, IpAddr)]>,
}

/// One network's whole state, as of a place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The place in the log: facts up to and including it are in this image.
    pub through: u64,
    /// The network itself.
    pub network: Arc<Network>,
    /// Whether an import of it has begun and has not ended.
    pub importing: bool,
    /// Its ranges, in the order in which its pools use them.
    pub ranges: Vec<Supplied>,
    /// The generation that the next allocation gets.
    pub next_generation: Generation,
    /// The addresses that were handed out last.
    pub last: Vec<LastAddress>,
    /// The addresses that cool and since when, least recently freed first.
    pub cooling: Vec<(IpAddr, Moment)>,
    /// The live allocations, by generation.
    pub allocations: Vec<Arc<Allocation>>,
    /// Claims of other IPAMs that were taken over and have ended, by address.
    pub settled: Vec<(IpAddr, Arc<str>)>,
    /// What owners that are gone had last, the longest gone first.
    pub remembered: Vec<Remembrance>,
}
