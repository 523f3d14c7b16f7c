//! What is durable, as pure state: chapters of facts, each with its own `apply`.
//!
//! The ledger does no I/O, reads no clock and holds no lock: the same facts applied in the same order make the same state, on a
//! running node, after a crash and in a test.
//!
//! | chapter | facts about | state |
//! |---|---|---|
//! | [`books`] (`ledger`) | networks, ranges, allocations | a [`Book`] for each network: who owns which address |
//! | [`choices`] | which policy serves which network | [`Choices`] |
//!
//! A chapter is a module here, a case of [`Fact`], and its stored form in the checkpoint. No chapter knows another; facts that
//! must be true together are staged together.

pub mod books;
pub mod choices;
mod fact;
mod page;

pub use books::{
    Book, Conflict, Defined, Direction, Image, InvalidDefinition, LedgerFact, RangeView, Repeat, Shelf,
    Standing, Usage, Violation, check_definition,
};
pub use choices::{Choice, ChoiceFact, Choices, Chooser};
pub use fact::Fact;
pub use page::Page;
