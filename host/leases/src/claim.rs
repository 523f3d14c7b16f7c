//! Addresses of claims: each is a block of one address that is leased to a claim, and that one node after the other uses, turn by turn.

use crate::word::words;
use crate::{BlockName, TurnId};

words! {
    /// How far a node's turn with a claim's address has come.
    TurnState {
        /// A pod waits for the address. The node does not use it.
        Wanted = "Wanted",
        /// The node's ledger has the address.
        Held = "Held",
    }
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
}
