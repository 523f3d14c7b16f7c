//! The answers that a book has for a policy, as data: without owners, so that it is small.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_types::Network;

use super::cooling::CoolingAddress;
use super::image::{LastAddress, Remembrance, Supplied};

/// The answers that a book has for a policy.
///
/// [`Book::of_outline`](super::Book::of_outline) makes a book of it that answers every question of a policy as the first one does. It does
/// not know owners, so it cannot serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The network itself.
    pub network: Arc<Network>,
    /// Ranges, in the order in which the pools use them.
    pub ranges: Vec<Supplied>,
    /// The single addresses that have an owner, as first and last address of each run.
    pub held: Vec<(IpAddr, IpAddr)>,
    /// The prefixes that have an owner.
    pub prefixes: Vec<IpNet>,
    /// The cooling addresses, least recently freed first.
    pub cooling: Vec<CoolingAddress>,
    /// The addresses in quarantine.
    pub quarantined: Vec<IpAddr>,
    /// The numbers of live allocations by name and value.
    pub counts: Vec<(Box<str>, Box<str>, u32)>,
    /// The last addresses handed out.
    pub last: Vec<LastAddress>,
    /// The last addresses of owners that are gone, the longest gone first.
    pub remembered: Vec<Remembrance>,
}
