//! Families that a claim can do without: why it has no address of one.
//!
//! Nothing of this is recorded but the wish: the reason is as the network's book has it now, so that it never grows old.

use std::fmt;
use std::net::IpAddr;

use tenure_ledger::{Book, Claim};
use tenure_types::{Allocation, AssignedAddress, DELEGATED};

/// An optional family that a claim has no address of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingFamily {
    /// Whether it is IPv6, and not IPv4.
    pub is_ipv6: bool,
    /// The reason why it is missing.
    pub why: WhyMissing,
}

/// Why a claim has no address of a family that it would like to have one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyMissing {
    /// The network has no range of it.
    NoPool,
    /// None is free at present.
    Exhausted,
    /// One is free by now; it was not when the claim was made, or the policy did not give it.
    Available,
    /// The network's delegate decides, and does not support dry runs.
    Unknown,
}

impl WhyMissing {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoPool => "no-pool",
            Self::Exhausted => "pool-exhausted",
            Self::Available => "available",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for WhyMissing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoPool => "the network has no addresses of this family",
            Self::Exhausted => "no address of this family is free; ask again later whether one is",
            Self::Available => {
                "an address of this family is free now; release the claim and ensure it again to get one"
            }
            Self::Unknown => "the network's delegate gave none",
        })
    }
}

/// The optional families that a claim has no address of.
pub(super) fn missing(book: &Book, claim: &Claim, held: &Allocation) -> Vec<MissingFamily> {
    let optional = claim.wish.optional;
    let wanted = [(false, optional.ipv4), (true, optional.ipv6)].into_iter().filter(|(_, wanted)| *wanted);
    let lacking = wanted.map(|(is_ipv6, _)| is_ipv6).filter(|is_ipv6| {
        let mut addresses = held.addresses.iter().map(AssignedAddress::ip);
        addresses.all(|address: IpAddr| address.is_ipv6() != *is_ipv6)
    });
    lacking.map(|is_ipv6| MissingFamily { is_ipv6, why: why(book, is_ipv6) }).collect()
}

fn why(book: &Book, is_ipv6: bool) -> WhyMissing {
    if book.network().attributes.get(DELEGATED).is_some() {
        return WhyMissing::Unknown;
    }
    let is_of = |pool: &usize| book.ranges(*pool).any(|view| view.range.first().is_ipv6() == is_ipv6);
    let mut pools = (0..book.pools().len()).filter(is_of);
    match pools.clone().next() {
        None => WhyMissing::NoPool,
        Some(_) if pools.all(|pool| book.is_exhausted(pool)) => WhyMissing::Exhausted,
        Some(_) => WhyMissing::Available,
    }
}
