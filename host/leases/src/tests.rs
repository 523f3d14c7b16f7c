//! Tests of the tables: row by row, and all histories of a small cluster.

mod accept;
mod claims;
mod cluster;
mod compare;
mod exhaustive;
mod explorer;
mod grant;
mod held;
mod lost;
mod mark;
mod release;
pub(crate) mod sample;
mod simulation;
