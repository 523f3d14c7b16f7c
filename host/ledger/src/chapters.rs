//! The table of the node's chapters, and the code that is the same for each of them.
//!
//! A chapter has a module here, with the state, the facts, and what a fact says to people; a stored form in the checkpoint; and a
//! row in the table below. Everything else follows from the row: the variant of [`Fact`](crate::Fact), the field of
//! [`NodeChapters`](crate::NodeChapters), the path of a fact to its chapter, the items of a snapshot, the chapter's recovery, and
//! the line of `tenurectl log`. The chapter `ledger` is not in the table: its state is a book for each network, each behind its own
//! lock.

/// Passes the table of the node's chapters to a macro, in the order in which snapshots have them.
///
/// A row has the chapter's description, its field in [`NodeChapters`](crate::NodeChapters), and the types of its state and its
/// facts, which this crate exports. The state has the methods `through` and `apply`, and the facts have `network`, `at` and
/// [`Display`](std::fmt::Display).
#[doc(hidden)]
#[macro_export]
macro_rules! chapters {
    ($macro:ident) => {
        $macro! {
            /// Which policy serves which network.
            choices: Choices(ChoiceFact),
            /// The policies that were loaded into this node.
            components: Components(ComponentFact),
            /// The claims of agents on the node.
            claims: Claims(ClaimFact),
            /// The states that policies keep on a network.
            states: States(StateFact),
            /// The requests to delegates.
            delegations: Delegations(DelegationFact),
            /// The host's actions outside the ledger.
            effects: Effects(EffectFact),
            /// The networks that move over from other IPAMs.
            moves: Moves(MoveFact),
        }
    };
}

/// The state of one chapter.
pub trait Chapter: std::fmt::Debug + Clone + PartialEq + Default {
    /// A fact of the chapter.
    type Fact;

    /// The place in the log that the state is current as of.
    fn through(&self) -> u64;

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    fn apply(&mut self, place: u64, fact: &Self::Fact);
}
