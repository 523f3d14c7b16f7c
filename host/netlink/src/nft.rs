//! The nftables table: what is translated and what is marked.
//!
//! The table is written as a whole in one transaction of the program `nft`, in the language that the book shows. Each rule carries
//! a comment with a digest of its own text, so that what the kernel lists can be compared without knowing how a version of `nft`
//! prints an expression.

mod listing;
mod program;
mod ranges;
mod script;
mod table;
#[cfg(test)]
mod tests;

pub use ranges::Ranges;
pub use table::{Chain, ChainShape, NftTable, Shape};

pub(crate) use program::{read, remove, replace};
pub(crate) use table::NAME;
