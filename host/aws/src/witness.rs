//! The second witness, besides the ledger, of the addresses in use on this node.

use std::net::IpAddr;

use ipnet::IpNet;

/// A witness's statement about addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseVerdict {
    /// Nothing names any of them.
    Unused,
    /// One of them is in use, described for people.
    Used(String),
    /// The witness cannot tell, for this reason. That never means unused.
    Unknown(String),
}

/// Knows the kernel's routes and the container runtime's pods.
pub trait UseWitness: Send + Sync + 'static {
    /// The addresses of a prefix (or of full length) that a route, a neighbour or a running container names, each with who
    /// does, in words for people.
    ///
    /// It is asked while a network's plan is made, so it answers at once, from what it knows: it never blocks.
    ///
    /// # Errors
    /// Why it cannot be said.
    fn named(&self, net: IpNet) -> Result<Vec<(IpAddr, String)>, String>;

    /// Whether the kernel has a link with this hardware address, in lower case with colons; `None` if that is not known. As for
    /// [`named`](Self::named), it never blocks.
    fn has_link(&self, mac: &str) -> Option<bool> {
        let _ = mac;
        None
    }

    /// Whether anything names an address of these addresses and prefixes.
    fn names(&self, addresses: &[IpNet]) -> UseVerdict {
        for net in addresses {
            match self.named(*net).map(|named| named.into_iter().next()) {
                Err(why) => return UseVerdict::Unknown(why),
                Ok(Some((_, by))) => return UseVerdict::Used(by),
                Ok(None) => {}
            }
        }
        UseVerdict::Unused
    }
}
