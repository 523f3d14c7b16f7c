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
//! | [`claims`] | what agents on the node have claimed | [`Claims`] |
//! | [`effects`] | what the host does outside the ledger, and what it knows of the outside | [`Effects`] |
//! | [`states`] | what policies remember on a network | [`States`] |
//! | [`delegations`] | what delegates were asked for, and have to take back | [`Delegations`] |
//! | [`moves`] | which networks move over from other IPAMs, and which DELs were answered meanwhile | [`Moves`] |
//!
//! A chapter is a module here, a stored form in the checkpoint, and a row in the table in `chapters.rs`, from which [`Fact`] and
//! [`NodeChapters`] are made. Chapters do not depend on each other; facts that belong together are staged together.

pub mod books;
mod chapters;
pub mod choices;
pub mod claims;
pub mod components;
pub mod delegations;
pub mod effects;
mod fact;
pub mod moves;
mod node;
mod state;
pub mod states;

pub use books::{
    Book, BookChange, Conflict, CoolingAddress, Defined, Direction, Image, InvalidDefinition, LedgerFact,
    Outline, QuarantineMark, QuarantineRefusal, QuarantineSubject, QuarantinedAddress, RangeView,
    RemovedNetwork, RemovedNetworks, Repeat, Shelf, Standing, Usage, Violation, check_definition,
};
pub use chapters::Chapter;
pub use choices::{Choice, ChoiceFact, Choices, Chooser, Step, StepKind};
pub use claims::{Claim, ClaimFact, ClaimKey, Claimant, Claims, Families, Presence, Wish};
pub use components::{Component, ComponentFact, Components};
pub use delegations::{Delegation, DelegationFact, Delegations};
pub use effects::{EffectFact, Effects, Intent, IntentOrigin, Taken};
pub use fact::Fact;
pub use moves::{Move, MoveEnd, MoveFact, Moves};
pub use node::NodeChapters;
pub use state::{LedgerState, Page};
pub use states::{PolicyState, StateFact, States};
