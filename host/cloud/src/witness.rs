//! The second witness: whoever knows which addresses are in use on this node, besides the ledger.

use ipnet::IpNet;

/// What a witness says about addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing names any of them.
    Unused,
    /// This names one of them, in words for people.
    Used(String),
    /// It cannot be said, because of this. That never means unused.
    Unknown(String),
}

/// Knows the kernel's routes and the container runtime's pods.
pub trait Witness: Send + Sync + 'static {
    /// Whether a route, a neighbour or a running container names an address of these addresses (of full length) and prefixes.
    ///
    /// It is asked while a network's plan is made, so it answers at once, from what it knows: it never blocks.
    fn names(&self, addresses: &[IpNet]) -> Verdict;
}
