//! The allocations of other IPAMs on this node.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{NetworkConfig, NetworkName, Owner};

use super::Answer;

/// A network to compare with other IPAMs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The network.
    pub network: NetworkName,
    /// Configuration of the network, which may say where host-local has its addresses.
    pub config: Arc<NetworkConfig>,
    /// The sources from which it has moved over.
    pub sources: Vec<Arc<str>>,
    /// Counts the removals of networks: a network that was removed has forgotten what it knew.
    pub removals: u64,
    /// Now, in milliseconds since the Unix epoch.
    pub now_ms: u64,
}

/// An address that another IPAM has given out.
pub struct Reservation<'a> {
    /// The address.
    pub address: IpAddr,
    /// Distinguishes this reservation of the address from a later one; empty if nothing does.
    pub claim: &'a str,
    /// Time of the assignment, in milliseconds since the Unix epoch, if known.
    pub claimed_at_ms: Option<u64>,
    /// Finds out whose it is, which may read a file; `None` if the other IPAM does not know either.
    pub owner: &'a dyn Fn() -> Option<Owner>,
}

/// Says whether the ledger accounts for a reservation: its address is handed out to nobody else, or it is over.
pub type IsKnown = Box<dyn Fn(&Reservation<'_>) -> bool + Send>;

/// Looks at what other IPAMs have on this node.
pub trait OtherIpams: Send + Sync + 'static {
    /// Whether the last look found nothing that the ledger does not account for, and nothing has changed since. Each ADD of a
    /// new owner asks.
    fn is_unchanged(&self, compared: &Compared) -> bool;

    /// Looks, and refuses the network while another IPAM has addresses of it that the ledger does not account for.
    ///
    /// # Errors
    /// `NotTakenOver`, with the command that imports them; `Internal`.
    fn look<'a>(&'a self, compared: &'a Compared, is_known: IsKnown) -> Answer<'a, ()>;

    /// Finds out whether a network that moves over from a source can be compared with it afterwards. A source that does not exist can.
    ///
    /// # Errors
    /// `InputOutput` if the source is there, or hidden, and cannot be read; `Internal`.
    fn can_read<'a>(&'a self, network: &'a NetworkName, source: &'a str) -> Answer<'a, ()>;
}
