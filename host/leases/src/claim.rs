//! Addresses of claims: each is a block of one address that is leased to a claim, and that one node after the other uses, turn by turn.

use crate::word::words;
use crate::{BlockName, TurnId, Uid};

words! {
    /// How far a node's turn with a claim's address has come.
    TurnState {
        /// A pod waits for the address. The node does not use it.
        Wanted = "Wanted",
        /// The node's ledger has the address.
        Held = "Held",
    }
}

words! {
    /// The kind of a claim's object.
    ClaimKind {
        /// An AddressClaim of tenure's own group.
        Address = "AddressClaim",
        /// The standard one of `k8s.cni.cncf.io`, as virtual machines have it.
        Ipam = "IPAMClaim",
    }
}

/// The virtual machine in the pod of a turn. During a live migration it has two pods, on two nodes, and one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnGuest {
    /// The uid of the machine's object, which is the same in all pods of one run of the machine.
    pub uid: Uid,
    /// Whether the machine is known to run in this pod. In the pod that a migration leads to it runs once the migration is done.
    pub runs: bool,
}

/// The claim whose address a node has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnClaim {
    /// The kind of its object.
    pub kind: ClaimKind,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid. A claim that was made again under the name has another one.
    pub uid: Uid,
}

/// A node's turn with the address of a claim, as its agent says it.
///
/// An agent says that it wants a turn before it looks whether it has it, and goes on saying so until its ledger has dropped the address. Once it
/// no longer says a turn, it never uses the address in that turn again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimTurn {
    /// The name of the claim's IPBlock.
    pub block: BlockName,
    /// The turn.
    pub turn: TurnId,
    /// How far it has come.
    pub state: TurnState,
    /// The pod, as `namespace/name`, for people.
    pub pod: String,
    /// The virtual machine in that pod, if it is one's.
    pub guest: Option<TurnGuest>,
    /// The claim, if the ledger has the address: a lease that is lost is made again for it. `None` if the agent is of a version that does not say it.
    pub claim: Option<TurnClaim>,
}
