//! The durable state as pure data: chapters of facts, each with its own `apply`.
//!
//! The ledger does no I/O, reads no clock and holds no lock. Applying the same facts in the same order gives the same
//! state: on a running node, after a crash and in a test.
//!
//! | chapter | facts about | state |
//! |---|---|---|
//! | [`books`] (`ledger`) | networks, ranges, allocations | a [`Book`] for each network: who owns which address |
//! | [`choices`] | which policy serves which network | [`Choices`] |
//! | [`components`] | the policies that were loaded into the node | [`Components`] |
//!
//! A chapter is a module here, a variant of [`Fact`], and a stored form in the checkpoint. Chapters do not depend on
//! each other; facts that belong together are staged together.

pub mod books;
pub mod choices;
pub mod components;
mod fact;
mod page;

pub use books::{
    Book, Conflict, Defined, Direction, Image, InvalidDefinition, LedgerFact, RangeView, Repeat, Shelf,
    Standing, Usage, Violation, check_definition,
};
pub use choices::{Choice, ChoiceFact, Choices, Chooser, Step, StepKind};
pub use components::{Component, ComponentFact, Components};
pub use fact::Fact;
pub use page::Page;
