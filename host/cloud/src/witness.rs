//! The second witness: whoever knows which addresses are in use on this node, besides the ledger.

use std::net::IpAddr;

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
    /// The addresses of a prefix (or of full length) that a route, a neighbour or a running container names, each with who
    /// does, in words for people.
    ///
    /// It is asked while a network's plan is made, so it answers at once, from what it knows: it never blocks.
    ///
    /// # Errors
    /// Why it cannot be said.
    fn named(&self, net: IpNet) -> Result<Vec<(IpAddr, String)>, String>;

    /// Whether anything names an address of these addresses and prefixes.
    fn names(&self, addresses: &[IpNet]) -> Verdict {
        for net in addresses {
            match self.named(*net).map(|named| named.into_iter().next()) {
                Err(why) => return Verdict::Unknown(why),
                Ok(Some((_, by))) => return Verdict::Used(by),
                Ok(None) => {}
            }
        }
        Verdict::Unused
    }
}
