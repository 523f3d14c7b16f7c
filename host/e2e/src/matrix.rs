//! The answer to every verb in every situation of a node, as data.
//!
//! Features break where they meet. This table puts them together, as data: a row for each [`Situation`], a cell for each [`Verb`] in it. The suite
//! `matrix` runs every cell against the built daemon, and the book's page "What is answered when" is rendered from the same
//! table. A new verb or situation does not compile without its cells: a row has exactly [`Verb::COUNT`] of them, and
//! [`row`] matches every situation.

mod cell;
pub mod page;
mod situation;
mod table;
mod verb;

pub use self::cell::Cell;
pub use self::situation::Situation;
pub use self::table::row;
pub use self::verb::{Effect, Verb};
