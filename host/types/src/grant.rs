//! What is asked for, what a policy proposes and what an owner gets.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{Generation, Moment, NetworkName, Owner, Place, PodIdentity};

/// A request for addresses, normalised: the same for every caller and policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The network.
    pub network: NetworkName,
    /// Who will own them.
    pub owner: Owner,
    /// Addresses the caller insists on, in its order.
    pub requested: Vec<IpAddr>,
    /// The pod behind it, where known.
    pub pod: Option<PodIdentity>,
    /// The network namespace that the runtime named; may be empty.
    pub netns: String,
    /// Where the daemon itself has seen that namespace, if it has; what it has never seen there cannot be found to be gone.
    pub netns_seen: Option<Place>,
    /// When the caller's request began.
    pub requested_at: Moment,
}

/// What a policy proposes: one address for each pool, nothing more.
///
/// Prefix length and gateway are the host's to add from the range, so a policy cannot lie about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proposal {
    /// Pairs of pool index and address.
    pub addresses: Vec<(usize, IpAddr)>,
}

/// An address with all that its owner needs to use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignedAddress {
    /// The address and the prefix length it is used with.
    pub address: IpNet,
    /// The gateway of its range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
}

/// What an owner got, durable by the time anyone sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which allocation it is.
    pub generation: Generation,
    /// The addresses, in the order of the network's pools.
    pub addresses: Vec<AssignedAddress>,
}
