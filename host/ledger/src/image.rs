//! A book as data: what a snapshot keeps and a book is restored from.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Allocation, Generation, Moment, Network};

/// One network's whole state, as of a place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The place in the log: records up to and including it are in this image.
    pub through: u64,
    /// The network itself.
    pub network: Network,
    /// The generation that the next allocation gets.
    pub next_generation: Generation,
    /// For each pool, the address that was handed out last.
    pub last: Vec<Option<IpAddr>>,
    /// The addresses that cool and since when, least recently freed first.
    pub cooling: Vec<(IpAddr, Moment)>,
    /// The live allocations, by generation.
    pub allocations: Vec<Arc<Allocation>>,
    /// Claims of other IPAMs that were taken over and have ended, by address.
    pub settled: Vec<(IpAddr, Arc<str>)>,
}
