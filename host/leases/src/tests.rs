//! Tests of the tables: row by row, and all histories of a small cluster.

mod accept;
mod compare;
mod grant;
mod held;
mod lost;
mod mark;
mod release;
pub(crate) mod sample;
