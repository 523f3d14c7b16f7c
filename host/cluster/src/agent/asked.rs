//! The claims that pods of this node ask for, and the answers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use tenure_leases::{BlockName, TurnId, Uid};

/// The address of a claim, which this node may hand to a pod that names the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAddress {
    /// The address.
    pub address: IpAddr,
    /// The AddressPool.
    pub pool: String,
}

/// The reason for which a pod does not have the address of its claim, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimWait {
    /// Another node has it.
    #[error("{0}")]
    PreviousOwner(String),
    /// The claim has no address, or the API server has not said yet that it is this node's.
    #[error("{0}")]
    Pending(String),
}

/// A pod that names a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimingPod {
    /// The pod's name, as `namespace/name`.
    pub name: String,
    /// The uid of the virtual machine in it, if it is one's.
    pub guest: Option<Uid>,
}

/// A claim that a pod of this node asks for.
#[derive(Debug, Clone)]
pub(crate) struct AskedClaim {
    /// The pod.
    pub(crate) pod: ClaimingPod,
    /// The last time that it asked, by the boot clock.
    pub(crate) at: Duration,
    /// The node's turn with each of the claim's blocks.
    pub(crate) turns: BTreeMap<BlockName, TurnId>,
    /// The answer so far.
    pub(crate) wait: Option<ClaimWait>,
    /// The record of the turn is being written: it is not forgotten now.
    pub(crate) is_taking: bool,
}
